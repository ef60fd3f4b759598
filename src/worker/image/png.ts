// Pixels as a PNG file.

import { encode } from "fast-png";
import type { Pixels } from "./backend.ts";

const CHANNELS = 3;

/** The middle of a picture as a PNG file of exactly this size; the picture is at least as large. */
export function pngOf(picture: Pixels, width: number, height: number): Uint8Array {
  return encode({ width, height, data: middle(picture, width, height), channels: CHANNELS });
}

function middle(picture: Pixels, width: number, height: number): Uint8Array {
  if (picture.width === width && picture.height === height) return picture.data;
  const left = Math.floor((picture.width - width) / 2);
  const top = Math.floor((picture.height - height) / 2);
  const out = new Uint8Array(width * height * CHANNELS);
  for (let row = 0; row < height; row++) {
    const start = ((top + row) * picture.width + left) * CHANNELS;
    out.set(picture.data.subarray(start, start + width * CHANNELS), row * width * CHANNELS);
  }
  return out;
}
