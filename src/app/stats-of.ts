// What a path names, where a fault in it is no reason to stop.

import { type Stats, statSync } from "node:fs";

/** Undefined where nothing is, and for a path through a file or a folder that may not be entered. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
