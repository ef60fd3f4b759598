// One run in the engine: its request, the output of its choices, its counts, and its events.

import { defined } from "../../core/defined.ts";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import { newId } from "../../core/id.ts";
import {
  answerCap,
  type FinishReason,
  isSingleCall,
  mustCall,
  type RunEvent,
  type RunRequest,
  type TokenLogprob,
} from "../../core/run.ts";
import type { RunId } from "../../engine/protocol.ts";
import type { AnswerGuard } from "./answer-guard.ts";
import type { Arrival } from "./arrivals.ts";
import type { Backend, RenderedPrompt } from "./backend.ts";
import { CallLimit } from "./call-limit.ts";
import { Detokenizer, type TokenTexts } from "./detokenize.ts";
import { type OutputDelta, OutputParser } from "./output-parser.ts";
import type { Partition } from "./partition.ts";
import { StopStrings } from "./stop-strings.ts";

/** Emits an event of a run, in order. */
export type Emit = (run: RunId, event: RunEvent) => void;

/** What the outputs of all choices share. */
export interface OutputTools {
  readonly texts: TokenTexts;
  /** Most calls of an answer. */
  readonly maxCalls: number;
  /** Texts of the control tokens. */
  readonly controls: () => ReadonlyMap<number, string>;
}

/** Output of one choice: tokens to text to events. */
export class ChoiceOutput {
  readonly index: number;
  private readonly detokenizer: Detokenizer;
  private readonly stops: StopStrings;
  private readonly parser: OutputParser;
  private readonly emit: (event: RunEvent) => void;
  private logprobs: TokenLogprob[] = []; // of tokens whose text has not been emitted yet
  private stop: string | undefined; // the request's stop string that was completed
  private readonly calls: CallLimit;

  constructor(
    index: number,
    prompt: RenderedPrompt,
    request: RunRequest,
    { texts, maxCalls, controls }: OutputTools,
    emit: (event: RunEvent) => void,
  ) {
    this.index = index;
    this.detokenizer = new Detokenizer(texts);
    this.stops = new StopStrings(request.stop, prompt.format.stops, controls);
    this.parser = new OutputParser(prompt, () => newId("call_"));
    const isSingle = request.prompt.type === "chat" && isSingleCall(request.prompt);
    this.calls = new CallLimit(isSingle ? 1 : maxCalls);
    this.emit = emit;
  }

  /** Whether the model is reasoning, from the opening tag on. */
  get inReasoning(): boolean {
    return this.parser.inReasoning;
  }

  /** Whether no text is held back that may become markup, or a letter. */
  get isSettled(): boolean {
    return this.stops.heldText === "" && !this.detokenizer.isOpen && this.parser.isSettled;
  }

  /** Whether the content of the answer has begun. */
  get answering(): boolean {
    return this.parser.answering;
  }

  /** Whether a call has begun, up to its name at least. */
  get isCalling(): boolean {
    return this.parser.toolCalls > 0;
  }

  /** The text from the marker of the first call on; undefined before it. */
  callText(): string | undefined {
    const text = this.parser.callText;
    return text === undefined ? undefined : text + this.stops.heldText;
  }

  /** Records a token's log probability; it is sent with the token's text. */
  noteLogprob(logprob: TokenLogprob): void {
    this.logprobs.push(logprob);
  }

  /** Emits the echoed prompt. */
  echo(text: string): void {
    this.send([{ type: "text", text }]);
  }

  /**
   * Adds a token's bytes. True: the choice must end, because a stop string was completed or a repeated or surplus call has
   * begun; neither it nor later text is emitted. `guard`: until its grammar may end, stop strings of the chat template are
   * text, such as a tag in a call's argument.
   */
  push(token: number, bytes: Uint8Array, guard?: Pick<AnswerGuard, "mayEndWith">): boolean {
    let text = this.detokenizer.push(token, bytes) + (bytes.length === 0 ? this.stops.markOf(token) : "");
    while (text !== "") {
      const { free, match, stop, rest } = this.stops.push(text);
      this.send(this.parser.push(free));
      if (match === undefined) break;
      if (stop !== undefined) {
        this.stop = stop;
        return true;
      }
      if (guard === undefined || guard.mayEndWith(token)) return true;
      this.send(this.parser.push(match));
      text = rest.slice(match.length);
    }
    return this.calls.isOver;
  }

  /** Ends the choice. `stopped`: because `push` returned true; then held text is dropped. */
  end(reason: FinishReason, stopped: boolean, fingerprint?: string): void {
    if (!stopped) this.send(this.parser.push(this.stops.flush())); // without the bytes of a letter that is not complete
    this.send(this.parser.end(reason === "length"));
    this.emitAll(this.calls.end());
    const calls = this.parser.toolCalls > 0 && reason === "stop";
    this.emit({
      type: "choice_end",
      choice: this.index,
      reason: calls ? "tool_calls" : reason,
      ...(calls || this.stop === undefined ? {} : { stop: this.stop }),
      ...defined({ fingerprint }),
    });
  }

  private send(deltas: readonly OutputDelta[]): void {
    for (const delta of deltas) this.emitAll(this.calls.take(delta));
  }

  private emitAll(deltas: readonly OutputDelta[]): void {
    for (const delta of deltas) {
      if (this.logprobs.length > 0 && (delta.type === "text" || delta.type === "reasoning")) {
        this.emit({ ...delta, choice: this.index, logprobs: this.logprobs });
        this.logprobs = [];
      } else {
        this.emit({ ...delta, choice: this.index });
      }
    }
  }
}

/** State of one run from `accepted` on. Emits exactly one terminal event. */
export class RunState {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly prompt: RenderedPrompt;
  readonly partition: Partition;
  /** Tokens of the prompt that are computed: without those that it was truncated by. */
  private readonly promptTokens: number;
  /** Tokens each choice may generate. */
  readonly tokenCap: number;
  /** Prefix hit of the first choice, tokens. */
  cachedTokens = 0;
  private reasoningTokens = 0;
  private closedThoughts = 0;
  private readonly emit: Emit;
  /** When the run reached the engine, monotonic milliseconds. */
  readonly arrivedMs: number;
  private prefilledMs: number | undefined;
  private reportedMs: number | undefined; // of the first report on the prompt
  private ahead: number | undefined; // as reported last
  private completionTokens = 0;
  private openChoices: number;
  private closed = false;

  constructor(
    { id, request, partition, arrivedMs }: Arrival,
    prompt: RenderedPrompt,
    { drop, cap }: LengthPlan,
    emit: Emit,
    unenforced: readonly string[] = [],
  ) {
    this.id = id;
    this.request = request;
    this.prompt = prompt;
    this.partition = partition;
    this.tokenCap = cap;
    this.promptTokens = prompt.tokens.length - drop;
    this.arrivedMs = arrivedMs;
    this.openChoices = request.choices;
    this.emit = emit;
    const left = unenforced.length === 0 ? {} : { unenforced };
    emit(id, { type: "accepted", promptTokens: this.promptTokens, ...left });
  }

  newOutput(choice: number, tools: OutputTools): ChoiceOutput {
    return new ChoiceOutput(choice, this.prompt, this.request, tools, (event) => this.send(event));
  }

  /** Reports, if the request wants that, how many prompt tokens are computed. */
  reportPrompt(processed: number, nowMs: number): void {
    if (this.request.progress === undefined || this.prefilledMs !== undefined) return;
    this.reportedMs ??= nowMs;
    const { cachedTokens: cached } = this;
    const total = this.promptTokens;
    this.send({ type: "prompt_progress", total, cached, processed, ms: nowMs - this.reportedMs });
  }

  /** Reports, if the request wants that, how many requests wait before it. One that was preempted has its words already. */
  reportWait(ahead: number): void {
    if (this.request.progress !== true || this.reportedMs !== undefined || ahead === this.ahead) return;
    this.ahead = ahead;
    this.send({ type: "prompt_progress", total: this.promptTokens, cached: 0, processed: 0, ms: 0, ahead });
  }

  /** Counts a token of an answer. */
  tokenDrawn(nowMs: number): void {
    this.reportPrompt(this.promptTokens, nowMs);
    this.prefilledMs ??= nowMs;
    this.completionTokens++;
  }

  /** Counts tokens of an answer, which are counted as drawn already, as reasoning. */
  reasoned(tokens: number): void {
    this.reasoningTokens += tokens;
  }

  /** The reasoning of a choice was ended at its limit. */
  thoughtClosed(): void {
    this.closedThoughts++;
  }

  /** Whether a choice has reached its token cap, or the end of a line after its deadline. `bytes`: of its last token. */
  isSpent(generated: number, bytes: Uint8Array, nowMs: number): boolean {
    if (generated >= this.tokenCap) return true;
    const { lineDeadlineMs } = this.request;
    if (lineDeadlineMs === undefined || nowMs - (this.prefilledMs ?? nowMs) <= lineDeadlineMs) return false;
    return bytes.includes(LINE_BREAK);
  }

  /** A choice has ended; after the last one, the run finishes. */
  choiceEnded(nowMs: number): void {
    this.openChoices--;
    if (this.openChoices === 0) this.finish(nowMs);
  }

  /** Emits `finish`. `computed`: tokens of the prompt and the answer, of a run that is broken off. */
  finish(nowMs: number, computed = Infinity): void {
    const prefilledMs = this.prefilledMs ?? nowMs;
    this.send({
      type: "finish",
      usage: {
        promptTokens: this.completionTokens > 0 ? this.promptTokens : Math.min(computed, this.promptTokens),
        cachedTokens: this.cachedTokens,
        completionTokens: this.completionTokens,
        reasoningTokens: this.reasoningTokens,
        ...(this.closedThoughts === 0 ? {} : { closedThoughts: this.closedThoughts }),
      },
      timings: {
        promptSecs: (prefilledMs - this.arrivedMs) / 1000,
        completionSecs: (nowMs - prefilledMs) / 1000,
      },
    });
    this.close();
  }

  /** Emits `error`. */
  fail(error: ErrorData): void {
    this.send({ type: "error", error });
    this.close();
  }

  private close(): void {
    if (this.closed) return;
    this.closed = true;
    this.prompt.free();
  }

  private send(event: RunEvent): void {
    if (!this.closed) this.emit(this.id, event);
  }
}

/** The byte of a line feed in ASCII and UTF-8. */
const LINE_BREAK = 0x0a;

/** How prompt and answer share the context. */
export interface LengthPlan {
  /** Prompt tokens to drop at the front. */
  readonly drop: number;
  /** Tokens that may be generated. */
  readonly cap: number;
}

/** Maximum share of the context that is reserved for the answer when a prompt is truncated. */
const ANSWER_SHARE = 0.25;

/** Validates what only the engine knows: vocabulary and template. Throws ServiceError. */
export function checkRequest(
  { sampling, prompt, constraint, batchInvariant }: RunRequest,
  { vocabulary, isInvariant }: Pick<Backend, "vocabulary" | "isInvariant">,
): void {
  if (batchInvariant === true && isInvariant !== true) {
    const message =
      'determinism "batch-invariant" needs a server with determinism = "batch-invariant" in [runtime], since weights and cached prompts are computed for one mode; omit the field, or send the request to such a server';
    throw new ServiceError("invalid_request", message, { param: "determinism" });
  }
  const unknown = sampling.logitBias.find(({ token }) => token >= vocabulary);
  if (unknown !== undefined) {
    const message = `logit_bias names token ${unknown.token}, but the model's vocabulary has ${vocabulary} tokens; use ids below that`;
    throw new ServiceError("invalid_request", message, { param: "logit_bias" });
  }
  if (constraint === undefined || prompt.type !== "chat") return;
  if (mustCall(prompt)) {
    const message = "a required tool call excludes response_format and grammar; omit one of them";
    throw new ServiceError("contradictory_fields", message, { param: "tool_choice" });
  }
}

/**
 * Fits a prompt of `promptTokens` tokens into the context. Throws ServiceError(context_length_exceeded) when it does not fit
 * and must not be truncated, ServiceError(invalid_request) when it is empty.
 */
export function planLength(
  promptTokens: number,
  request: Pick<RunRequest, "maxTokens" | "tokensMax" | "choices" | "truncate" | "prompt">,
  contextTokens: number,
): LengthPlan {
  const { maxTokens, truncate, prompt } = request;
  const param = prompt.type === "chat" ? "messages" : "prompt";
  if (promptTokens === 0) {
    throw new ServiceError("invalid_request", "the prompt is empty; send at least one token", {
      param,
    });
  }
  let drop = 0;
  if (promptTokens >= contextTokens) {
    if (!truncate) throw tooLong(promptTokens, contextTokens, param);
    const share = Math.max(1, Math.floor(contextTokens * ANSWER_SHARE));
    drop = promptTokens - (contextTokens - Math.min(maxTokens ?? share, share));
  }
  const kept = promptTokens - drop;
  const room = contextTokens - kept;
  return { drop, cap: Math.min(answerCap(request, kept) ?? room, room) };
}

function tooLong(tokens: number, contextTokens: number, param: string): ServiceError {
  return new ServiceError(
    "context_length_exceeded",
    // Coding agents match these words to start compaction.
    `the prompt is too long: ${tokens} tokens > ${contextTokens}, the model's context for prompt and answer`,
    { param },
  );
}
