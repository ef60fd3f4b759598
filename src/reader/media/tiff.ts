// TIFF by utif2 (MIT): fax, JPEG, tiles, colours of printers and palettes. What it reads of a file is bounded by tiff-page.ts and
// tiff-pieces.ts. Rejected: tiff, which lacks the compressions of scanners; geotiff, which is made for maps.

import UTIF, { type IFD } from "utif2";
import { mediaFile } from "../../core/media-file.ts";
import { ImageProblem, type Raster } from "./raster.ts";
import { JPEG, tiffPage, type TiffPage } from "./tiff-page.ts";
import { unpacked } from "./tiff-pieces.ts";

/** Compressions of fax machines. */
const FAX: ReadonlySet<number> = new Set([2, 3, 4]);
/** Cyan, magenta, yellow, black. */
const PRINTER = 5;
/** Before the pixels, so that the order of bytes in them is known. */
const HEAD = 8;

/** The first page, and how many there are. */
export function tiffRaster(bytes: Uint8Array<ArrayBuffer>): {
  readonly raster: Raster;
  readonly pages: number;
} {
  Object.assign(globalThis, { window: {} }); // utif2 looks there for another library
  const { page, pages } = tiffPage(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const pixels = unpacked(bytes, page);
  const shown = pixels === undefined ? packedPage(bytes, page) : plainPage(bytes, page, pixels);
  const data = UTIF.toRGBA8(shown);
  if (page.colours === PRINTER && page.samples === 4) data[data.length - 1] = 255; // it reads beyond the last pixel
  return { raster: { width: page.width, height: page.height, data }, pages };
}

/** Pieces as utif2 wants them: where each begins, and its bytes. */
type Places = readonly (readonly [start: number, length: number])[];

function decoded(file: ArrayBuffer, page: TiffPage, places: Places, compression: number): IFD {
  const { width, height, bits, samples, colours, isTiled, pieces, tags } = page;
  const [starts, lengths] = [places.map(([start]) => start), places.map(([, length]) => length)];
  const [piece] = pieces;
  const area = isTiled
    ? { t322: [piece?.width ?? 0], t323: [piece?.height ?? 0], t324: starts, t325: lengths }
    : { t273: starts, t278: [piece?.height ?? 0], t279: lengths };
  const others = [266, 292, 317, 320, 338, 339, 347].flatMap((tag) => {
    const values = tags.get(tag);
    return values === undefined ? [] : [[`t${tag}`, [...values]] as const];
  });
  const directory: unknown = {
    t256: [width],
    t257: [height],
    t258: Array.from({ length: samples }, () => bits),
    t259: [compression],
    t262: [colours],
    t277: [samples],
    ...area,
    ...Object.fromEntries(others),
  };
  const read = directory as IFD; // but for what this adds
  UTIF.decodeImage(file, read);
  return read;
}

function plainPage(file: Uint8Array, page: TiffPage, pixels: Uint8Array): IFD {
  const plain = new Uint8Array(HEAD + pixels.length);
  plain.set(file.subarray(0, 2));
  plain.set(pixels, HEAD);
  let at = HEAD;
  const places = page.pieces.map(({ bytes }) => [(at += bytes) - bytes, bytes] as const);
  return decoded(plain.buffer, page, places, 1);
}

/** A page that utif2 unpacks. */
function packedPage(file: Uint8Array<ArrayBuffer>, page: TiffPage): IFD {
  const { compression, pieces } = page;
  if (compression !== JPEG && !FAX.has(compression)) throw new ImageProblem("unsupported");
  if (FAX.has(compression) && (page.bits !== 1 || page.isTiled)) throw new ImageProblem("unsupported");
  if (compression === JPEG) for (const piece of pieces) checkJpeg(file.slice(piece.start, piece.end), piece);
  const places = pieces.map(({ start, end }) => [start, end - start] as const);
  return decoded(file.slice().buffer, page, places, compression);
}

/** A block of JPEG, in its largest form. */
const BLOCK = 32;

/** A piece may be cut by the page's edge, but not be larger than it should. */
function checkJpeg(
  bytes: Uint8Array<ArrayBuffer>,
  { width, height }: { readonly width: number; readonly height: number },
): void {
  const file = mediaFile(bytes);
  const size = file?.modality === "image" && file.format === "JPEG" ? file.size : undefined;
  if (size === undefined || size.width > width + BLOCK || size.height > height + BLOCK)
    throw new ImageProblem("damaged");
}
