// What the embedder needs from native code. Implemented by ffi/llama-embed.ts.

import type { BatchColumns, PendingPrompt, SlotId } from "./backend.ts";

/** How token vectors become one. */
export type Pooling = "mean" | "cls" | "last";

/** An embedding context. Every row is output and has an embedding. */
export interface EmbedBackend {
  /** Tokens of one compute batch. */
  readonly batch: number;
  /** Longest input. */
  readonly contextTokens: number;
  /** Inputs in one batch. */
  readonly slots: number;
  readonly dimensions: number;
  readonly pooling: Pooling;
  /** Tokens see only what is before them, so that an input may be computed in pieces. */
  readonly causal: boolean;
  tokenize(input: string | readonly number[]): PendingPrompt;
  /** False when computing failed. */
  decode(columns: BatchColumns, n: number): boolean;
  /** Adds the embeddings of rows to sum[dimensions]. */
  addRows(rows: Int32Array, sum: Float32Array): void;
  clearSlot(slot: SlotId): void;
}
