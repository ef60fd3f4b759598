// Memory that image models take, for the serving process and engines.

import { statSync } from "node:fs";
import { ServiceError } from "./error.ts";
import { sizeText } from "./size-text.ts";

/**
 * Buffers of an image on a device, bytes: the diffusion of a million pixels with flash attention, or a tile of 256 × 256 pixels in an
 * autoencoder. Larger images are decoded in tiles.
 */
export const IMAGE_BUFFER_BYTES = 2 ** 30;

/**
 * What a full autoencoder takes to decode a pixel in one piece, bytes: the convolution at full size has 256 channels, unfolded to nine F16
 * neighbours each, beside two copies of its input in F32.
 */
export const DECODED_PIXEL_BYTES = 256 * (9 * 2 + 2 * 4);

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
