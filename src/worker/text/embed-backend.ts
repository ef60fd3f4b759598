// What the embedder needs from native code. Implemented by ffi/llama-embed.ts.

import type { BatchColumns, PendingPrompt, SlotId } from "./backend.ts";

/** A text, token ids, or a document with the query that it is scored against. */
export type EmbedInput = string | readonly number[] | QueryDocument;

export interface QueryDocument {
  readonly query: string;
  readonly document: string;
  /** Tokens of the document that are read; absent: all. */
  readonly documentTokens?: number;
  /** Drop the document's end where the pair exceeds the context. */
  readonly truncate: boolean;
}

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
  /** The result is a score instead of a vector, from the head of a ranking model over the pooled token. Dimensions: 1. */
  readonly ranks: boolean;
  /** Tokens see only what is before them, so that an input may be computed in pieces. */
  readonly causal: boolean;
  tokenize(input: EmbedInput): PendingPrompt;
  /** False when computing failed. */
  decode(columns: BatchColumns, n: number): boolean;
  /** Adds the embeddings of rows to sum[dimensions]. */
  addRows(rows: Int32Array, sum: Float32Array): void;
  /** Relevance 0 … 1 of the sequence in a slot, as of the last decode that had tokens of it. Only where `ranks`. */
  score(slot: SlotId): number;
  clearSlot(slot: SlotId): void;
}
