// Decoded pixels, and their way into a PNG file that the engine reads: turned upright, without transparency, no larger than a
// model can use.

import { decode, encode } from "fast-png";
import { PICTURE_PIXELS_MAX } from "../../core/limits.ts";
import { CONVERTED_PIXELS_MAX } from "../limits.ts";

/** Pixels of four bytes: red, green, blue, opacity. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** Why an image is not read. */
export class ImageProblem extends Error {}

/** Quarter turns clockwise and a mirror left to right after them, by the orientations of Exif. */
const TURNS: Readonly<Record<number, readonly [degrees: number, isMirrored: boolean]>> = {
  2: [0, true],
  3: [180, false],
  4: [180, true],
  5: [90, true],
  6: [90, false],
  7: [270, true],
  8: [270, false],
};

/** A PNG file of the pixels, on white. */
export async function rasterPng(raster: Raster, orientation?: number): Promise<Uint8Array> {
  return finishedPng(plainPng(raster), orientation);
}

/** The pixels on white, packed without compression. */
export function plainPng({ width, height, data }: Raster): Uint8Array {
  const onWhite = new Uint8Array(width * height * 3);
  for (let from = 0, to = 0; to < onWhite.length; from += 4, to += 3) {
    const opacity = data[from + 3] ?? 255;
    for (let colour = 0; colour < 3; colour++) {
      const value = data[from + colour] ?? 0;
      onWhite[to + colour] = opacity === 255 ? value : Math.round((value * opacity) / 255 + 255 - opacity);
    }
  }
  return encode({ width, height, data: onWhite, channels: 3 }, { zlib: { level: 0 } });
}

/** An image that the runtime decodes, as a PNG file. */
export async function finishedPng(file: Uint8Array, orientation?: number): Promise<Uint8Array> {
  const [degrees, isMirrored] = TURNS[orientation ?? 1] ?? [0, false];
  const image = imageOf(file);
  if (degrees !== 0) image.rotate(degrees);
  if (isMirrored) image.flop();
  return (await withinPixels(image)).png({ compressionLevel: 2 }).bytes();
}

/** The image, made smaller where it has more pixels than a model can use. */
export async function withinPixels(image: Bun.Image): Promise<Bun.Image> {
  const { width, height } = await image.metadata();
  const scale = Math.sqrt(CONVERTED_PIXELS_MAX / (width * height));
  if (scale >= 1) return image;
  const edge = Math.max(1, Math.floor(Math.max(width, height) * scale));
  return image.resize(edge, edge, { fit: "inside" });
}

/** Pixels that the runtime decodes. */
export async function rasterOf(image: Bun.Image): Promise<Raster> {
  const { width, height, data, channels } = decode(await image.png({ compressionLevel: 0 }).bytes());
  if (channels === 4 && data instanceof Uint8Array) return { width, height, data };
  const rgba = new Uint8Array(width * height * 4).fill(255);
  for (let pixel = 0; pixel < width * height; pixel++)
    for (let colour = 0; colour < 3; colour++)
      rgba[pixel * 4 + colour] = data[pixel * channels + (channels < 3 ? 0 : colour)] ?? 0;
  return { width, height, data: rgba };
}

/** A file for the runtime's decoder, as it is stored. */
export function imageOf(file: Uint8Array): Bun.Image {
  return new Bun.Image(file, { autoOrient: false, maxPixels: PICTURE_PIXELS_MAX });
}
