// Clean-up after the last test of a process. bunfig.toml preloads this file, which is what makes its afterAll come last;
// without the preload it would come after the first file that imports it.

import { afterAll } from "bun:test";

const cleanups: (() => void)[] = [];

afterAll(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** Calls `cleanup` when all tests of this process are done. */
export function atEnd(cleanup: () => void): void {
  cleanups.push(cleanup);
}
