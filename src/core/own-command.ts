// Command line that starts this executable again.

import { resolve } from "node:path";

/** Compiled, the executable itself; from source, Bun and the script. Words follow. */
export function ownCommand(): readonly string[] {
  if (Bun.main.startsWith("/$bunfs/")) return [process.execPath];
  return [process.execPath, resolve(import.meta.dir, "../entry.ts")];
}
