// What the drawing of pictures needs of a library. Implemented by ffi/image.ts, and by a fake in tests.

import type { MediaInfo } from "../../engine/protocol.ts";

/** One picture to draw. */
export interface Picture {
  readonly prompt: string;
  /** Pixels; the library may draw a larger one. */
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  /** How strongly the text counts; 1 saves the pass without it. */
  readonly guidance: number;
  /** Same seed, same picture. */
  readonly seed: number;
}

/** Pixels of a picture, row by row, red, green and blue a byte each. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** A picture on a thread of its own. */
export interface Drawing {
  readonly state: "drawing" | "drawn" | "cancelled" | "failed";
  /** Done so far. */
  readonly steps: number;
  /** Ends it soon, in the middle of a step. */
  cancel(): void;
  /** The picture, once it is drawn. */
  pixels(): Pixels;
  /** Why it failed; for the operator. */
  readonly failure: string;
  /** Frees everything of it; waits for the thread. */
  free(): void;
}

export interface ImageBackend {
  readonly info: MediaInfo;
  /** The library's name for the kind of model, such as `Flux`. */
  readonly family: string;
  /** Starts to draw; one picture at a time. Throws what the library says. */
  draw(picture: Picture): Drawing;
  /** The library has given up within a drawing: nothing more can be drawn in this process. */
  readonly isBroken: boolean;
}
