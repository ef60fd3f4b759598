// The rings of the test suite: which file belongs to which, and how long each took.
//
//   bun test/rings.ts run RING REPORT [ARGUMENT ...]    runs the test files of a ring, or of `all`; more arguments go to `bun test`

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A file belongs to the first ring that one of its prefixes fits. */
const RINGS: readonly (readonly [ring: string, prefixes: readonly string[]])[] = [
  ["ui", ["test/ui/", "test/e2e/ui"]],
  ["e2e", ["test/e2e/", "test/upstreams/"]],
  ["faults", ["test/faults/", "test/soak/"]],
  ["native", ["test/ffi/", "test/templates/", "test/vulkan/", "test/zoo/"]],
  ["unit", ["test/"]],
];

/** Files that take the most time are listed, so many. */
const SLOWEST = 5;

/** Lines of a failure that are repeated, at most: its error, source excerpt and stack. */
const FAILURE_LINES = 60;

function ringOf(file: string): string {
  return RINGS.find(([, prefixes]) => prefixes.some((prefix) => file.startsWith(prefix)))?.[0] ?? "unit";
}

function filesOf(ring: string): readonly string[] {
  const root = join(import.meta.dir, "..");
  const files = [...new Bun.Glob("test/**/*.test.{ts,tsx}").scanSync(root)].sort();
  return files.filter((file) => ring === "all" || ringOf(file) === ring);
}

/** Longest time without output: a test that never yields ends in no time limit of its own. A test has 30 seconds, so that many busy ones print something before. */
const SILENCE_MS = 7 * 60_000;

/** Runs a command, passes its output on, and kills it with its workers when it says nothing for too long. */
export async function watched(
  command: readonly string[],
  silenceMs: number,
): Promise<{ readonly log: string; readonly code: number; readonly isSilent: boolean }> {
  const merged = ["sh", "-c", 'exec "$@" 2>&1', "sh", ...command]; // so that both streams keep their order
  const child = Bun.spawn(merged, { stdio: ["inherit", "pipe", "ignore"], detached: true }); // a group of its own
  const end = (): void => void process.kill(-child.pid, "SIGKILL");
  const stop = (): void => {
    end();
    process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  let isSilent = false;
  const late = (): void => {
    isSilent = true;
    end();
  };
  let timer = setTimeout(late, silenceMs);
  let log = "";
  const decoder = new TextDecoder();
  for await (const piece of child.stdout) {
    clearTimeout(timer);
    timer = setTimeout(late, silenceMs);
    process.stdout.write(piece);
    log += decoder.decode(piece, { stream: true });
  }
  const code = await child.exited;
  clearTimeout(timer);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  return { log, code: isSilent ? 1 : code, isSilent };
}

/** Runs a ring and prints its failures and times. Returns the exit status. */
async function runRing(ring: string, report: string, more: readonly string[]): Promise<number> {
  const files = filesOf(ring);
  // Each worker has one module registry for all its files: native libraries are loaded once a process.
  const workers = `--parallel=${process.env["SVC_TEST_WORKERS"] ?? "2"}`;
  const options = [
    workers,
    "--no-isolate",
    "--timeout",
    "30000",
    "--reporter=junit",
    `--reporter-outfile=${report}`,
  ];
  const command = [process.execPath, "test", ...options, ...files.map((file) => `./${file}`), ...more];
  const { log, code, isSilent } = await watched(command, SILENCE_MS);
  if (code !== 0) console.log(failuresOf(log).join("\n"));
  if (isSilent) console.log(silenceOf(files, log));
  if (existsSync(report))
    console.log(["\nTime by ring:", ...timesOf(readFileSync(report, "utf8"))].join("\n"));
  return code;
}

function silenceOf(files: readonly string[], log: string): string {
  const lines = new Set(log.split("\n"));
  const open = files.filter((file) => !lines.has(`${file}:`));
  return `nothing was printed for ${SILENCE_MS / 60_000} minutes; files without a result: ${open.join(", ")}`;
}

/** Lines `RING  SECONDS  FILES`, and the slowest files. Times are of files, which run two at a time. */
function timesOf(report: string): readonly string[] {
  const suites = [
    ...report.matchAll(/<testsuite name="(?<name>[^"]+)" file="\k<name>"[^>]* time="(?<secs>[\d.]+)"/g),
  ];
  const times = suites.map(({ groups }) => ({
    file: groups?.["name"] ?? "",
    secs: Number(groups?.["secs"]),
  }));
  const row = (name: string, secs: number, rest: string): string =>
    `${name.padEnd(8)} ${secs.toFixed(1).padStart(7)} s  ${rest}`;
  const rings = [...Map.groupBy(times, ({ file }) => ringOf(file))].map(([ring, files]) =>
    row(
      ring,
      files.reduce((sum, { secs }) => sum + secs, 0),
      `${files.length} files`,
    ),
  );
  const slowest = times.toSorted((a, b) => b.secs - a.secs).slice(0, SLOWEST);
  return [...rings, ...slowest.map(({ file, secs }) => row("", secs, file))];
}

/** The lines before each `(fail)` line, back to the result before it. The summary at the end of a log names failures alone. */
function failuresOf(log: string): readonly string[] {
  const lines = log.split("\n");
  return lines.flatMap((line, at) => {
    if (!line.startsWith("(fail)")) return [];
    const before = lines.slice(0, at);
    const start = before.findLastIndex((other) => /^\((?:pass|fail|skip|todo)\)/.test(other)) + 1;
    return [...before.slice(Math.max(start, at - FAILURE_LINES)), line];
  });
}

if (import.meta.main) {
  const [command, ring = "", report = "", ...more] = process.argv.slice(2);
  if (command !== "run") throw new Error("usage: bun test/rings.ts run RING REPORT [ARGUMENT ...]");
  process.exitCode = await runRing(ring, report, more);
}
