// HEIC by libheif with libde265, AVIF by libavif with libaom, both compiled to WebAssembly: a crafted file reaches no memory but
// its own. Packages: libheif-js (LGPL-3.0; reads no AVIF), @jsquash/avif (Apache-2.0). Rejected: sharp and wasm-vips (neither has
// HEIC; 10 to 30 MB), the system's ffmpeg (before 7.1 it shows one tile of a phone's photo).

import libheif from "libheif-js/libheif-wasm/libheif.js";
import heifWasm from "libheif-js/libheif-wasm/libheif.wasm" with { type: "file" };
import libavif from "@jsquash/avif/codec/dec/avif_dec.js";
import avifWasm from "@jsquash/avif/codec/dec/avif_dec.wasm" with { type: "file" };
import { heifProperties } from "../../core/image-file.ts";
import { ImageProblem, type Raster } from "./raster.ts";

const wasmOf = async (file: string): Promise<ArrayBuffer> => Bun.file(file).arrayBuffer();

/** The main image of a HEIC file, upright: the library turns it. */
export async function heicRaster(bytes: Uint8Array): Promise<Raster> {
  const library = libheif({ wasmBinary: await wasmOf(heifWasm) });
  const images = new library.HeifDecoder().decode(bytes);
  const image = images.find((one) => one.is_primary()) ?? images[0];
  if (image === undefined) throw new ImageProblem("damaged");
  const size = { width: image.get_width(), height: image.get_height() };
  const target = { ...size, data: new Uint8ClampedArray(size.width * size.height * 4) };
  const shown = await new Promise<Raster | null>((resolve) => image.display(target, resolve));
  if (shown === null) throw new ImageProblem("damaged");
  return shown;
}

/** The main image of an AVIF file, as it is stored. */
export async function avifRaster(bytes: Uint8Array): Promise<Raster> {
  const library = await libavif({ noInitialRun: true, wasmBinary: await wasmOf(avifWasm) });
  const raster = library.decode(bytes, 8);
  if (raster === null) throw new ImageProblem("damaged");
  return raster;
}

/** Orientations of Exif by quarter turns counterclockwise, without and with a mirror after them. */
const UPRIGHT = [1, 8, 3, 6] as const;
const MIRRORED = {
  leftToRight: [2, 7, 4, 5],
  topToBottom: [4, 5, 2, 7],
} as const;

/** How an AVIF file wants to be turned, as an orientation of Exif; its boxes say so, its Exif data do not count. */
export function heifOrientation(bytes: Uint8Array<ArrayBuffer>): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const properties = heifProperties(view);
  const first = (type: string): number | undefined => {
    const box = properties.find((one) => one.type === type);
    return box === undefined ? undefined : view.getUint8(box.start);
  };
  const turns = (first("irot") ?? 0) & 3;
  const axis = first("imir");
  if (axis === undefined) return UPRIGHT[turns] ?? 1;
  return ((axis & 1) === 1 ? MIRRORED.leftToRight : MIRRORED.topToBottom)[turns] ?? 1;
}
