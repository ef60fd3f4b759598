// Size of a model on disk.

import { statSync } from "node:fs";
import { partPaths } from "./model-files.ts";

/** Bytes of all parts of a model's file; almost all of it is tensors. Missing parts count as nothing. */
export function modelBytes(path: string): number {
  return partPaths(path).reduce(
    (sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
