// What the embedder needs from native code. Implemented by ffi/llama/embed.ts.

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

/** How token embeddings are pooled. */
export type Pooling = "mean" | "cls" | "last";

/** An embedding context. Every row has an embedding. */
export interface EmbedBackend {
  /** Tokens of one micro-batch. */
  readonly batch: number;
  /** Longest input. */
  readonly contextTokens: number;
  /** Inputs in one batch. */
  readonly slots: number;
  readonly dimensions: number;
  readonly pooling: Pooling;
  /** The result is a score from the head of a reranker over the pooled token, not a vector. Dimensions: 1. */
  readonly ranks: boolean;
  /** Attention is causal, so an input may be computed in pieces. */
  readonly causal: boolean;
  tokenize(input: EmbedInput): PendingPrompt;
  /** False: the computation failed. */
  decode(columns: BatchColumns, n: number): boolean;
  /** Adds the embeddings of rows to `sum` [dimensions]. */
  addRows(rows: Int32Array, sum: Float32Array): void;
  /** Relevance 0 … 1 of a slot's sequence after its last decode. Only where `ranks`. */
  score(slot: SlotId): number;
  clearSlot(slot: SlotId): void;
}
