// What the engine needs from native code for media in prompts. Implemented in ffi/llama/llama.ts, faked in tests.

import type { DecodeOutcome, RenderedPrompt, SlotId } from "./backend.ts";

/**
 * Placeholder tokens of an image or audio clip, or of a part of it. They are computed from an encoding instead of token ids,
 * and shared between sequences as a whole or not at all.
 */
export interface MediaChunk {
  /** Index among the prompt's chunks. */
  readonly index: number;
  /** Index of its first token. */
  readonly at: number;
  readonly tokens: number;
  /** Positions that it takes; fewer than tokens in models with multi-dimensional positions. */
  readonly positions: number;
  /** Id of its tokens and key of its encoding; negative, equal for equal content. */
  readonly content: number;
  /** Its tokens attend to each other, so they must be computed in one pass. */
  readonly whole: boolean;
}

/** The embeddings of a chunk. `free` it when no pass needs it. */
export interface Encoding {
  readonly bytes: number;
  free(): void;
}

/** A chunk that is being encoded on another thread. */
export interface PendingEncoding {
  /**
   * Waits up to `waitMs` for the result; undefined while it is pending. Throws when the encoder failed; then nothing is left
   * to free.
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
  /** Starts to encode a chunk of a prompt; chunks are encoded in order. The prompt may be freed meanwhile. */
  encode(prompt: RenderedPrompt, chunk: MediaChunk): PendingEncoding;
  decodeMedia(pass: MediaPass): DecodeOutcome;
}
