// Sandbox and executors that the settings switch on. Opened before anything else: a failed check ends the start.

import { dirname, relative } from "node:path";
import { PYTHON_BY_DEFAULT, type Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import { socketPathOf } from "../core/listen-addresses.ts";
import { ownCommand } from "../core/own-command.ts";
import { realPathOf } from "../core/readable.ts";
import { NO_HOME, userHome } from "../core/user-home.ts";
import { NoPythonError } from "../exec/python/check.ts";
import { openPython } from "../exec/python/sessions.ts";
import { openShell } from "../exec/shell/sessions.ts";
import type { PythonSessions, ShellSessions } from "../exec/types.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { EffectiveProtection, Sandbox, SandboxPolicy } from "../sandbox/types.ts";

const ASK_DOES_NOT_HOLD =
  'agent_permission "ask" does not hold on this machine: an approved action can reach this server and approve the next ones.';

/** Executors; absent where they are not switched on. */
export interface Tools {
  readonly python?: PythonSessions;
  readonly shell?: ShellSessions;
  /** Their confinement; absent without tools. */
  readonly protection?: EffectiveProtection;
  /** Whether a connection to this server comes from a tool. Absent where tools cannot connect or cannot be recognized. */
  readonly isToolPeer?: NonNullable<Sandbox["isToolPeer"]>;
  /** Ends every session's processes and deletes their files. */
  close(): Promise<void>;
}

/**
 * Tests the sandbox, Python and the shell. `warn` receives what is not enforced. Throws a sentence for the operator when a
 * requested part does not work.
 */
export async function openTools(settings: Settings, warn: (line: string) => void): Promise<Tools> {
  const { runtime } = settings;
  const hasPython = runtime.agent || runtime.enable_code_execution;
  const hasShell = runtime.agent || runtime.enable_shell;
  if (!hasPython && !hasShell) return { close: async () => {} };

  const policy = sandboxPolicy(settings, warn);
  const environment = processEnvironment();
  const sandbox = await openSandbox({
    policy,
    environment,
    home: userHome() ?? NO_HOME,
    ownCommand: ownCommand(),
  });
  for (const warning of sandbox.effective.warnings) warn(warning);
  insistOnHiddenSocket(settings, sandbox);
  if (sandbox.effective.reachesMachine && sandbox.isToolPeer === undefined) warn(ASK_DOES_NOT_HOLD);
  const python = hasPython ? await pythonOf(runtime, sandbox, warn) : undefined;
  const shell = hasShell
    ? await openShell({
        sandbox,
        timeoutSecs: runtime.shell_timeout,
        ...defined({ shell: runtime.shell_path, workdir: runtime.shell_workdir }),
      })
    : undefined;
  return {
    ...defined({ python, shell }),
    protection: sandbox.effective,
    ...defined({ isToolPeer: sandbox.isToolPeer }),
    close: async () => void (await Promise.all([python?.close(), shell?.close()])),
  };
}

/** A socket that tools see is one that they can connect to: bubblewrap shows them only some folders. */
function insistOnHiddenSocket({ server, runtime }: Settings, sandbox: Sandbox): void {
  const socket = socketPathOf(server.host);
  if (socket === undefined || sandbox.effective.mechanism !== "bubblewrap") return;
  const own = [runtime.code_exec_workdir, runtime.shell_workdir].flatMap((path) => path ?? []);
  const place = realPathOf(dirname(socket));
  const holds = (path: string): boolean => !relative(realPathOf(path), place).startsWith("..");
  const folder = [...sandbox.readPaths(), ...own].find(holds);
  if (folder === undefined) return;
  throw new Error(
    `server.host: tools of models can read ${folder}, so they could use the socket in it. Move it below /run or another folder.`,
  );
}

/** With `agent` alone a missing Python is only a warning; requested by name, it ends the start. */
async function pythonOf(
  runtime: Settings["runtime"],
  sandbox: Sandbox,
  warn: (line: string) => void,
): Promise<PythonSessions | undefined> {
  try {
    return await openPython({
      sandbox,
      python: runtime.code_exec_python,
      searchPath: processEnvironment()["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
      warn,
      timeoutSecs: runtime.code_exec_timeout,
      ...defined({ workdir: runtime.code_exec_workdir }),
    });
  } catch (error) {
    const isByName = runtime.enable_code_execution || runtime.code_exec_python !== PYTHON_BY_DEFAULT;
    if (isByName || !(error instanceof NoPythonError)) throw error;
    warn(`Models cannot run Python. ${error.message}`);
    return undefined;
  }
}

/** The policy of the settings with absent values filled in. */
function sandboxPolicy({ sandbox, runtime }: Settings, warn: (line: string) => void): SandboxPolicy {
  const profile = sandbox.profile ?? "developer";
  const timeoutSecs = Math.max(runtime.code_exec_timeout, runtime.shell_timeout);
  if (timeoutSecs > sandbox.max_cpu_secs) {
    warn(`sandbox.max_cpu_secs is raised to ${timeoutSecs}, the timeout of a tool call.`);
  }
  return {
    mode: sandbox.mode,
    profile,
    network: sandbox.network ?? (profile === "developer" ? "full" : "loopback"),
    limits: {
      memoryMb: sandbox.max_memory_mb,
      cpuSecs: Math.max(sandbox.max_cpu_secs, timeoutSecs),
      procs: sandbox.max_procs,
    },
  };
}
