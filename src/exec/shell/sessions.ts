// Shell executor: shells by session.

import { ServiceError } from "../../core/error.ts";
import { EXEC_PROBE_MS } from "../limits.ts";
import type { Sandbox, Workdir } from "../../sandbox/types.ts";
import { sessionFolder } from "../names.ts";
import { runToEnd } from "../run-to-end.ts";
import { SessionMap } from "../session-map.ts";
import type { ShellSessions } from "../types.ts";
import { usableFolder } from "../usable-folder.ts";
import { ShellSession } from "./session.ts";

export interface ShellOptions {
  readonly sandbox: Sandbox;
  /** Name or path of the shell; absent: the first of SHELLS that runs in the sandbox. */
  readonly shell?: string;
  readonly timeoutSecs: number;
  /** Parent of the sessions' folders; absent: the system's temporary folder. */
  readonly workdir?: string;
  /** Idle time after which a session's folder is deleted. Default: limits.ts. */
  readonly idleMs?: number;
}

/** Models write for bash more often than for the system's shell. */
const SHELLS = ["bash", "/bin/sh"];

/** Checks that the shell runs in the sandbox. Throws, with one sentence that names the setting, when it does not. */
export async function openShell(options: ShellOptions): Promise<ShellSessions> {
  const { sandbox, timeoutSecs, workdir: parent } = options;
  const newWorkdir = (sessionId: string): Workdir =>
    parent === undefined
      ? sandbox.newWorkdir("shell")
      : sandbox.newWorkdirIn(parent, sessionFolder(sessionId));
  const check = (): Workdir => newWorkdir("check");
  const workdir = parent === undefined ? check() : usableFolder("runtime.shell_workdir", parent, check);
  const shell = await checkShell(options, workdir);
  const sessions = new SessionMap(
    (sessionId) =>
      new ShellSession({
        sandbox,
        shell,
        timeoutMs: timeoutSecs * 1000,
        workdir: newWorkdir(sessionId),
        sessionId,
      }),
    options.idleMs,
  );
  return {
    run: async (call, signal) => {
      if (call.commands.every((command) => command.trim() === "")) {
        throw new ServiceError("invalid_request", "commands: name at least one command", {
          param: "commands",
        });
      }
      return sessions.use(call, (session) => session.run(call, signal));
    },
    surface: (call) => sessions.use(call, (session) => session.surface(call)),
    dispose: (sessionId) => sessions.dispose(sessionId),
    close: () => sessions.close(),
    facts: { timeoutSecs, shell },
  };
}

/** The shell's absolute path. Deletes the folder. */
async function checkShell(
  { sandbox, shell: wanted }: Pick<ShellOptions, "sandbox" | "shell">,
  workdir: Workdir,
): Promise<string> {
  const failures: string[] = [];
  try {
    for (const shell of wanted === undefined ? SHELLS : [wanted]) {
      const found = Bun.which(shell);
      const failure =
        found === null ? "the program does not exist" : await failureOf(found, sandbox, workdir);
      if (found !== null && failure === undefined) return found;
      failures.push(`runtime.shell_path = "${shell}": ${failure}`);
    }
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
  throw new Error(`${failures.join("; ")}. Name another one, or disable the shell.`);
}

/** Why a shell is of no use; undefined where it works. */
async function failureOf(shell: string, sandbox: Sandbox, workdir: Workdir): Promise<string | undefined> {
  const run = sandbox.spawn({ argv: [shell, "-c", "true"], workdir });
  const { ending, stderr } = await runToEnd(run, EXEC_PROBE_MS);
  if (ending.code === 0) return undefined;
  const reason = stderr.trim().split("\n").at(-1) || `it exited with ${ending.signal ?? ending.code}`;
  return `it does not run in the sandbox (${reason})`;
}
