// What the engine loop needs from native code. Implemented by ffi/llama.ts, faked in tests.

import type { SamplingParams } from "../../core/sampling.ts";
import type { Prompt } from "../../core/run.ts";
import type { Constraint } from "../../core/constraint.ts";
import type { AdapterId } from "../../core/adapter.ts";
import type { AnswerConstraint } from "./constraint-backend.ts";
import type { MediaBackend, MediaChunk } from "./media-backend.ts";

/** Native sequence id: a share of the KV cache that holds one sequence's cells. 0 … slots-1. */
export type SlotId = number & { readonly __brand: "SlotId" };

/**
 * How KV cells may be reused. prefix: any beginning of any slot, also of one in use. own: a slot may be cut and go on,
 * but nothing can be shared between slots. whole: a slot's memory can't be cut; it can only go on from its end.
 */
export type ReuseMode = "prefix" | "own" | "whole";

/** Opaque native sampler. */
export type SamplerHandle = bigint & { readonly __brand: "SamplerHandle" };

/** The rows of one forward pass as columns, allocated once; only the first `n` entries of each count. */
export interface BatchColumns {
  readonly token: Int32Array; // [batch] token ids
  readonly position: Int32Array; // [batch] position within the sequence
  readonly slot: Int32Array; // [batch] SlotId
  readonly output: Int8Array; // [batch] 1 where logits are wanted
}

/**
 * done: every row is in the cache. full: the cache had no room, nothing changed. failed: rows may be partly in the
 * cache; their slots must be cleared.
 */
export type DecodeOutcome = "done" | "full" | "failed";

/** Natural logarithms of probabilities under the model's own distribution. */
export interface RowLogprobs {
  readonly logprob: number;
  readonly top: readonly { readonly token: number; readonly logprob: number }[];
}

export type JsonSchemaConstraint = Extract<Constraint, { type: "json_schema" }>;

/** A message as the output parser sees it so far. */
export interface ParsedMessage {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}

/** How the model marks up its answer, as far as the template tells. */
export interface OutputFormat {
  /** Thinking is on, as the request or the template has it. */
  readonly thinks: boolean;
  /** Tag that opens reasoning, "" if the format has none. */
  readonly thinkingStart: string;
  readonly thinkingStartTokens: Int32Array;
  readonly thinkingEnds: readonly string[];
  /** The template has opened the reasoning itself: the answer's first token is part of it. */
  readonly startsInReasoning: boolean;
  /** Strings that begin a tool call; empty when no tools were offered or the format has no fixed one. */
  readonly toolMarkers: readonly string[];
  /** Tokens of the first tool marker. */
  readonly toolMarkerTokens: Int32Array;
  /** Stop strings of the format itself. */
  readonly stops: readonly string[];
  /** Control tokens that are part of the markup and must stay visible to the parser. */
  readonly visibleTokens: ReadonlySet<number>;
  /** Every string at which the parser has to look again; between them text is passed straight on. */
  readonly markup: readonly string[];
}

/** A prompt that is being rendered and tokenized beside the engine's own thread. */
export interface PendingPrompt {
  /** So long that those who come later do not wait for it. */
  readonly long: boolean;
  /**
   * Waits up to `waitMs` for the result; undefined while it is not there. Throws ServiceError(invalid_request) when
   * the template rejects the conversation, in which case nothing is left to free.
   */
  take(waitMs: number): RenderedPrompt | undefined;
  /** Drops the work. Not to be called after `take` returned or threw. */
  free(): void;
}

/**
 * What an answer with tool calls is held to, and from where on: its first token; a tool marker; or the first name of a tool, in
 * a format in which calls are bare JSON.
 */
export interface AnswerPlan {
  readonly from: "start" | "marker" | "name";
  readonly constraint: AnswerConstraint;
}

/** A rendered prompt. `free` it when the run has ended. */
export interface RenderedPrompt {
  readonly tokens: Int32Array; // [prompt] below 0 where media stand
  /** The pictures and recordings in it, in order. */
  readonly media: readonly MediaChunk[];
  readonly format: OutputFormat;
  /** The answer has no markup at all: not a conversation, only text to continue. */
  readonly plain: boolean;
  /**
   * The grammar of the answer's tool calls; undefined where none can be made. `content`: the schema that an answer without
   * calls has to follow. Throws ServiceError for a strict tool whose schema the format cannot express.
   */
  plan(content?: JsonSchemaConstraint): AnswerPlan | undefined;
  /** Parses everything the model wrote so far. undefined: it has left the format, whatever may still come. */
  parse(text: string): ParsedMessage | undefined;
  free(): void;
}

/** A sequence that wants a draft. */
export interface DraftRequest {
  readonly slot: SlotId;
  /** Its last token, which is not computed yet, and that token's position. */
  readonly token: number;
  readonly position: number;
  /** Samples what follows. */
  readonly sampler: SamplerHandle;
  /** Maximum draft tokens, ≥ 1. */
  readonly max: number;
}

/** A draft model. It computes every pass of the main model, so that it can draft. */
export interface DraftModel {
  /** Maximum tokens of one draft. */
  readonly max: number;
  /** Drafts for sequences, each sequence at most once; a draft may be empty. */
  draft(requests: readonly DraftRequest[]): readonly Int32Array[];
  /** Reports how many tokens of a slot's draft were accepted, after they were computed. */
  accept(slot: SlotId, accepted: number): void;
  /** Whether it follows the main model's passes (it does at first). After a pause it starts over, with less context. */
  follow(on: boolean): void;
}

/** States of memory that cannot be cut, where `reuse` is "whole". */
export interface StateBackend {
  /** A state is all there is of a sequence; else the cells before it are needed, too. */
  readonly alone: boolean;
  /** Copies the state at the end of a slot; undefined when that fails. */
  save(slot: SlotId): Uint8Array | undefined;
  /**
   * Gives a slot a state that was saved at a position up to which it has the cells, be they its own or shared; what it has
   * beyond is dropped. False: the slot must be cleared.
   */
  restore(slot: SlotId, state: Uint8Array, position: number): boolean;
  /** Whether a token is markup, as stands between messages. */
  isMarkup(token: number): boolean;
}

export interface Backend extends MediaBackend {
  /** Tokens of one forward pass at most. */
  readonly batch: number;
  /** Tokens of one compute batch: a pass is cut into pieces of this size. */
  readonly ubatch: number;
  /** Sequences that may run at once. */
  readonly maxSeqs: number;
  /** Native sequences: those that run and those kept for reuse. */
  readonly slots: number;
  readonly cells: number;
  readonly reuse: ReuseMode;
  /** Lets sequences share what cannot be cut. */
  readonly states?: StateBackend | undefined;
  readonly contextTokens: number;
  /** Number of token ids. */
  readonly vocabulary: number;
  /** Drafts next tokens; where there is one, the cache lets its guesses be cut off again, whatever `reuse` is. */
  readonly draftModel?: DraftModel | undefined;
  /** Begins to render and tokenize; prompts are done one after the other, very long ones and those with media apart. */
  render(prompt: Prompt): PendingPrompt;
  /** Sends the rows of all later passes through an adapter. */
  selectAdapter(adapter: AdapterId): void;
  decode(columns: BatchColumns, n: number): DecodeOutcome;
  /**
   * Draws a token for each of the first n rows; -1 where a row has no usable logits. `masks` holds the address of each
   * row's bitset of allowed tokens, or 0.
   */
  sample(
    n: number,
    rows: Int32Array,
    samplers: BigUint64Array,
    masks: BigUint64Array,
    tokens: Int32Array,
  ): void;
  /**
   * Decodes and samples up to `steps` times: the columns have one row of each sequence, and what is drawn from it, without a
   * mask, is its row of the next step. Stops after a step in which an answer ends or a row has no usable logits. `tokens`
   * [steps][n] receives what is drawn. Returns the steps done, one at least, or the outcome of a first one that was not.
   */
  decodeSteps(
    columns: BatchColumns,
    n: number,
    samplers: BigUint64Array,
    steps: number,
    tokens: Int32Array,
  ): number | Exclude<DecodeOutcome, "done">;
  /** Log probability of a token at a row of the last decode, and the `top` most likely ones, best first. */
  logprobs(row: number, token: number, top: number): RowLogprobs;
  /** Forgets a slot's positions from `from` on. False: this memory can't be cut there, nothing has changed. */
  cutSlot(slot: SlotId, from: number): boolean;
  /** Lets the empty slot `target` share the first `length` positions of `source`. */
  shareSlot(source: SlotId, target: SlotId, length: number): void;
  /** A sampler for one choice. `prompt` is what repetition is counted over besides the answer. */
  newSampler(params: SamplingParams, prompt: Int32Array, seed: number, choice: number): SamplerHandle;
  freeSampler(sampler: SamplerHandle): void;
  /** Bytes of a token; with `visible`, control tokens too. The array must not be changed. */
  tokenBytes(token: number, visible: boolean): Uint8Array;
  /** True for tokens that end the answer. */
  endsGeneration(token: number): boolean;
}
