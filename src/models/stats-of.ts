// What a path names, where a fault in it is no reason to stop.

import { realpathSync, type Stats, statSync } from "node:fs";

/** Undefined where nothing is, and for a path through a file or a folder that may not be entered. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** The path without links; as it is where it leads nowhere: a file may be removed at any time. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
