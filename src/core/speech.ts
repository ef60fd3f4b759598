// Speech requests and their events, shared by the HTTP layer and the engines. Plain data that can cross a process.

import type { Caller } from "./caller.ts";
import type { ErrorData } from "./error.ts";

/** A text to speak. */
export interface SpeakRequest {
  /** Model id as the client sent it; `default` when it sent none. */
  readonly model: string;
  readonly text: string;
  /** For upstream servers: voices of this machine have no choice. */
  readonly voice?: string;
  readonly speed?: number;
  readonly instructions?: string;
}

/** Events of a request: parts in order, up to the last one, or an error, which may also come after parts. */
export type SpeechEvent =
  | {
      readonly type: "speech";
      /** Samples a second; the same for all parts. */
      readonly sampleRate: number;
      /** Samples of one channel, 16 bits each, little-endian, in base64. */
      readonly audio: string;
      readonly isLast: boolean;
    }
  | { readonly type: "error"; readonly error: ErrorData };

/**
 * Speaks a text. Parts are made at most a few ahead of the reader, and not all of them are silent. Aborting the signal ends
 * the work; the iterator then just ends.
 */
export type Speak = (
  request: SpeakRequest,
  signal: AbortSignal,
  caller: Caller,
) => AsyncIterable<SpeechEvent>;
