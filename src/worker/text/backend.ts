// What the engine loop needs from native code. Implemented by ffi/llama/llama.ts, faked in tests.

import type { SamplingParams } from "../../core/sampling.ts";
import type { Prompt } from "../../core/run.ts";
import type { Constraint } from "../../core/constraint.ts";
import type { AdapterId } from "../../core/adapter.ts";
import type { AnswerConstraint } from "./constraint-backend.ts";
import type { MediaBackend, MediaChunk } from "./media-backend.ts";

/** llama.cpp's sequence id, 0 … slots-1. It holds the KV cells of one sequence. */
export type SlotId = number & { readonly __brand: "SlotId" };

/**
 * How KV cells may be reused. prefix: any prefix of any slot, also of a running one. own: a slot may be truncated and
 * continued, but slots share nothing. whole: a slot cannot be truncated, only continued from its end.
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
 * done: all rows are in the cache. full: the cache had no room, nothing changed. failed: some rows may be in the cache;
 * their slots must be cleared.
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

/**
 * What a text is that begins with an opener of calls. call: a call to a declared tool; `text`: in the form in which the format
 * writes it. open: not known yet.
 */
export type CallStart =
  /** `isUnnamed`: the tool's name has yet to come. */
  | { readonly type: "call"; readonly text: string; readonly isUnnamed?: true }
  | { readonly type: "open" }
  | { readonly type: "prose" };

/** Where calls begin in an answer. */
export interface CallStarts {
  /** Strings with which calls begin, if what the format requires follows; none if a grammar holds from the first token on. */
  readonly openers: readonly string[];
  /** Judges a text that begins with an opener. */
  judge(text: string): CallStart;
  /** Calls contain code fences. */
  readonly fenced: boolean;
  /** The answer must be a call: no text is content. */
  readonly required: boolean;
  /** Text, too, ends with the tag that closes reasoning. */
  readonly framed: boolean;
}

/** Text that ends reasoning, and its tokens. */
export interface ThinkingEnd {
  readonly text: string;
  readonly tokens: Int32Array;
}

/** The markup of the model's answer, as far as the template defines it. */
export interface OutputFormat {
  /** Thinking is on, by the request or the template. */
  readonly thinks: boolean;
  /** Tag that opens reasoning, "" if the format has none. */
  readonly thinkingStart: string;
  readonly thinkingStartTokens: Int32Array;
  readonly thinkingEnds: readonly string[];
  /** Ways to end reasoning before the model does, the fullest first: a sentence and a tag of `thinkingEnds`, or the tag alone. */
  readonly thinkingCloses?: readonly ThinkingEnd[];
  /** The same for reasoning that begins again after it was ended: the end with the opening of the answer, or the tag alone. */
  readonly thinkingAgain?: readonly ThinkingEnd[];
  /** Markup of an answer without reasoning, at its beginning; none where the format has no tag for the end of reasoning. */
  readonly thinkingSkip?: readonly ThinkingEnd[];
  /** Tokens of the markup between reasoning and answer. */
  readonly answerOpening?: number;
  /** Reasoning may begin again after its end. */
  readonly reopens?: boolean;
  /** Reasoning tokens after which the reasoning is ended; absent: no budget. */
  readonly thinkingBudget?: number;
  /** The template opens the reasoning itself: the answer's first token is part of it. */
  readonly startsInReasoning: boolean;
  /** Strings that begin a tool call; empty when no tools were offered or the format has no fixed one. */
  readonly toolMarkers: readonly string[];
  /** Tokens of the first tool marker. */
  readonly toolMarkerTokens: Int32Array;
  /** undefined: nothing in the answer is markup. */
  readonly calls?: CallStarts | undefined;
  /** Stop strings of the format itself. */
  readonly stops: readonly string[];
  /** Control tokens that the parser must see because they are part of the markup. */
  readonly visibleTokens: ReadonlySet<number>;
  /** Strings at which the parser must run again; text between them is passed on without parsing. */
  readonly markup: readonly string[];
}

/** A prompt that is being rendered and tokenized on another thread. */
export interface PendingPrompt {
  /** Too long for later prompts to wait for it. */
  readonly long: boolean;
  /**
   * Waits up to `waitMs` for the result; undefined while it is pending. Throws ServiceError(invalid_request) when the
   * template rejects the conversation; then nothing is left to free.
   */
  take(waitMs: number): RenderedPrompt | undefined;
  /** Drops the work. Not to be called after `take` returned or threw. */
  free(): void;
}

/** The constraint of an answer with tool calls, and where it starts: at the first token, or where the first call begins. */
export interface AnswerPlan {
  readonly from: "start" | "call";
  readonly constraint: AnswerConstraint;
  /** The grammar is known to compile and to enforce all of its schemas. */
  readonly certain: boolean;
}

/** A rendered prompt. `free` it when the run has ended. */
export interface RenderedPrompt {
  readonly tokens: Int32Array; // [prompt] below 0 where media stand
  /** Its media chunks, in order. */
  readonly media: readonly MediaChunk[];
  readonly format: OutputFormat;
  /** The answer has no markup: the prompt is text to continue, not a conversation. */
  readonly plain: boolean;
  /**
   * The grammar of the answer's tool calls; undefined for a prompt without tools. `content`: the schema of an answer
   * without calls. Throws ServiceError for a strict tool whose schema the format cannot express.
   */
  plan(content?: JsonSchemaConstraint): AnswerPlan | undefined;
  /** Parses all the model wrote so far. undefined: the text has left the format and cannot return to it. */
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

/** What the drafts of a pass are limited to, together. */
export interface LevelLimits {
  /** Rows of the drafts and of the tokens before them. */
  readonly rows: number;
  readonly sequences: number;
}

/** A draft model. It computes every pass of the main model, so that it can draft. */
export interface DraftModel {
  /** Maximum tokens of one draft. */
  readonly max: number;
  /** The drafts of a pass must have one length, come last and keep these limits; absent: they may be of any lengths. */
  readonly level?: LevelLimits | undefined;
  /** Drafts for sequences, each sequence at most once; a draft may be empty. */
  draft(requests: readonly DraftRequest[]): readonly Int32Array[];
  /** Reports how many tokens of a slot's draft were accepted, after they were computed. */
  accept(slot: SlotId, accepted: number): void;
  /** Whether it follows the main model's passes (it does at first). After a pause it starts over, with less context. */
  follow(on: boolean): void;
  /** Milliseconds that following has taken since the last call. */
  takeMs(): number;
}

/** Saved states, for memory that cannot be truncated (`reuse` is "whole"). */
export interface StateBackend {
  /** What a state depends on besides tokens and positions. Reads files. */
  identity(adapter: AdapterId): string;
  /** A state holds the whole sequence; otherwise the KV cells before it are needed, too. */
  readonly alone: boolean;
  /** States are on a device, which computes some prompts as fast as a state can be copied. */
  readonly isOnDevice?: boolean;
  /** Copies the state at the end of a slot; undefined on failure. */
  save(slot: SlotId): Uint8Array | undefined;
  /**
   * Restores a state into a slot that has the cells up to the position of the state, its own or shared ones; cells after it
   * are dropped. False: the slot must be cleared.
   */
  restore(slot: SlotId, state: Uint8Array, position: number): boolean;
  /** Whether a token is markup between messages. */
  isMarkup(token: number): boolean;
}

/** Copies of KV cells, for caches that share any prefix of them: alone (`reuse` is "prefix") or before a state. */
export interface CellBackend {
  /** What the content of a cell depends on besides tokens and positions. Reads files. */
  identity(adapter: AdapterId): string;
  /** Copies the cells of positions [from, to) of a slot; undefined on failure. */
  save(slot: SlotId, from: number, to: number): Uint8Array | undefined;
  /** Appends copied cells of positions [from, to) to a slot that ends at `from`. False: the slot still ends there. */
  restore(slot: SlotId, cells: Uint8Array, from: number, to: number): boolean;
}

export interface Backend extends MediaBackend {
  /** Maximum tokens of one forward pass. */
  readonly batch: number;
  /** Tokens of one micro-batch. */
  readonly ubatch: number;
  /** Maximum running sequences. */
  readonly maxSeqs: number;
  /** Sequence slots: of running sequences and of prefixes kept for reuse. */
  readonly slots: number;
  readonly cells: number;
  readonly reuse: ReuseMode;
  /** Lets sequences share states that cannot be truncated. */
  readonly states?: StateBackend | undefined;
  /** Copies cells to and from memory outside the cache. */
  readonly cellCopies?: CellBackend | undefined;
  readonly contextTokens: number;
  /** Number of token ids. */
  readonly vocabulary: number;
  /** A row's result does not depend on other rows, on cells or on threads; absent: it may. */
  readonly isInvariant?: boolean | undefined;
  /** A device computes: `decode` may return before it has, and `sample` waits. */
  readonly goesOn?: boolean | undefined;
  /** With a draft model, the cache can always drop rejected draft tokens, whatever `reuse` is. */
  readonly draftModel?: DraftModel | undefined;
  /** Starts to render and tokenize. Prompts are rendered in order; very long ones and those with media have queues of their own. */
  render(prompt: Prompt): PendingPrompt;
  /** Model, adapter, kernels and library: what logits depend on besides tokens. Reads files. */
  identity(adapter: AdapterId): string;
  /** Selects the adapter of all later passes. */
  selectAdapter(adapter: AdapterId): void;
  decode(columns: BatchColumns, n: number): DecodeOutcome;
  /**
   * Samples a token for each of the first n rows; -1 where a row has no usable logits. `masks` holds the address of each
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
   * Decodes and samples up to `steps` times. The columns have one row of each sequence; the token sampled from it, without
   * a mask, is its row of the next step. Stops after a step in which an answer ends or a row has no usable logits. `tokens`
   * [steps][n] receives the tokens. Returns the steps done (≥ 1), or the outcome of a first step that was not computed.
   */
  decodeSteps(
    columns: BatchColumns,
    n: number,
    samplers: BigUint64Array,
    steps: number,
    tokens: Int32Array,
  ): number | Exclude<DecodeOutcome, "done">;
  /** Log probability of a token at a row of the last decode, and of the `top` most likely tokens, best first. */
  logprobs(row: number, token: number, top: number): RowLogprobs;
  /** Truncates a slot to its positions before `from`. False: this memory cannot be truncated there, nothing changed. */
  cutSlot(slot: SlotId, from: number): boolean;
  /** Makes the empty slot `target` share the first `length` positions of `source`. */
  shareSlot(source: SlotId, target: SlotId, length: number): void;
  /** A sampler for one choice. Repetition penalties count `prompt` and the answer. */
  newSampler(params: SamplingParams, prompt: Int32Array, seed: number, choice: number): SamplerHandle;
  freeSampler(sampler: SamplerHandle): void;
  /** Counts tokens of the answer that the sampler did not draw. */
  acceptForced(sampler: SamplerHandle, tokens: Int32Array): void;
  /** Bytes of a token; with `visible`, of control tokens too. The array must not be changed. */
  tokenBytes(token: number, visible: boolean): Uint8Array;
  /** Texts of the control tokens; read when first asked for. */
  controlTexts?(): ReadonlyMap<number, string>;
  /** Whether a token ends the answer. */
  endsGeneration(token: number): boolean;
}
