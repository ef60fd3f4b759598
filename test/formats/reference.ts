// What ImageMagick and ffmpeg make of the files: pixels on white, samples of one channel at the engine's rate.

import { decode } from "fast-png";
import { SOUND_RATE } from "../../src/core/limits.ts";
import { WAV_HEADER_BYTES } from "../../src/core/wav.ts";

export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Three bytes each. */
  readonly data: Uint8Array;
}

function output(...argv: readonly string[]): Uint8Array<ArrayBuffer> {
  const { success, stdout, stderr } = Bun.spawnSync([...argv]);
  if (!success) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  return new Uint8Array(stdout);
}

/** A frame of an image as a PNG file, which any decoder reads alike. */
export function referencePng(path: string, frame = 0): Uint8Array<ArrayBuffer> {
  const upright = ["-auto-orient", "-background", "white", "-alpha", "remove", "-alpha", "off"];
  return output("convert", `${path}[${frame}]`, ...upright, "-colorspace", "sRGB", "-depth", "8", "PNG24:-");
}

/** Pixels of a PNG file of 8 bits. */
export function pixelsOf(png: Uint8Array): Pixels {
  const { width, height, data, channels } = decode(png);
  const rgb = Uint8Array.from({ length: width * height * 3 }, (_, at) => {
    const pixel = Math.floor(at / 3);
    return data[pixel * channels + (channels < 3 ? 0 : at % 3)] ?? 0;
  });
  return { width, height, data: rgb };
}

/** Mean difference of a colour, of 255; infinite for other sizes. */
export function pixelsDiffer(a: Pixels, b: Pixels): number {
  if (a.width !== b.width || a.height !== b.height) return Infinity;
  return a.data.reduce((sum, value, at) => sum + Math.abs(value - (b.data[at] ?? 0)), 0) / a.data.length;
}

/** Samples of a sound. */
export function referenceSamples(path: string): Int16Array {
  const form = ["-map", "0:a:0", "-ac", "1", "-ar", `${SOUND_RATE}`, "-f", "s16le", "-"];
  return new Int16Array(output("ffmpeg", "-v", "error", "-i", path, ...form).buffer);
}

/** Samples of a WAV file that svc has made. */
export function samplesOf(wav: Uint8Array): Int16Array {
  return new Int16Array(new Uint8Array(wav.subarray(WAV_HEADER_BYTES)).buffer);
}

/** Energy of the difference as a share of the sound's, in decibels. Beginning and end are left out, where filters swing in. */
export function samplesDiffer(seen: Int16Array, wanted: Int16Array): number {
  const edge = Math.floor(SOUND_RATE / 20);
  let difference = 0;
  let energy = 0;
  for (let at = edge; at < wanted.length - edge; at++) {
    difference += ((seen[at] ?? 0) - (wanted[at] ?? 0)) ** 2;
    energy += (wanted[at] ?? 0) ** 2;
  }
  return 10 * Math.log10(difference / energy);
}

/** An AVIF file by libavif; ImageMagick's way halves its colours. */
export function decodedAvif(path: string): Uint8Array<ArrayBuffer> {
  output("avifdec", "--depth", "8", path, `${path}.png`);
  return output("convert", `${path}.png`, "-depth", "8", "PNG24:-");
}
