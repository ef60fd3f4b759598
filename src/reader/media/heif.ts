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

/** Of libheif's interface in C (heif_colorspace, heif_chroma, heif_channel, heif_error_code). */
const RGB = 1;
const THREE_BYTES = 10;
const FOUR_BYTES = 11;
const INTERLEAVED = 10;
const PROBLEMS: ReadonlyMap<number, "unsupported" | "tooLarge"> = new Map([
  [3, "unsupported"],
  [4, "unsupported"],
  [6, "tooLarge"],
]);
/** Bytes of its heif_error, and of a pointer. */
const ERROR_BYTES = 12;
const POINTER_BYTES = 4;

/**
 * The main image of a HEIC file, upright: the library turns it. By its interface in C, whose pixels are read where they lie: that for
 * JavaScript copies them twice, which is 400 MB of a phone's 48 million pixels.
 */
export async function heicRaster(bytes: Uint8Array): Promise<Raster> {
  const library = libheif({ wasmBinary: await wasmOf(heifWasm) });
  const [error, out] = [library._malloc(ERROR_BYTES), library._malloc(POINTER_BYTES)];
  const wordAt = (at: number): number => new DataView(library.HEAPU8.buffer).getUint32(at, true);
  /** What a call has made, whose first argument is the place of its error, and the last one that of its result. */
  const made = (): number => {
    const code = wordAt(error);
    if (code !== 0) throw new ImageProblem(PROBLEMS.get(code) ?? "damaged");
    return wordAt(out);
  };
  const file = library._malloc(bytes.byteLength);
  library.HEAPU8.set(bytes, file);
  const context = library._heif_context_alloc();
  library._heif_context_read_from_memory(error, context, file, bytes.byteLength, 0);
  made();
  library._heif_context_get_primary_image_handle(error, context, out);
  const handle = made();
  const isClear = library._heif_image_handle_has_alpha_channel(handle) !== 0;
  library._heif_decode_image(error, handle, out, RGB, isClear ? FOUR_BYTES : THREE_BYTES, 0);
  const image = made();
  const pixels = library._heif_image_get_plane_readonly(image, INTERLEAVED, out);
  if (pixels === 0) throw new ImageProblem("damaged");
  return {
    width: library._heif_image_get_width(image, INTERLEAVED),
    height: library._heif_image_get_height(image, INTERLEAVED),
    data: library.HEAPU8.subarray(pixels),
    channels: isClear ? 4 : 3,
    rowBytes: wordAt(out),
  };
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
