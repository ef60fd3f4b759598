// The context of a loaded model for embeddings or for scores of documents: separate from the one that generates, because it has no use for logits.

import { ServiceError } from "../src/core/error.ts";
import type { BatchColumns, PendingPrompt, SlotId } from "../src/worker/text/backend.ts";
import type { EmbedBackend, EmbedInput, Pooling } from "../src/worker/text/embed-backend.ts";
import type { Native } from "./library.ts";
import type { LlamaTemplates } from "./llama-chat.ts";
import { type Handle, nativeText } from "./text.ts";

/** Longest input for which memory is set aside, tokens. */
const CONTEXT_MAX = 8192;
/**
 * Compute batch of a causal model, tokens. Small, because llama.cpp computes and keeps a row of logits for each of them,
 * which nobody reads.
 */
const CAUSAL_BATCH = 64;
/** Compute batch of a model that sees its whole input at once: the longest input it takes. */
const WHOLE_BATCH_MAX = 2048;
const SLOTS = 16;

/** llama.h: enum llama_pooling_type; what a model says nothing about is averaged. */
const POOLINGS: Readonly<Record<number, Pooling>> = {
  [-1]: "mean",
  0: "mean",
  1: "mean",
  2: "cls",
  3: "last",
};
const RANK_POOLING = 4;

/** Families whose head reads the last token of a pair, and gives probabilities (llama-graph.cpp). Others read the first one. */
const RANKS_LAST: ReadonlySet<string> = new Set(["qwen3", "qwen3vl"]);

/** What must be known of the model. */
export interface EmbedModel {
  readonly architecture: string;
  readonly n_embd: number;
  readonly n_ctx_train: number;
  readonly n_vocab: number;
  readonly pooling: number;
  /** A token sees those before it only, and a pass goes on where the last one ended. */
  readonly causal: boolean;
  readonly has_encoder: boolean;
  readonly has_decoder: boolean;
}

/** How the model's token vectors become one; undefined if it gives none: it ranks texts, or translates them. */
function poolingOf({ pooling, has_encoder, has_decoder }: EmbedModel): Pooling | undefined {
  return has_encoder && has_decoder ? undefined : POOLINGS[pooling];
}

/** Whether the model gives embeddings. */
export function canEmbed(model: EmbedModel): boolean {
  return poolingOf(model) !== undefined;
}

/** Whether the model scores documents. */
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

  /** Throws ServiceError when the model gives neither embeddings nor scores, or memory is short. */
  constructor(native: Native, model: Handle, templates: LlamaTemplates, info: EmbedModel, threads: number) {
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
    this.native = native;
    this.context = context;
    this.templates = templates;
    this.dimensions = this.ranks ? 1 : info.n_embd;
    this.pooling = pooling;
  }

  tokenize(input: EmbedInput): PendingPrompt {
    if (typeof input === "string") return this.templates.render({ type: "text", text: input });
    if (!("query" in input)) return this.templates.render({ type: "tokens", tokens: input });
    const { truncate, ...pair } = input;
    return this.templates.render({
      type: "pair",
      ...pair,
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
  return new ServiceError("unsupported_capability", "This model gives no scores.", { param: "model" });
}

function noEmbeddings(): ServiceError {
  return new ServiceError("unsupported_capability", "This model gives no embeddings.", { param: "model" });
}
