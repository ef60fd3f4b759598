// The narrow waist: RunRequest in, RunEvents out. Read this file first.
//
// Dialects translate their bodies into a RunRequest and fold or stream the RunEvents that come back. The engine
// knows no dialect and no dialect knows the engine. Everything here is plain data that can cross a process.
//
// Order of events of one run:
//   accepted (text | reasoning | tool_call_*)* choice_end{n} finish      success; choices interleave
//   accepted? … error                                                    failure
// Where the request asks for progress: load_progress before `accepted`, prompt_progress between it and the first text.
// Exactly one terminal event (`finish` or `error`) ends every run. An `error` before `accepted` still has an
// HTTP status to travel in; afterwards it travels in-band.
// A body is the fold of the events that are streamed, so both cannot differ.

import type { AdapterSelection } from "./adapter.ts";
import type { AppliedEdit } from "./applied-edit.ts";
import type { Caller } from "./caller.ts";
import type { Constraint } from "./constraint.ts";
import type { ErrorData } from "./error.ts";
import type { Message, ToolSpec } from "./message.ts";
import type { SamplingParams } from "./sampling.ts";

/** How the model may use tools. `named` forces one of the listed functions. */
export type ToolChoice =
  | { readonly type: "auto" }
  | { readonly type: "none" }
  | { readonly type: "required" }
  /** `once`: exactly one call. */
  | {
      readonly type: "named";
      readonly names: readonly string[];
      readonly required: boolean;
      readonly once?: true;
    };

/** Whether an answer must be a call. */
export function mustCall({ toolChoice }: Pick<ChatPrompt, "toolChoice">): boolean {
  return toolChoice.type === "required" || (toolChoice.type === "named" && toolChoice.required);
}

/** Whether an answer has one call at most. */
export function isSingleCall({
  toolChoice,
  singleCall,
}: Pick<ChatPrompt, "toolChoice" | "singleCall">): boolean {
  return singleCall === true || (toolChoice.type === "named" && toolChoice.once === true);
}

export type ReasoningEffort = "low" | "medium" | "high" | "xhigh";

/** Thinking on, with or without a stated effort, or off. */
export interface Thinking {
  readonly enabled: boolean;
  /** The request does not say: a model may be set up to do as its chat template has it. */
  readonly unsaid?: true;
  readonly effort?: ReasoningEffort;
  /** Reasoning tokens of an answer, at least 1; absent: as many as the effort or the answer's cap leaves. */
  readonly budget?: number;
}

export interface ChatPrompt<M = Message> {
  readonly type: "chat";
  readonly messages: readonly M[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  /** At most one call an answer: it ends where a second one begins. */
  readonly singleCall?: boolean;
  readonly thinking: Thinking;
  /** Variables of the chat template, plain values only. */
  readonly templateValues?: Readonly<Record<string, string | number | boolean>>;
  /** The beginning of the answer, which the model continues; it is not repeated. Thinking is off. */
  readonly answerPrefix?: string;
}

/** Prompt of a run. */
export type Prompt =
  | ChatPrompt
  /** `suffix`: what comes after the gap to fill, for models with fill-in-the-middle tokens. */
  | { readonly type: "text"; readonly text: string; readonly suffix?: string }
  | GapPrompt
  | { readonly type: "tokens"; readonly tokens: readonly number[] };

/** A gap between two texts, with other files for context. What does not fit is left out, farthest from the gap first. */
export interface GapPrompt {
  readonly type: "gap";
  readonly before: string;
  readonly after: string;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** Tokens of the context that stay free for the answer. */
  readonly answerTokens: number;
}

export interface RunRequest<P = Prompt> {
  /** Model id as the client sent it; `default` when it sent none. */
  readonly model: string;
  readonly prompt: P;
  readonly sampling: SamplingParams;
  /** Strings that end a choice; never emitted. */
  readonly stop: readonly string[];
  /**
   * Cap on generated tokens of each choice; absent means "until the context is full". With 0 the prompt is echoed, or
   * computed for the sake of the cache.
   */
  readonly maxTokens?: number;
  /** Tokens of the prompt and all choices together: `maxTokens` is lower where that needs it. See `answerCap`. */
  readonly tokensMax?: number;
  /** A choice ends at its first line break that comes so long after its first token, milliseconds. */
  readonly lineDeadlineMs?: number;
  /** Emit the prompt's own text before the answer, with log probabilities where asked for. Not for chat prompts. */
  readonly echo?: boolean;
  /** Number of independent continuations. */
  readonly choices: number;
  /** The model's own end of an answer does not end it: for measuring. */
  readonly ignoreEnd?: boolean;
  /** The prompt is only rendered and counted, however long it is: the run finishes without its choices. */
  readonly countOnly?: boolean;
  /** Report log probabilities of the drawn tokens and of the `top` most likely alternatives (0 … 20). */
  readonly logprobs?: { readonly top: number };
  /** Report a fingerprint of each choice, over all that determines it and what was drawn. */
  readonly fingerprint?: true;
  /** Fail unless the answer does not depend on other requests. */
  readonly batchInvariant?: true;
  /** Constraint of the answer's content. Reasoning before it is unconstrained. */
  readonly constraint?: Constraint;
  /** The field of the request that says so, for refusals. */
  readonly constraintParam?: string;
  /** The LoRA adapter to answer with; absent: what `model` names. */
  readonly adapter?: AdapterSelection;
  /** Drop the oldest prompt tokens instead of failing when the prompt exceeds the context. */
  readonly truncate: boolean;
  /** Report how much of the prompt is computed, and of the model loaded; `prompt`: the former alone, to count it. */
  readonly progress?: true | "prompt";
  /** Time that the model stays loaded after its last request, milliseconds; absent: as before. */
  readonly keepAliveMs?: number;
}

/** Tokens that each choice may have after a prompt of `promptTokens`; undefined: as many as the context has room for. */
export function answerCap(
  { maxTokens, tokensMax, choices }: Pick<RunRequest, "maxTokens" | "tokensMax" | "choices">,
  promptTokens: number,
): number | undefined {
  const spare = tokensMax === undefined ? undefined : Math.floor((tokensMax - promptTokens) / choices);
  if (spare === undefined || spare < 1) return maxTokens; // who set `tokensMax` refuses a prompt beyond it
  return Math.min(spare, maxTokens ?? spare);
}

/** A token and how likely it was, natural logarithm, under the model's own distribution (before any sampling stage). */
export interface TokenChance {
  readonly token: number;
  /** Text of the token; U+FFFD stands for bytes that are no whole character by themselves. */
  readonly text: string;
  /** Its bytes, since `text` may have lost some. */
  readonly bytes: readonly number[];
  readonly logprob: number;
}

/** A drawn token with the most likely ones at its place, best first. */
export interface TokenLogprob extends TokenChance {
  readonly top: readonly TokenChance[];
}

/** Why a choice ended. `content_filter`: an upstream's filter withheld the rest; models that run here have none. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** Token counts of a run, over all its choices. */
export interface Usage {
  readonly promptTokens: number;
  /** Prompt tokens whose KV cells were reused instead of computed. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Part of `completionTokens`. */
  readonly reasoningTokens: number;
  /** Choices whose reasoning was ended at its budget, or to leave room for the answer; absent: none. */
  readonly closedThoughts?: number;
}

/** Wall-clock times of a run, seconds. */
export interface Timings {
  /** From arrival in the engine to the end of prefill, queueing included. */
  readonly promptSecs: number;
  /** From the end of prefill to the last token. */
  readonly completionSecs: number;
}

export type RunEvent =
  | LoadProgress
  | {
      /** How much of the prompt is computed, tokens. */
      readonly type: "prompt_progress";
      readonly total: number;
      /** Taken from the cache; part of `processed`. */
      readonly cached: number;
      readonly processed: number;
      /** Since the first of these events, milliseconds. */
      readonly ms: number;
      /** Requests that wait for a slot before it, while it waits for one. */
      readonly ahead?: number;
    }
  | {
      readonly type: "accepted";
      readonly promptTokens: number;
      /** Of the adapter that answers; absent: the base model does. */
      readonly adapterGeneration?: string;
      /** Id of the model that answers, where it is another one than the request names: a fallback. */
      readonly answeredBy?: string;
      /** Places in the request's schemas that the answer is not held to. */
      readonly unenforced?: readonly string[];
    }
  | {
      readonly type: "text" | "reasoning";
      readonly choice: number;
      readonly text: string;
      /** On request: the tokens sampled since the last event of this choice, including this text's. */
      readonly logprobs?: readonly TokenLogprob[];
    }
  | {
      readonly type: "tool_call_start";
      readonly choice: number;
      /** Position of the call within its choice, from 0. */
      readonly index: number;
      readonly id: string;
      readonly name: string;
    }
  | {
      readonly type: "tool_call_args";
      readonly choice: number;
      readonly index: number;
      readonly delta: string;
    }
  | {
      readonly type: "choice_end";
      readonly choice: number;
      readonly reason: FinishReason;
      /** Which of the request's stop strings ended it, if one did. */
      readonly stop?: string;
      /** The conversation was compacted and, as the request wants it, not answered. */
      readonly isPaused?: true;
      /** Where asked for. */
      readonly fingerprint?: string;
    }
  /** The conversation was edited before the model saw it; comes before anything it says, or before a round. */
  | { readonly type: "context_edited"; readonly edits: readonly AppliedEdit[] }
  | { readonly type: "finish"; readonly usage: Usage; readonly timings: Timings }
  | { readonly type: "error"; readonly error: ErrorData };

/** The run waits for its model, of which this much is loaded, parts per thousand. */
export interface LoadProgress {
  readonly type: "load_progress";
  readonly permille: number;
}

/** Texts or token sequences to embed. Each becomes one vector. */
export interface EmbedRequest {
  readonly model: string;
  readonly inputs: readonly (string | readonly number[])[];
  /** Cut inputs at the context instead of failing. */
  readonly truncate: boolean;
  /** Fail with `rate_limit_exceeded` if all inputs together have more tokens. */
  readonly tokensMax?: number;
  /** As in RunRequest. */
  readonly keepAliveMs?: number;
}

export interface EmbedResult {
  /** [inputs][dimensions], each of unit length. */
  readonly vectors: readonly (readonly number[])[];
  readonly promptTokens: number;
}

/** Documents to score by how well they answer a query. */
export interface RankRequest {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  /** Tokens of a document that are read; absent: all. */
  readonly documentTokens?: number;
  /** Cut documents where a pair exceeds the context, instead of failing. */
  readonly truncate: boolean;
  /** As in EmbedRequest. */
  readonly tokensMax?: number;
  /** As in RunRequest. */
  readonly keepAliveMs?: number;
}

export interface RankResult {
  /** [documents] relevance, 0 … 1. */
  readonly scores: readonly number[];
  readonly promptTokens: number;
}

/** Texts whose client has left; `promptTokens` of them were computed. */
export class WorkLeft extends Error {
  readonly reason: unknown;
  readonly promptTokens: number;

  constructor(reason: unknown, promptTokens: number) {
    super("the client has left");
    this.reason = reason;
    this.promptTokens = promptTokens;
  }
}

/** Ranks; throws ServiceError. Aborting the signal drops the work and rejects with its reason, or with WorkLeft. */
export type Rank = (request: RankRequest, signal: AbortSignal, caller: Caller) => Promise<RankResult>;

/** Embeds; throws ServiceError. Aborting the signal drops the work and rejects as Rank does. */
export type Embed = (request: EmbedRequest, signal: AbortSignal, caller: Caller) => Promise<EmbedResult>;

/** Starts a run for a caller and yields its events. Aborting the signal ends the run; the iterator then just ends. */
export type Generate = (request: RunRequest, signal: AbortSignal, caller: Caller) => AsyncIterable<RunEvent>;
