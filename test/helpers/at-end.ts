// Clean-up after the last test of a process. bunfig.toml preloads this file, which is what makes its afterAll come last;
// without the preload it would come after the first file that imports it. In a benchmark, which has no tests, the end is
// that of the process. A worker of `bun test --parallel` runs it after each file, though other files still use what it would
// remove, and has no other end: there test/ring.sh removes all temporary folders.

import { afterAll } from "bun:test";

const cleanups: (() => void)[] = [];

function cleanUp(): void {
  for (const cleanup of cleanups.splice(0)) cleanup();
}

if (process.env.NODE_ENV !== "test") process.once("exit", cleanUp);
else if (process.env["BUN_TEST_WORKER_ID"] === undefined) afterAll(cleanUp);

/** Calls `cleanup` when all tests of this process are done. */
export function atEnd(cleanup: () => void): void {
  cleanups.push(cleanup);
}
