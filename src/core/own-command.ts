// Command line that starts this executable again.

import { resolve } from "node:path";

/** Bun's folder of the files in a compiled executable; the second on Windows. */
const COMPILED = /^(\/\$bunfs|[A-Z]:[\\/]~BUN)[\\/]/;

/** Compiled, the executable itself; from source, Bun and the script. Words follow. `main`: the first file. */
export function ownCommand(main = Bun.main): readonly string[] {
  if (COMPILED.test(main)) return [process.execPath];
  return [process.execPath, resolve(import.meta.dir, "../entry.ts")];
}
