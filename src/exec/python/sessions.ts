// Python executor: interpreters by session.

import type { Workdir } from "../../sandbox/types.ts";
import { SessionMap } from "../session-map.ts";
import { usableFolder } from "../usable-folder.ts";
import type { PythonFacts, PythonSessions } from "../types.ts";
import { checkPython, type PythonCheck } from "./check.ts";
import { FontCaches } from "./font-cache.ts";
import { PythonSession } from "./session.ts";

export interface PythonOptions extends PythonCheck {
  readonly timeoutSecs: number;
  /** Shared folder of all sessions; absent: one for each. */
  readonly workdir?: string;
  /** Idle time after which a session's interpreter is closed. Default: limits.ts. */
  readonly idleMs?: number;
}

/** Checks that Python runs in the sandbox. Throws one sentence that names the setting; NoPythonError where none runs. */
export async function openPython(options: PythonOptions): Promise<PythonSessions> {
  const { sandbox, timeoutSecs, workdir: shared } = options;
  const common =
    shared === undefined
      ? undefined
      : usableFolder("runtime.code_exec_workdir", shared, () => sandbox.openWorkdir(shared));
  const newWorkdir = (): Workdir => common ?? sandbox.newWorkdir("python");
  const { program, version, packages } = await checkPython(options, newWorkdir());
  const facts: PythonFacts = { version, timeoutSecs, packages };
  const fonts = new FontCaches(sandbox, program, common === undefined ? packages : []);
  const sessions = new SessionMap(
    (sessionId) =>
      new PythonSession({
        sandbox,
        program,
        workdir: newWorkdir(),
        timeoutSecs,
        sessionId,
        isShared: common !== undefined,
        fonts,
      }),
    options.idleMs,
  );
  return {
    run: (call, signal) => sessions.use(call, (session) => session.run(call, signal)),
    reset: (of) => sessions.use(of, (session) => session.reset()),
    dispose: (sessionId) => sessions.dispose(sessionId),
    close: async () => void (await Promise.all([sessions.close(), fonts.close()])),
    facts,
  };
}
