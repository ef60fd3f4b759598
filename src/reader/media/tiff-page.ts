// What the first directory of a TIFF file says about its pixels, within bounds: utif2's own reader believes every count and never leaves a
// circle. Sources: TIFF 6.0; its Technical Note 2 for JPEG.

import { ImageProblem } from "./raster.ts";

/** Values of the tags that decide what the pixels are. */
type Tags = ReadonlyMap<number, readonly number[]>;

/** Where a strip or tile lies in the file, and what it holds unpacked. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
}

export interface TiffPage {
  readonly width: number;
  readonly height: number;
  readonly bits: number;
  readonly samples: number;
  readonly colours: number;
  readonly compression: number;
  readonly isTiled: boolean;
  readonly pieces: readonly Piece[];
  readonly tags: Tags;
}

const WIDTH = 256;
const HEIGHT = 257;
const BITS = 258;
const COMPRESSION = 259;
const COLOURS = 262;
const STRIPS = { starts: 273, lengths: 279, rows: 278 };
const SAMPLES = 277;
const PLANES = 284;
const PREDICTOR = 317;
const TILES = { starts: 324, lengths: 325, width: 322, height: 323 };
export const JPEG = 7;

/** Bits and samples that utif2 paints, by the meaning of a pixel: white is 0, black is 0, colours, palette, printer, JPEG's colours. */
const FORMS: Readonly<Record<number, string>> = {
  0: "1x1 4x1 8x1 16x1",
  1: "1x1 2x1 8x1 8x2 8x3 8x4 16x1 32x1",
  2: "8x3 8x4 8x5 16x3 16x4 32x3 32x4",
  3: "1x1 2x1 4x1 8x1 8x2",
  5: "8x4 8x5",
  6: "8x3",
};

/** Bytes of a value by its type; other types are no numbers of pixels. */
const SIZES: Readonly<Record<number, 1 | 2 | 4>> = { 1: 1, 3: 2, 4: 4, 7: 1 };

/** The first page, and how many there are. Throws ImageProblem, or RangeError where the file ends too early. */
export function tiffPage(view: DataView): { readonly page: TiffPage; readonly pages: number } {
  const isLittle = view.getUint8(0) === 0x49;
  const first = view.getUint32(4, isLittle);
  return { page: pageOf(view, tagsOf(view, first, isLittle)), pages: countPages(view, first, isLittle) };
}

function countPages(view: DataView, first: number, isLittle: boolean): number {
  const seen = new Set<number>();
  for (let at = first; at !== 0 && !seen.has(at) && at + 2 <= view.byteLength;) {
    seen.add(at);
    const next = at + 2 + 12 * view.getUint16(at, isLittle);
    at = next + 4 <= view.byteLength ? view.getUint32(next, isLittle) : 0;
  }
  return seen.size;
}

function tagsOf(view: DataView, directory: number, isLittle: boolean): Tags {
  const tags = new Map<number, readonly number[]>();
  const end = directory + 2 + 12 * view.getUint16(directory, isLittle);
  for (let at = directory + 2; at < end; at += 12) {
    const size = SIZES[view.getUint16(at + 2, isLittle)];
    if (size === undefined) continue;
    const count = view.getUint32(at + 4, isLittle);
    const start = count * size <= 4 ? at + 8 : view.getUint32(at + 8, isLittle);
    if (start + count * size > view.byteLength) continue; // of the tags that matter none is missed silently
    const read = (index: number): number => {
      const place = start + index * size;
      if (size === 1) return view.getUint8(place);
      return size === 2 ? view.getUint16(place, isLittle) : view.getUint32(place, isLittle);
    };
    tags.set(
      view.getUint16(at, isLittle),
      Array.from({ length: count }, (_, index) => read(index)),
    );
  }
  return tags;
}

function pageOf(view: DataView, tags: Tags): TiffPage {
  const first = (tag: number, otherwise = 0): number => tags.get(tag)?.[0] ?? otherwise;
  const [width, height] = [first(WIDTH), first(HEIGHT)];
  const bits = first(BITS, 1);
  const samples = first(SAMPLES, tags.get(BITS)?.length ?? 1);
  const colours = first(COLOURS, bits === 1 ? 0 : 2);
  const compression = first(COMPRESSION, 1);
  if (!(width > 0 && height > 0)) throw new ImageProblem("damaged");
  const isOneBits = tags.get(BITS)?.every((one) => one === bits) ?? true;
  const isPlain = colours !== 6 || compression === JPEG; // else its colours lie in another order
  const isKnown = FORMS[colours]?.split(" ").includes(`${bits}x${samples}`) === true;
  const isPlanes = first(PLANES, 1) === 2 && samples > 1;
  const isDifference = first(PREDICTOR, 1) === 1 || (first(PREDICTOR) === 2 && (bits === 8 || bits === 16));
  if (!isOneBits || !isPlain || !isKnown || isPlanes || !isDifference) throw new ImageProblem("unsupported");
  const isTiled = tags.has(TILES.width);
  const area = isTiled
    ? { width: first(TILES.width), height: first(TILES.height) }
    : { width, height: Math.min(height, first(STRIPS.rows, height)) };
  if (!(area.width > 0 && area.height > 0)) throw new ImageProblem("damaged");
  const { starts, lengths } = isTiled ? TILES : STRIPS;
  const given = { starts: tags.get(starts) ?? [], lengths: tags.get(lengths) };
  const inRow = Math.ceil(width / area.width);
  const pieces = Array.from({ length: inRow * Math.ceil(height / area.height) }, (_, index): Piece => {
    const rows = isTiled ? area.height : Math.min(area.height, height - index * area.height);
    const bytes = Math.ceil((area.width * bits * samples) / 8) * rows;
    const start = given.starts[index] ?? Infinity;
    if (start >= view.byteLength) throw new ImageProblem("damaged");
    const length = given.lengths?.[index] ?? bytes;
    return { start, end: Math.min(view.byteLength, start + length), bytes, ...area, height: rows };
  });
  return { width, height, bits, samples, colours, compression, isTiled, pieces, tags };
}
