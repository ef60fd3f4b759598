// Size of a model on disk, and sizes in messages.

import { statSync } from "node:fs";
import { partPaths } from "./model-files.ts";

/** Bytes of all parts of a model's file; almost all of it is tensors. Missing parts count as nothing. */
export function modelBytes(path: string): number {
  return partPaths(path).reduce(
    (sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** Memory in a message: `1.5 GB`, `12.0 MB`. */
export function gigabytes(bytes: number): string {
  return bytes < 1e8 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
