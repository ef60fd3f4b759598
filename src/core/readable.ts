// What can be read of the machine's files where a fault is no reason to stop: a file may be absent, another user's, another
// system's, or removed at any moment.

import { readdirSync, readFileSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";

/** Text of a file, without white space at its ends; "" where it cannot be read. */
export function textIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

/** Names in a folder; none where it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Target of a link; "" where it cannot be read. */
export function linkIn(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Undefined where nothing is, and for a path through a file or a folder that may not be entered. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** The path without links; as it is where it leads nowhere. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
