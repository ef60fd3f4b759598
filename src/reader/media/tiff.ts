// TIFF by utif2 (MIT): the compressions of scanners and fax machines, tiles, colours of printers. Rejected: tiff, which lacks those of
// scanners; geotiff, which is made for maps.

import UTIF from "utif2";
import { ImageProblem, type Raster } from "./raster.ts";

/** Tag: whether the colours of a pixel lie together. */
const PLANES = "t284";
const SAMPLES = "t277";
const COLOURS = "t262";
/** Cyan, magenta, yellow, black. */
const PRINTER = 5;

/** The first page, and how many there are. */
export function tiffRaster(bytes: Uint8Array<ArrayBuffer>): {
  readonly raster: Raster;
  readonly pages: number;
} {
  Object.assign(globalThis, { window: {} }); // it looks there for another library
  const pages = UTIF.decode(bytes.slice().buffer);
  const [page] = pages;
  if (page === undefined) throw new ImageProblem("damaged");
  const numberOf = (tag: string): number => Number((page[tag] as readonly unknown[] | undefined)?.[0] ?? 1);
  if (numberOf(PLANES) === 2 && numberOf(SAMPLES) > 1) throw new ImageProblem("unsupported");
  UTIF.decodeImage(bytes.slice().buffer, page);
  const { width, height } = page;
  if (!(width > 0 && height > 0)) throw new ImageProblem("damaged");
  const data = UTIF.toRGBA8(page);
  if (numberOf(COLOURS) === PRINTER && numberOf(SAMPLES) === 4) data[data.length - 1] = 255; // it reads beyond the last pixel
  return { raster: { width, height, data }, pages: pages.length };
}
