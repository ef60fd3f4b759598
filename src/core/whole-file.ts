// Files that are never seen half written.

import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Replaces a file, in a folder that is there. `settle` changes mode and owner before it gets its name. */
export function writeWhole(
  file: string,
  text: string,
  { mode = 0o666, settle }: { readonly mode?: number; readonly settle?: (aside: string) => void } = {},
): void {
  const aside = `${file}.${process.pid}`;
  try {
    rmSync(aside, { force: true }); // of a process of this number that was killed
    writeFileSync(aside, text, { mode, flag: "wx" });
    settle?.(aside);
    renameSync(aside, file);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

/** Writes a file that its user alone can read and, where they are missing, its folders, which others cannot enter. */
export function writePrivateFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeWhole(file, text, { mode: 0o600, settle: (aside) => chmodSync(aside, 0o600) }); // regardless of the umask
}
