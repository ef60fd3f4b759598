// Interface of an image library. Implemented by ffi/image/image.ts, faked in tests.

import type { MediaInfo } from "../../engine/protocol.ts";

/** One image to generate. */
export interface ImageSpec {
  readonly prompt: string;
  /** Pixels; the library may generate a larger image. */
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  /** Weight of the prompt (CFG scale); 1 saves the unconditional pass. */
  readonly guidance: number;
  /** Equal seeds give equal images. */
  readonly seed: number;
}

/** Pixels of an image, row by row: red, green and blue, a byte each. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** An image that is generated on its own thread. */
export interface ImageGeneration {
  readonly state: "running" | "done" | "cancelled" | "failed";
  /** Steps completed. */
  readonly steps: number;
  /** Cancels it soon, also within a step. */
  cancel(): void;
  /** The image of a generation that is done. */
  pixels(): Pixels;
  /** Why it failed, for the operator. */
  readonly failure: string;
  /** Waits for the thread and frees everything. */
  free(): void;
}

export interface ImageBackend {
  readonly info: MediaInfo;
  /** The library's name for the kind of model, such as `Flux`. */
  readonly family: string;
  /**
   * Whether such an image is decoded in tiles, for lack of memory. Throws ServiceError with a size that fits where there is no memory for it
   * at all. Computes nothing; the backend does no other work meanwhile.
   */
  decodesInTiles(spec: ImageSpec): Promise<boolean>;
  /** Starts to generate an image; one at a time. Throws the library's error. */
  generate(spec: ImageSpec, inTiles: boolean): ImageGeneration;
  /** The library failed fatally within a generation: this process cannot generate any more. */
  readonly isBroken: boolean;
}
