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
  /** Name or path of the shell. */
  readonly shell: string;
  readonly timeoutSecs: number;
  /** Parent of the sessions' folders; absent: the system's temporary folder. */
  readonly workdir?: string;
  /** Idle time after which a session's folder is deleted. Default: limits.ts. */
  readonly idleMs?: number;
}

/** Checks that the shell runs in the sandbox. Throws, with one sentence that names the setting, when it does not. */
export async function openShell(options: ShellOptions): Promise<ShellSessions> {
  const { sandbox, timeoutSecs, workdir: parent } = options;
  const newWorkdir = (sessionId: string): Workdir =>
    parent === undefined
      ? sandbox.newWorkdir("svc-shell-")
      : sandbox.newWorkdirIn(parent, sessionFolder(sessionId));
  const check = (): Workdir => newWorkdir("svc-check");
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
    facts: { timeoutSecs },
  };
}

/** The shell's absolute path. Deletes the folder. */
async function checkShell({ sandbox, shell }: ShellOptions, workdir: Workdir): Promise<string> {
  try {
    const found = Bun.which(shell);
    if (found === null) throw unusable(shell, "the program does not exist");
    const { ending, stderr } = await runToEnd(
      sandbox.spawn({ argv: [found, "-c", "true"], workdir }),
      EXEC_PROBE_MS,
    );
    if (ending.code === 0) return found;
    const reason = stderr.trim().split("\n").at(-1) || `it exited with ${ending.signal ?? ending.code}`;
    throw unusable(shell, `it does not run in the sandbox (${reason})`);
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
}

function unusable(shell: string, what: string): Error {
  return new Error(`runtime.shell_path = "${shell}": ${what}. Name another one, or disable the shell.`);
}
