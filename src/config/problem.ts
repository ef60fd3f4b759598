// Problems of a configuration and their texts.

/** Origin of a value. */
export type Origin =
  | { readonly type: "file"; readonly file: string }
  | { readonly type: "env"; readonly name: string }
  | { readonly type: "flag"; readonly flag: string }
  /** Not configured: the default of the table, or implied by the command. */
  | { readonly type: "default" };

/** One reason not to start. */
export interface Problem {
  readonly origin: Origin;
  /** Path of the setting, `models[0].device.cpu`; empty when the file as a whole is at fault. */
  readonly key: string;
  /** Without a capital and without a full stop: it continues a line. */
  readonly what: string;
  /** A whole sentence. */
  readonly fix: string;
}

/** A problem of a value at its key or one below it. */
export function problemOf(
  { origin }: Pick<Problem, "origin">,
  key: string,
  what: string,
  fix: string,
): Problem {
  return { origin, key, what, fix };
}

/** All problems as text for a terminal, one line each under a line that counts them. */
export function formatProblems(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  const lines = problems.map((problem) => `  ${formatProblem(problem)}`);
  return [`svc: the configuration has ${count}:`, ...lines].join("\n");
}

/** `svc.toml: server.port: 70000 is not an integer from 0 to 65535. Leave it out for the default, 1234.` */
export function formatProblem(problem: Problem): string {
  const place = formatOrigin(problem.origin);
  // A flag or an environment name is the key already.
  const isNamed = problem.origin.type === "flag" || problem.origin.type === "env";
  const where = isNamed || problem.key === "" ? place : `${place}: ${problem.key}`;
  return `${where}: ${problem.what}. ${problem.fix}`;
}

/** The file, environment name or flag. */
export function formatOrigin(origin: Origin): string {
  switch (origin.type) {
    case "file":
      return origin.file;
    case "env":
      return origin.name;
    case "flag":
      return origin.flag;
    case "default":
      return "default";
  }
}
