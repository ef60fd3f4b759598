// Types of decoders that have none, as far as they are used.

declare module "*.wasm" {
  /** Path of the file. */
  const path: string;
  export default path;
}

declare module "libheif-js/libheif-wasm/libheif.js" {
  interface HeifImage {
    is_primary(): boolean;
    get_width(): number;
    get_height(): number;
    display<Target>(target: Target, done: (shown: Target | null) => void): void;
  }
  interface Library {
    readonly HeifDecoder: new () => { decode(bytes: Uint8Array): HeifImage[] };
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
