// Pixels as a PNG file.

import { encode } from "fast-png";
import type { Pixels } from "./backend.ts";

const CHANNELS = 3;

/** The centre of an image as a PNG file of exactly this size; the image is at least as large. */
export function pngOf(pixels: Pixels, width: number, height: number): Uint8Array {
  return encode({ width, height, data: centre(pixels, width, height), channels: CHANNELS });
}

function centre(pixels: Pixels, width: number, height: number): Uint8Array {
  if (pixels.width === width && pixels.height === height) return pixels.data;
  const left = Math.floor((pixels.width - width) / 2);
  const top = Math.floor((pixels.height - height) / 2);
  const out = new Uint8Array(width * height * CHANNELS);
  for (let row = 0; row < height; row++) {
    const start = ((top + row) * pixels.width + left) * CHANNELS;
    out.set(pixels.data.subarray(start, start + width * CHANNELS), row * width * CHANNELS);
  }
  return out;
}
