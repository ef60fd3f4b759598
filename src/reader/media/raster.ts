// Decoded pixels, and their way into a PNG file that the engine reads: turned upright, without transparency, no larger than a
// model can use.

import { decode, encode } from "fast-png";
import { PICTURE_PIXELS_MAX } from "../../core/limits.ts";
import { CONVERTED_PIXELS_MAX } from "../limits.ts";

/** Pixels: red, green, blue and, of four bytes, opacity. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
  /** Bytes of a pixel; absent: four. */
  readonly channels?: 3 | 4;
  /** Bytes from a row to the next; absent: those of its pixels. */
  readonly rowBytes?: number;
}

/** Why an image is not read. */
export class ImageProblem extends Error {
  readonly problem: "damaged" | "unsupported" | "tooLarge";

  constructor(problem: ImageProblem["problem"]) {
    super(problem);
    this.problem = problem;
  }
}

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

/** The pixels on white, packed without compression; where they are several times too many, the means of squares of them. */
export function plainPng(raster: Raster): Uint8Array {
  const times = Math.floor(Math.sqrt((raster.width * raster.height) / CONVERTED_PIXELS_MAX));
  const edge = Math.max(1, Math.min(times, raster.width, raster.height));
  const [width, height] = [raster.width, raster.height].map((side) =>
    Math.max(1, Math.floor(side / edge)),
  ) as [number, number];
  const data = new Uint8Array(width * height * 3);
  const sums = new Uint32Array(width * 3);
  for (let row = 0; row < height; row++) {
    sums.fill(0);
    for (let below = 0; below < edge; below++) addRow(raster, row * edge + below, edge, sums);
    for (let at = 0; at < sums.length; at++)
      data[row * sums.length + at] = Math.round((sums[at] ?? 0) / edge ** 2);
  }
  return encode({ width, height, data, channels: 3 }, { zlib: { level: 0 } });
}

/** Adds a row of pixels on white to sums of `edge` of them each. */
function addRow(
  { width, data, channels = 4, rowBytes = width * channels }: Raster,
  row: number,
  edge: number,
  sums: Uint32Array,
): void {
  const isClear = channels === 4;
  let from = row * rowBytes;
  for (let to = 0; to < sums.length; to += 3)
    for (let beside = 0; beside < edge; beside++, from += channels) {
      const opacity = isClear ? (data[from + 3] ?? 255) : 255;
      const white = 255 - opacity;
      for (let colour = 0; colour < 3; colour++) {
        const value = data[from + colour] ?? 0;
        const shown = white === 0 ? value : Math.round((value * opacity) / 255 + white);
        sums[to + colour] = (sums[to + colour] ?? 0) + shown;
      }
    }
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
