// A helper process that stands in native code, and one above it: `bun helper-process.ts parent WORDS…` starts the words with
// the pipe of a helper and waits; `bun helper-process.ts helper` says its process id and sleeps where no event loop runs.

import { dlopen } from "bun:ffi";
import { endWithParent } from "../../ffi/linux/parent-death.ts";
import { PARENT_PIPE_FD } from "../../src/core/parent-pipe.ts";

const [, , role, ...words] = process.argv;

if (role === "helper") {
  endWithParent(PARENT_PIPE_FD);
  console.log(process.pid);
  dlopen("libc.so.6", { sleep: { args: ["u32"], returns: "u32" } }).symbols.sleep(600);
} else {
  const child = Bun.spawn(words, { stdio: ["ignore", "inherit", "inherit", "pipe"] });
  await child.exited;
}
