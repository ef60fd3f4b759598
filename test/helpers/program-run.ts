// A server of its own that runs shell commands in the sandbox with network `full`, so that it can be started as another user:
// `bun program-run.ts MECHANISM COMMANDS`. Prints what came of them as JSON.

import { tmpdir } from "node:os";
import { ownCommand } from "../../src/core/own-command.ts";
import { openShell } from "../../src/exec/shell/sessions.ts";
import { openSandbox } from "../../src/sandbox/sandbox.ts";
import type { Mechanism } from "../../src/sandbox/types.ts";

const [, , mechanism, commands = ""] = process.argv;

const sandbox = await openSandbox({
  policy: {
    mode: "auto",
    profile: "developer",
    network: "full",
    limits: { memoryMb: 2048, cpuSecs: 60, procs: 128 },
  },
  environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  home: tmpdir(),
  ownCommand: ownCommand(),
  mechanisms: [mechanism as Mechanism], // the test's own word
});
const shell = await openShell({ sandbox, shell: "/bin/sh", timeoutSecs: 60 });
const result = await shell.run(
  { sessionId: "s", client: "", commands: [commands], outputs: [], inputs: [], skills: [] },
  new AbortController().signal,
);
await shell.close();
console.log(JSON.stringify({ effective: sandbox.effective, ...result, files: [] }));
process.exit(0);
