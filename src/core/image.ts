// Pictures drawn from texts: what is asked of an image model and what comes of it, whatever the wire looks like.

import type { ErrorData } from "./error.ts";

/** Pictures to draw from one text. */
export interface ImageRequest {
  /** Model id as the client sent it; `default` when it sent none. */
  readonly model: string;
  readonly prompt: string;
  readonly count: number;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** Of the first picture; each further one has the next. Absent: another one every time. */
  readonly seed?: number;
}

/**
 * What is told about a request. `finish` or `error` is the last. Pictures come one by one, in their order; an error after
 * some of them means that the others will not come.
 */
export type ImageEvent =
  /** Steps done of the picture with this number, from 0. */
  | { readonly type: "step"; readonly image: number; readonly step: number; readonly steps: number }
  | {
      readonly type: "image";
      readonly image: number;
      /** A PNG file in base64. */
      readonly png: string;
      readonly steps: number;
      /** Wall-clock time of drawing it, without waiting. */
      readonly seconds: number;
    }
  | { readonly type: "finish" }
  | { readonly type: "error"; readonly error: ErrorData };

/** Draws. Aborting the signal ends the work; the iterator then just ends. */
export type Draw = (request: ImageRequest, signal: AbortSignal) => AsyncIterable<ImageEvent>;

/** Files of pictures that the server hands out, for a while. */
export interface ImageStore {
  /** Writes a PNG file; its name and where it lies. */
  save(png: Uint8Array): Promise<{ readonly name: string; readonly path: string }>;
  /** A file by its name; undefined when there is none (any more). */
  find(name: string): Blob | undefined;
}
