// Reads of Linux's /proc, where everything may be gone by the next moment: then there is nothing to read.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A file's text; "" where it cannot be read. */
export function procText(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

/** Where a link leads; "" where it cannot be read. */
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
