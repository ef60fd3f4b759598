// Builds a WAV file from samples. Pure.

import { wavHeader } from "../../src/core/wav.ts";

/** A WAV file with one channel of 16-bit little-endian samples. `rate`: sample rate, Hz. */
export function wavFile(chunks: readonly Uint8Array<ArrayBuffer>[], rate: number): Blob {
  const bytes = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return new Blob([wavHeader(rate, bytes), ...chunks], { type: "audio/wav" });
}
