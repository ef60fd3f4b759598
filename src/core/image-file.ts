// Pixels, orientation and frames of an image file by its head. Nothing is decoded.
// Sources: PNG: RFC 2083; JPEG: ITU T.81 B.1; GIF89a; WebP: RFC 9649; TIFF 6.0; Exif 2.32; HEIF: ISO 23008-12, boxes of ISO 14496-12.
// Rejected: image-size, which reads a JPEG with a fill byte as 1 × 1; file-type, which has no size; exifr, which reads all tags.

import { has, read } from "./file-bytes.ts";

/** Pixels of an image. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** What the head of an image says. */
export interface ImageHead {
  /** Absent where it is damaged. */
  readonly size?: ImageSize;
  /** How it is to be turned: 2 … 8 of Exif; absent: it is upright, or its decoder turns it. */
  readonly orientation?: number;
  readonly isAnimated?: true;
  /** Something may show through, which the engine's decoder would paint black. */
  readonly isClear?: true;
  /** The engine's decoder does not read it. */
  readonly isForeign?: true;
}

interface ImageFormat {
  readonly format: string;
  readonly starts: (view: DataView) => boolean;
  readonly head: (view: DataView) => ImageHead;
}

/** The formats that can be read. */
export const IMAGE_FORMATS: readonly ImageFormat[] = [
  {
    format: "PNG",
    starts: (view) => has(view, 0, "\x89PNG\r\n\x1a\n"),
    head: (view) => ({
      ...sized(read(pngSize, view)),
      ...turned(view, pngExif),
      ...(read(isClearPng, view) === true ? { isClear: true } : {}),
    }),
  },
  {
    format: "JPEG",
    starts: (view) => has(view, 0, "\xff\xd8\xff"),
    head: (view) => ({ ...read(jpegFrame, view), ...turned(view, jpegExif) }),
  },
  {
    format: "GIF",
    starts: (view) => has(view, 0, "GIF87a") || has(view, 0, "GIF89a"),
    head: (view) => ({ ...sized(read(gifSize, view)), ...gifParts(view) }),
  },
  {
    format: "BMP",
    starts: (view) => has(view, 0, "BM"),
    head: (view) => ({
      ...sized(read(bmpSize, view)),
      ...(read(isPackedBmp, view) === true ? { isForeign: true } : {}),
    }),
  },
  {
    format: "WebP",
    starts: (view) => has(view, 0, "RIFF") && has(view, 8, "WEBP"),
    head: (view) => ({ ...read(webpHead, view), ...turned(view, webpExif), isForeign: true }),
  },
  {
    format: "AVIF",
    starts: (view) => hasBrand(view, ["avif", "avis"]),
    head: (view) => ({ ...sized(read(heifSize, view)), isForeign: true }),
  },
  {
    format: "HEIC",
    starts: (view) => hasBrand(view, ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]),
    head: (view) => ({ ...sized(read(heifSize, view)), isForeign: true }),
  },
  {
    format: "TIFF",
    starts: (view) => has(view, 0, "II*\0") || has(view, 0, "MM\0*"),
    head: (view) => ({ ...sized(read(tiffSize, view)), ...turned(view, () => 0), isForeign: true }),
  },
];

/** Segments, boxes or brands of a head that are looked at: files have some hundred, and a long one would hold up the server. */
const PARTS_MAX = 4096;

function sizeOf(width: number, height: number): ImageSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined;
}

function sized(size: ImageSize | undefined): { readonly size?: ImageSize } {
  return size === undefined ? {} : { size };
}

/** The orientation, where there is one. `find` says where the Exif data is, if the file has some. */
function turned(
  view: DataView,
  find: (view: DataView) => number | undefined,
): { readonly orientation?: number } {
  const orientation = read((whole) => {
    const at = find(whole);
    return at === undefined ? undefined : tagsOf(whole, at).get(ORIENTATION);
  }, view);
  return orientation !== undefined && orientation > 1 && orientation <= 8 ? { orientation } : {};
}

const IMAGE_WIDTH = 256;
const IMAGE_LENGTH = 257;
const ORIENTATION = 274;

/** Whole numbers of the first directory of a TIFF, which Exif data are, too. */
function tagsOf(view: DataView, start: number): ReadonlyMap<number, number> {
  const isLittle = view.getUint8(start) === 0x49;
  const directory = start + view.getUint32(start + 4, isLittle);
  const count = view.getUint16(directory, isLittle);
  const tags = new Map<number, number>();
  for (let at = directory + 2; at < directory + 2 + count * 12; at += 12) {
    const isShort = view.getUint16(at + 2, isLittle) === 3;
    const value = isShort ? view.getUint16(at + 8, isLittle) : view.getUint32(at + 8, isLittle);
    tags.set(view.getUint16(at, isLittle), value);
  }
  return tags;
}

function tiffSize(view: DataView): ImageSize | undefined {
  const tags = tagsOf(view, 0);
  return sizeOf(tags.get(IMAGE_WIDTH) ?? 0, tags.get(IMAGE_LENGTH) ?? 0);
}

function pngSize(view: DataView): ImageSize | undefined {
  return has(view, 12, "IHDR") ? sizeOf(view.getUint32(16), view.getUint32(20)) : undefined;
}

function pngExif(view: DataView): number | undefined {
  const at = pngChunk(view, "eXIf");
  return at === undefined ? undefined : at + 8;
}

/** Where a chunk before the pixels begins. */
function pngChunk(view: DataView, type: string): number | undefined {
  for (let at = 8; !has(view, at + 4, "IDAT"); at += 12 + view.getUint32(at))
    if (has(view, at + 4, type)) return at;
  return undefined;
}

/** Colour types of PNG with a value for opacity; of the others a chunk may name one. */
const WITH_OPACITY = new Set([4, 6]);

function isClearPng(view: DataView): boolean {
  return WITH_OPACITY.has(view.getUint8(25)) || pngChunk(view, "tRNS") !== undefined;
}

function gifSize(view: DataView): ImageSize | undefined {
  return sizeOf(view.getUint16(6, true), view.getUint16(8, true));
}

/** Whether a GIF has a second image, and whether one of the two has a colour that is none. */
function gifParts(view: DataView): Pick<ImageHead, "isAnimated" | "isClear"> {
  const tableBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  const parts: { isAnimated?: true; isClear?: true } = {};
  let frames = 0;
  const walk = (): void => {
    for (let at = 13 + tableBytes(view.getUint8(10)); ;) {
      const kind = view.getUint8(at);
      if (kind === 0x2c && ++frames === 2) parts.isAnimated = true;
      if (kind === 0x21 && view.getUint8(at + 1) === 0xf9 && (view.getUint8(at + 3) & 1) === 1)
        parts.isClear = true;
      if (parts.isAnimated === true) return;
      if (kind === 0x2c) at += 11 + tableBytes(view.getUint8(at + 9));
      else if (kind === 0x21) at += 2;
      else return;
      for (let bytes = view.getUint8(at); bytes > 0; bytes = view.getUint8(at)) at += 1 + bytes;
      at++;
    }
  };
  read(walk, view); // a file that is cut off has what was found in it
  return parts;
}

/** The oldest header has 16-bit sizes; in newer ones a negative height means rows from top to bottom. */
function bmpSize(view: DataView): ImageSize | undefined {
  if (view.getUint32(14, true) === 12) return sizeOf(view.getUint16(18, true), view.getUint16(20, true));
  return sizeOf(view.getInt32(18, true), Math.abs(view.getInt32(22, true)));
}

/** Runs of 8 or 4 bits, which nothing here unpacks. */
function isPackedBmp(view: DataView): boolean {
  return view.getUint32(14, true) >= 40 && [1, 2].includes(view.getUint32(30, true));
}

/** Frame headers (SOFn) are C0 … CF, apart from these: tables and an extension. */
const NO_FRAMES = new Set([0xc4, 0xc8, 0xcc]);
const START_OF_SCAN = 0xda;
const APP1 = 0xe1;
/** What the engine's decoder reads: Huffman codes of 8 bits, grey or three colours. Four are those of printers. */
const COMMON_FRAME_MAX = 0xc2;
const COMMON_COLOURS_MAX = 3;

/** Segments up to the first scan, each with its marker. */
function* jpegSegments(view: DataView): Generator<{ readonly marker: number; readonly at: number }> {
  let count = 0;
  for (let at = 2; count < PARTS_MAX;) {
    if (view.getUint8(at) !== 0xff) return;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++; // a fill byte
      continue;
    }
    if (marker === START_OF_SCAN) return;
    const length = view.getUint16(at + 2);
    if (length < 2) return;
    yield { marker, at: at + 4 };
    count++;
    at += 2 + length;
  }
}

function jpegFrame(view: DataView): ImageHead {
  for (const { marker, at } of jpegSegments(view)) {
    if (marker < 0xc0 || marker > 0xcf || NO_FRAMES.has(marker)) continue;
    const isForeign = marker > COMMON_FRAME_MAX || view.getUint8(at + 5) > COMMON_COLOURS_MAX;
    const size = sizeOf(view.getUint16(at + 3), view.getUint16(at + 1));
    return { ...sized(size), ...(isForeign ? { isForeign } : {}) };
  }
  return {};
}

function jpegExif(view: DataView): number | undefined {
  for (const { marker, at } of jpegSegments(view))
    if (marker === APP1 && has(view, at, "Exif\0")) return at + 6;
  return undefined;
}

const ANIMATION_FLAG = 2;

/** Sizes have 14 bits, those of a canvas 24. */
function webpHead(view: DataView): ImageHead {
  const body = 20;
  if (has(view, 12, "VP8X")) {
    const edge = (at: number): number => 1 + view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_0000;
    const isAnimated = (view.getUint8(body) & ANIMATION_FLAG) !== 0;
    return { ...sized(sizeOf(edge(24), edge(27))), ...(isAnimated ? { isAnimated } : {}) };
  }
  if (has(view, 12, "VP8L")) {
    const bits = view.getUint32(body + 1, true);
    return sized(sizeOf(1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff)));
  }
  if (!has(view, 12, "VP8 ")) return {};
  return sized(sizeOf(view.getUint16(body + 6, true) & 0x3fff, view.getUint16(body + 8, true) & 0x3fff));
}

function webpExif(view: DataView): number | undefined {
  for (let at = 12; at + 8 <= view.byteLength;) {
    if (has(view, at, "EXIF")) return has(view, at + 8, "Exif\0") ? at + 14 : at + 8;
    const length = view.getUint32(at + 4, true);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

/** Brands of a file, the main one first: some name a family first, and the format after it. */
function hasBrand(view: DataView, brands: readonly string[]): boolean {
  if (!has(view, 4, "ftyp")) return false;
  const end = Math.min(view.getUint32(0), view.byteLength, 4 * PARTS_MAX);
  const isFamily = has(view, 8, "mif1") || has(view, 8, "msf1");
  const others = isFamily ? Math.max(0, Math.floor((end - 16) / 4)) : 0;
  const places = [8, ...Array.from({ length: others }, (_, index) => 16 + index * 4)];
  return places.some((at) => brands.some((brand) => has(view, at, brand)));
}

/** A box: its body, and its end. */
interface Box {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Boxes of a file or of a box. */
function* boxes(view: DataView, start: number, end: number): Generator<Box> {
  for (let at = start, count = 0; at + 8 <= end && count < PARTS_MAX; count++) {
    const length = view.getUint32(at);
    const type = String.fromCharCode(...[4, 5, 6, 7].map((byte) => view.getUint8(at + byte)));
    const head = length === 1 ? 16 : 8;
    const bytes = length === 1 ? Number(view.getBigUint64(at + 8)) : length === 0 ? end - at : length;
    if (bytes < head || at + bytes > end) return;
    yield { type, start: at + head, end: at + bytes };
    at += bytes;
  }
}

/** Boxes in boxes of a type; some of them begin with a version. */
function inside(view: DataView, outer: readonly Box[], type: string, skipped = 0): readonly Box[] {
  return outer
    .filter((box) => box.type === type)
    .flatMap(({ start, end }) => [...boxes(view, start + skipped, end)]);
}

/** Properties of the images in a HEIF file: `meta` has a version of four bytes. */
export function heifProperties(view: DataView): readonly Box[] {
  const meta = inside(view, [...boxes(view, 0, view.byteLength)], "meta", 4);
  return inside(view, inside(view, meta, "iprp"), "ipco");
}

/** Frames of a HEIF file, one unless it holds a sequence. */
export function heifFrames(view: DataView): number {
  let found: readonly Box[] = [...boxes(view, 0, view.byteLength)];
  for (const type of ["moov", "trak", "mdia", "minf", "stbl"]) found = inside(view, found, type);
  const sizes = found.filter(({ type, start, end }) => type === "stsz" && end - start >= 12);
  return Math.max(1, ...sizes.map(({ start }) => view.getUint32(start + 8)));
}

/** The largest image of the file: a photo has tiles and a thumbnail beside it. */
function heifSize(view: DataView): ImageSize | undefined {
  const sizes = heifProperties(view)
    .filter(({ type }) => type === "ispe")
    .map(({ start }) => ({ width: view.getUint32(start + 4), height: view.getUint32(start + 8) }));
  const [largest] = sizes.toSorted((a, b) => b.width * b.height - a.width * a.height);
  return largest === undefined ? undefined : sizeOf(largest.width, largest.height);
}
