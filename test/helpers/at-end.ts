// Clean-up after the last test of a process. bunfig.toml preloads this file, which is what makes its afterAll come last;
// without the preload it would come after the first file that imports it. In a benchmark, which has no tests, the end is
// that of the process.

import { afterAll } from "bun:test";

const cleanups: (() => void)[] = [];

function cleanUp(): void {
  for (const cleanup of cleanups.splice(0)) cleanup();
}

if (process.env.NODE_ENV === "test") afterAll(cleanUp);
else process.once("exit", cleanUp);

/** Calls `cleanup` when all tests of this process are done. */
export function atEnd(cleanup: () => void): void {
  cleanups.push(cleanup);
}
