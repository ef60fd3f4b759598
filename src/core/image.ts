// Image generation: request and events, independent of the wire format.

import type { Caller } from "./caller.ts";
import type { ErrorData } from "./error.ts";

/** Images to generate from one prompt. */
export interface ImageRequest {
  /** Model id as the client sent it; `default` when it sent none. */
  readonly model: string;
  readonly prompt: string;
  readonly count: number;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** Seed of the first image; each further one has the next. Absent: random. */
  readonly seed?: number;
}

/**
 * Events of a request. `finish` or `error` is the last. Images arrive one by one, in order; an error after
 * some of them means that the others will not come.
 */
export type ImageEvent =
  /** Completed steps of the image with this index, from 0. */
  | { readonly type: "step"; readonly image: number; readonly step: number; readonly steps: number }
  | {
      readonly type: "image";
      readonly image: number;
      /** A PNG file in base64. */
      readonly png: string;
      readonly steps: number;
      /** Wall-clock time of its generation, without the queue. */
      readonly seconds: number;
    }
  | { readonly type: "finish" }
  | { readonly type: "error"; readonly error: ErrorData };

/** Draws. Aborting the signal ends the work; the iterator then just ends. */
export type Draw = (request: ImageRequest, signal: AbortSignal, caller: Caller) => AsyncIterable<ImageEvent>;

/** Image files that the server keeps for a limited time. */
export interface ImageStore {
  /** Writes a PNG file; its name and where it lies. */
  save(png: Uint8Array, caller: Caller): Promise<{ readonly name: string; readonly path: string }>;
  /** A file by its name; undefined when it is unknown or expired. */
  find(name: string): Blob | undefined;
}
