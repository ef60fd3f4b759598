// Memory that image models take, for the serving process and engines.

import { statSync } from "node:fs";
import { ServiceError } from "./error.ts";
import { sizeText } from "./size-text.ts";

/**
 * Buffers of an image on a device, bytes, of a model that has not been loaded: a million pixels of a large one, decoded in tiles. Its engine
 * measures its own.
 */
export const IMAGE_BUFFER_BYTES = 2 ** 30;

/** Bytes of the files of a model, which are its weights; each is counted once. */
export function filesBytes(paths: readonly (string | undefined)[]): number {
  const files = new Set(paths.filter((path) => path !== undefined));
  return [...files].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Why an image model cannot be computed by the CPU; undefined where its weights fit main memory. */
export function imageShortage(weightBytes: number, freeBytes: number): ServiceError | undefined {
  if (weightBytes <= freeBytes) return undefined;
  return new ServiceError(
    "model_unavailable",
    `the weights of the image model need ${sizeText(weightBytes)} of memory, but only ${sizeText(freeBytes)} are free; use smaller quantizations, or fewer pinned models (pin)`,
  );
}
