// What the engine needs from native code for pictures and recordings in prompts. Implemented in ffi/llama.ts, faked in tests.

import type { DecodeOutcome, RenderedPrompt, SlotId } from "./backend.ts";

/**
 * A run of a prompt's tokens that stands for a picture or recording, or a part of one. It is computed from an encoding
 * instead of token ids, and shared between sequences wholly or not at all.
 */
export interface MediaChunk {
  /** Which of the prompt's chunks it is. */
  readonly index: number;
  /** The first of its tokens. */
  readonly at: number;
  readonly tokens: number;
  /** Positions it takes: fewer than tokens in models whose positions have several dimensions. */
  readonly positions: number;
  /** The id of its tokens, below 0, and what its encoding goes by: equal for equal content. */
  readonly content: number;
  /** Its tokens see each other, so they must be computed in one pass. */
  readonly whole: boolean;
}

/** What a chunk was encoded to. `free` it when no pass needs it. */
export interface Encoding {
  readonly bytes: number;
  free(): void;
}

/** A chunk that is being encoded beside the engine's own thread. */
export interface PendingEncoding {
  /**
   * Waits up to `waitMs` for the result; undefined while it is not there. Throws when the encoder failed, in which case
   * nothing is left to free.
   */
  take(waitMs: number): Encoding | undefined;
  /** Drops the work. Not to be called after `take` returned or threw. */
  free(): void;
}

/** Tokens [from, from + count) of a chunk, computed for one sequence. */
export interface MediaPass {
  readonly prompt: RenderedPrompt;
  readonly chunk: MediaChunk;
  readonly encoding: Encoding;
  readonly from: number;
  readonly count: number;
  /** Of the chunk's first token. */
  readonly position: number;
  readonly slot: SlotId;
}

export interface MediaBackend {
  /** Begins to encode a chunk of a prompt, one after the other. The prompt may be freed meanwhile. */
  encode(prompt: RenderedPrompt, chunk: MediaChunk): PendingEncoding;
  decodeMedia(pass: MediaPass): DecodeOutcome;
}
