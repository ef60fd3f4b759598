// Types of decoders that have none, as far as they are used.

declare module "*.wasm" {
  /** Path of the file. */
  const path: string;
  export default path;
}

declare module "libheif-js/libheif-wasm/libheif.js" {
  /** Functions in C: pointers are numbers, and a result of several words has its place as the first argument. */
  interface Library {
    readonly HEAPU8: Uint8Array;
    _malloc(bytes: number): number;
    _heif_context_alloc(): number;
    _heif_context_read_from_memory(
      ...call: [error: number, context: number, file: number, bytes: number, options: 0]
    ): void;
    _heif_context_get_primary_image_handle(error: number, context: number, handle: number): void;
    _heif_image_handle_has_alpha_channel(handle: number): number;
    _heif_decode_image(
      ...call: [error: number, handle: number, image: number, space: number, chroma: number, options: 0]
    ): void;
    _heif_image_get_plane_readonly(image: number, channel: number, rowBytes: number): number;
    _heif_image_get_width(image: number, channel: number): number;
    _heif_image_get_height(image: number, channel: number): number;
  }
  export default function libheif(options: { readonly wasmBinary: ArrayBuffer }): Library;
}

declare module "@jsquash/avif/codec/dec/avif_dec.js" {
  interface Library {
    decode(
      bytes: Uint8Array,
      bits: 8,
    ): { readonly width: number; readonly height: number; readonly data: Uint8ClampedArray } | null;
  }
  export default function libavif(options: {
    readonly noInitialRun: true;
    readonly wasmBinary: ArrayBuffer;
  }): Promise<Library>;
}

declare module "omggif" {
  export interface FrameInfo {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
    /** Hundredths of a second. */
    readonly delay: number;
    readonly disposal: number;
    readonly interlaced: boolean;
    readonly transparent_index: number | null;
    /** Offset of the colours, three bytes each; their number is a power of two. */
    readonly palette_offset: number | null;
    readonly palette_size: number | null;
    /** The size of its codes, then blocks of data and an empty one. */
    readonly data_offset: number;
    readonly data_length: number;
  }
  export class GifReader {
    constructor(bytes: Uint8Array);
    readonly width: number;
    readonly height: number;
    numFrames(): number;
    frameInfo(index: number): FrameInfo;
  }
  export class GifWriter {
    constructor(
      ...screen: [
        bytes: Uint8Array,
        width: number,
        height: number,
        options: { readonly palette: readonly number[]; readonly loop: number },
      ]
    );
    addFrame(
      ...frame: [
        x: number,
        y: number,
        width: number,
        height: number,
        pixels: readonly number[],
        options: { readonly delay: number },
      ]
    ): void;
    end(): number;
  }
}
