// Executors over a real sandbox for one test file.

import { afterAll, test } from "bun:test";
import { ownCommand } from "../../src/core/own-command.ts";
import { openPython, type PythonOptions } from "../../src/exec/python/sessions.ts";
import { openShell, type ShellOptions } from "../../src/exec/shell/sessions.ts";
import type { PythonCall, PythonSessions, ShellCall, ShellSessions } from "../../src/exec/types.ts";
import { openSandbox, type SandboxOptions } from "../../src/sandbox/sandbox.ts";
import type { Sandbox, SandboxPolicy } from "../../src/sandbox/types.ts";
import { tempDir } from "./tmp.ts";

export const PYTHON = "/usr/bin/python3";
export const HAS_PYTHON = Bun.which(PYTHON) !== null;

const SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin";

const POLICY: SandboxPolicy = {
  mode: "auto",
  profile: "developer",
  network: "none",
  limits: { memoryMb: 1024, cpuSecs: 60, procs: 64 },
};

/** Long enough for a machine that does other things too. */
export const TIMEOUT_SECS = 30;

const opened: { close(): Promise<void> }[] = [];

/** To be called at the top of a test file: closes what its tests have opened. */
export function closeExecutors(): void {
  afterAll(async () => {
    for (const executor of opened.splice(0)) await executor.close();
  });
}

/** A signal that never aborts. */
export const NEVER = new AbortController().signal;

export function sandboxWith(
  policy: Partial<SandboxPolicy> = {},
  options: Partial<SandboxOptions> = {},
): Promise<Sandbox> {
  return openSandbox({
    policy: { ...POLICY, ...policy },
    environment: { PATH: SEARCH_PATH },
    home: tempDir(),
    ownCommand: ownCommand(),
    ...options,
  });
}

export async function pythonWith(options: Partial<PythonOptions> = {}): Promise<PythonSessions> {
  const sandbox = options.sandbox ?? (await sandboxWith());
  const python = await openPython({
    sandbox,
    python: PYTHON,
    searchPath: SEARCH_PATH,
    warn: () => {},
    timeoutSecs: TIMEOUT_SECS,
    ...options,
  });
  opened.push(python);
  return python;
}

export async function shellWith(options: Partial<ShellOptions> = {}): Promise<ShellSessions> {
  const sandbox = options.sandbox ?? (await sandboxWith());
  const shell = await openShell({ sandbox, shell: "/bin/sh", timeoutSecs: TIMEOUT_SECS, ...options });
  opened.push(shell);
  return shell;
}

export function cell(code: string, call: Partial<PythonCall> = {}): PythonCall {
  return { sessionId: "s", client: "", code, outputs: [], inputs: [], ...call };
}

export function commands(lines: readonly string[], call: Partial<ShellCall> = {}): ShellCall {
  return { sessionId: "s", client: "", commands: lines, outputs: [], inputs: [], skills: [], ...call };
}

/** `test`, or a skip that says so. */
export function testIf(condition: boolean, what: string): typeof test {
  if (condition) return test;
  console.warn(`SKIPPED: ${what}`);
  return test.skip;
}
