// The context of a loaded model for embeddings or rerank scores, separate from the one that generates because it needs no
// logits.

import { bertText, type WordPieces } from "./bert-text.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { BatchColumns, PendingPrompt, SlotId } from "../../src/worker/text/backend.ts";
import type { EmbedBackend, EmbedInput, Pooling } from "../../src/worker/text/embed-backend.ts";
import type { Native } from "../library.ts";
import { requireInvariantVectors } from "./invariance.ts";
import type { LlamaTemplates } from "./chat.ts";
import { type Handle, nativeText } from "../text.ts";

/** Longest input that memory is reserved for, tokens. */
const CONTEXT_MAX = 8192;
/**
 * Micro-batch of a causal model, tokens. Small, because llama.cpp computes and keeps an unused row of logits for each.
 */
const CAUSAL_BATCH = 64;
/** Micro-batch of a non-causal model: its longest input. */
const WHOLE_BATCH_MAX = 2048;
const SLOTS = 16;

/** llama.h: enum llama_pooling_type; mean by default. */
const POOLINGS: Readonly<Record<number, Pooling>> = {
  [-1]: "mean",
  0: "mean",
  1: "mean",
  2: "cls",
  3: "last",
};
const RANK_POOLING = 4;

/** Architectures whose head reads the last token of a pair and gives probabilities (llama-graph.cpp). Others read the first. */
const RANKS_LAST: ReadonlySet<string> = new Set(["qwen3", "qwen3vl"]);

/** Facts of the model. */
export interface EmbedModel {
  readonly architecture: string;
  readonly n_embd: number;
  readonly n_ctx_train: number;
  readonly n_vocab: number;
  readonly pooling: number;
  /** Attention is causal, and a pass continues where the last one ended. */
  readonly causal: boolean;
  readonly has_encoder: boolean;
  readonly has_decoder: boolean;
  /** The file has a chat template. */
  readonly has_chat_template: boolean;
}

export interface EmbedOptions {
  readonly threads: number;
  /** Whether the server promises the same bits in every batch. */
  readonly isInvariant: boolean;
  /** The vocabulary, where texts are tokenized here; undefined: llama.cpp's tokenizer does it right. */
  readonly pieces: WordPieces | undefined;
}

/** The pooling of the model; undefined if it gives no embeddings. */
function poolingOf({ pooling, has_encoder, has_decoder }: EmbedModel): Pooling | undefined {
  return has_encoder && has_decoder ? undefined : POOLINGS[pooling];
}

/** Whether the model gives embeddings. */
export function canEmbed(model: EmbedModel): boolean {
  return poolingOf(model) !== undefined;
}

/** Whether the model is a reranker. */
export function canRank({ pooling, has_encoder, has_decoder }: EmbedModel): boolean {
  return pooling === RANK_POOLING && !(has_encoder && has_decoder);
}

export class LlamaEmbedder implements EmbedBackend {
  readonly batch: number;
  readonly contextTokens: number;
  readonly slots = SLOTS;
  readonly dimensions: number;
  readonly pooling: Pooling;
  readonly ranks: boolean;
  readonly causal: boolean;
  private readonly scoresAreChances: boolean;
  private readonly scoreColumn = new Float32Array(1);
  private readonly native: Native;
  readonly context: Handle;
  private readonly templates: LlamaTemplates;
  private readonly pieces: WordPieces | undefined;

  /** Throws ServiceError when the model gives neither embeddings nor scores, or not the same in every batch, or memory is short. */
  constructor(
    native: Native,
    model: Handle,
    templates: LlamaTemplates,
    info: EmbedModel,
    { threads, isInvariant, pieces }: EmbedOptions,
  ) {
    this.ranks = canRank(info);
    this.scoresAreChances = RANKS_LAST.has(info.architecture);
    const pooling = this.ranks ? (this.scoresAreChances ? "last" : "cls") : poolingOf(info);
    if (pooling === undefined) throw noEmbeddings();
    this.causal = info.causal;
    this.contextTokens = Math.min(info.n_ctx_train, info.causal ? CONTEXT_MAX : WHOLE_BATCH_MAX);
    this.batch = info.causal ? CAUSAL_BATCH : this.contextTokens;
    const cells = Math.max(this.contextTokens + this.batch, 512);
    const f16 = 1;
    const params = Int32Array.of(
      cells,
      this.batch,
      this.batch,
      SLOTS,
      threads,
      threads,
      f16,
      f16,
      1,
      this.ranks ? RANK_POOLING : 0,
      1,
      -1,
      1,
      0,
    );
    const context = native.svc_context_new(model, params, params.length);
    if (context === null) throw new ServiceError("model_unavailable", nativeText(native.svc_last_error()));
    if (isInvariant) requireInvariantVectors(native, context);
    this.native = native;
    this.context = context;
    this.templates = templates;
    this.pieces = pieces;
    this.dimensions = this.ranks ? 1 : info.n_embd;
    this.pooling = pooling;
  }

  tokenize(input: EmbedInput): PendingPrompt {
    const { pieces } = this;
    if (typeof input === "string" && pieces === undefined)
      return this.templates.render({ type: "literal", text: input });
    const tokens = typeof input === "string" ? pieces?.encode(input) : input;
    if (tokens === undefined || !("query" in tokens))
      return this.templates.render({ type: "tokens", tokens: tokens ?? [] });
    const { truncate, query, document, ...pair } = tokens;
    const plain = (text: string): string => (pieces === undefined ? text : bertText(text));
    return this.templates.render({
      type: "pair",
      ...pair,
      query: plain(query),
      document: plain(document),
      ...(truncate ? { roomTokens: this.contextTokens } : {}),
    });
  }

  decode({ token, position, slot, output }: BatchColumns, n: number): boolean {
    return this.native.svc_decode(this.context, n, token, position, slot, output) === 0;
  }

  addRows(rows: Int32Array, sum: Float32Array): void {
    if (this.native.svc_embeddings_add(this.context, rows.length, rows, sum) === 0) return;
    throw noEmbeddings();
  }

  score(slot: SlotId): number {
    if (this.native.svc_sequence_score(this.context, slot, this.scoreColumn) !== 0) throw noScores();
    const [score = 0] = this.scoreColumn;
    return this.scoresAreChances ? score : 1 / (1 + Math.exp(-score));
  }

  clearSlot(slot: SlotId): void {
    this.native.svc_sequence_remove(this.context, slot, 0, -1);
  }

  /** Frees the context. */
  close(): void {
    this.native.svc_context_free(this.context);
  }
}

function noScores(): ServiceError {
  return new ServiceError("unsupported_capability", "this model gives no scores", { param: "model" });
}

function noEmbeddings(): ServiceError {
  return new ServiceError(
    "unsupported_capability",
    "this model gives no embeddings; name an embedding model",
    { param: "model" },
  );
}
