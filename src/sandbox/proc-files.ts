// Reads of Linux's /proc. A process may exit at any moment: its files then read as empty.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Text of a file; "" where it cannot be read. */
export function procText(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

/** Target of a link; "" where it cannot be read. */
export function procLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Links to the open files of a process, as paths. */
export function openFiles(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => `${folder}/${name}`);
  } catch {
    return [];
  }
}
