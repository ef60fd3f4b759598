// Whether there is memory for the buffers of an image, which the library tells before it computes anything (svc_image_job_begin), and how the
// image is decoded. Knows neither the library nor devices.

import { ServiceError } from "../../src/core/error.ts";
import { sizeText } from "../../src/core/size-text.ts";

/** Pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Bytes that the buffers of such an image need, decoded in tiles or in one piece. */
export type MeasureBuffers = (size: ImageSize, inTiles: boolean) => Promise<number>;

export interface ImageRoom {
  /** Bytes that buffers may take. */
  readonly bytes: number;
  /** Whose they are. */
  readonly of: string;
  /** The library divides graphs that exceed the memory, so that nothing is refused. */
  readonly divides: boolean;
}

/** Pixels of the largest image that is decoded in one piece: more would take more memory than the model. */
const PIECE_PIXELS_MAX = 1024 * 1024;

/** Edges of a size that is proposed are multiples of this, which all families can draw. */
const EDGE_STEP = 64;
/** Sizes that are tried: sixteenths of the edges that were asked for. */
const PARTS = 16;

/** Whether the image is decoded in tiles. Throws ServiceError with a size that fits where none of both fits. */
export async function decodesInTiles(
  size: ImageSize,
  room: ImageRoom,
  measure: MeasureBuffers,
): Promise<boolean> {
  const isSmall = size.width * size.height <= PIECE_PIXELS_MAX;
  if (isSmall && (await measure(size, false)) <= room.bytes) return false;
  if (room.divides) return true;
  const bytes = await measure(size, true);
  if (bytes <= room.bytes) return true;
  const largest = await largestFitting(size, room, measure);
  const advice =
    largest === undefined
      ? "none of this shape fits; use a smaller model, or unload others"
      : `send at most ${largest.width} x ${largest.height}`;
  throw new ServiceError(
    "unsupported_value",
    `width x height: an image of ${size.width} x ${size.height} needs ${sizeText(bytes)} of buffers, and ${sizeText(Math.max(0, room.bytes))} of ${room.of} are free; ${advice}`,
    { param: "width" },
  );
}

/** The largest size of about the same shape that fits; undefined where none does. */
async function largestFitting(
  { width, height }: ImageSize,
  room: ImageRoom,
  measure: MeasureBuffers,
): Promise<ImageSize | undefined> {
  const part = (parts: number): ImageSize => {
    const edge = (whole: number): number => Math.floor((whole * parts) / PARTS / EDGE_STEP) * EDGE_STEP;
    return { width: edge(width), height: edge(height) };
  };
  let fitting: ImageSize | undefined;
  let [low, high] = [1, PARTS - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const size = part(middle);
    const fits = size.width > 0 && size.height > 0 && (await measure(size, true)) <= room.bytes;
    if (fits) fitting = size;
    const isTooSmall = size.width === 0 || size.height === 0;
    if (fits || isTooSmall) low = middle + 1;
    else high = middle - 1;
  }
  return fitting;
}
