// One run inside the engine: its request, its choices and what has been said about it.

import { type ErrorData, ServiceError } from "../../core/error.ts";
import { newId } from "../../core/id.ts";
import type { FinishReason, RunEvent, RunRequest, TokenLogprob } from "../../core/run.ts";
import type { RunId } from "../../engine/protocol.ts";
import type { AnswerGuard } from "./answer-guard.ts";
import type { Arrival } from "./arrivals.ts";
import type { RenderedPrompt } from "./backend.ts";
import { Detokenizer, type TokenTexts } from "./detokenize.ts";
import { HoldBack } from "./hold-back.ts";
import { OutputParser } from "./output-parser.ts";
import type { AdapterId } from "../../core/adapter.ts";

/** Passes on an event of a run; the order of calls is the order of events. */
export type Emit = (run: RunId, event: RunEvent) => void;

/** The text side of one choice: from tokens to events. */
export class ChoiceOutput {
  readonly index: number;
  private readonly detokenizer: Detokenizer;
  private readonly stops: HoldBack;
  private readonly parser: OutputParser;
  private readonly emit: (event: RunEvent) => void;
  private logprobs: TokenLogprob[] = []; // of tokens whose text has not been emitted yet
  private readonly request: RunRequest;
  private stop: string | undefined; // which of the request's stop strings was completed
  private surplus = false; // a call has begun that must not be made: nothing is emitted any more

  constructor(
    index: number,
    prompt: RenderedPrompt,
    request: RunRequest,
    texts: TokenTexts,
    emit: (event: RunEvent) => void,
  ) {
    this.index = index;
    this.request = request;
    this.detokenizer = new Detokenizer(texts);
    this.stops = new HoldBack([...request.stop, ...prompt.format.stops]);
    this.parser = new OutputParser(prompt, () => newId("call_"));
    this.emit = emit;
  }

  /** True while the model reasons. */
  get reasoning(): boolean {
    return this.parser.reasoning;
  }

  /** True once the answer proper has begun. */
  get answering(): boolean {
    return this.parser.answering;
  }

  /** What has been written from the marker of the first tool call on; undefined until there is one. */
  callText(): string | undefined {
    const text = this.parser.callText;
    return text === undefined ? undefined : text + this.stops.heldText;
  }

  /** All that has been written. */
  answerText(): string {
    return this.parser.text + this.stops.heldText;
  }

  /** Notes how likely a token was; goes out with its text. */
  noteLogprob(logprob: TokenLogprob): void {
    this.logprobs.push(logprob);
  }

  /** Emits text that is no output of the model: the echoed prompt. */
  echo(text: string): void {
    this.send([{ type: "text", text }]);
  }

  /**
   * Takes a token's bytes. Returns true when the choice must end: a stop string was completed, or a call begun that is
   * one too many. Nothing of it or after it is emitted. `guard`: what the answer is held to; until it may end, the stop
   * strings of the chat template are text, such as a tag in the argument of a call.
   */
  push(token: number, bytes: Uint8Array, guard?: Pick<AnswerGuard, "mayEndWith">): boolean {
    let text = this.detokenizer.push(token, bytes);
    while (text !== "") {
      const { free, match, rest } = this.stops.push(text);
      this.send(this.parser.push(free));
      if (match === undefined) break;
      if (this.request.stop.includes(match)) {
        this.stop = match;
        return true;
      }
      if (guard === undefined || guard.mayEndWith(token)) return true;
      this.send(this.parser.push(match));
      text = rest.slice(match.length);
    }
    return this.surplus;
  }

  /** Ends the choice; `stopped` when `push` said so, after which nothing must come out. */
  end(reason: FinishReason, stopped: boolean): void {
    if (!stopped)
      this.send(this.parser.push(this.stops.push(this.detokenizer.flush()).free + this.stops.flush()));
    this.send(this.parser.end());
    const calls = this.parser.toolCalls > 0 && reason === "stop";
    this.emit({
      type: "choice_end",
      choice: this.index,
      reason: calls ? "tool_calls" : reason,
      ...(calls || this.stop === undefined ? {} : { stop: this.stop }),
    });
  }

  private send(deltas: ReturnType<OutputParser["push"]>): void {
    for (const delta of deltas) {
      this.surplus ||= delta.type === "tool_call_start" && delta.index > 0 && isSingle(this.request);
      if (this.surplus) return;
      if (this.logprobs.length > 0 && (delta.type === "text" || delta.type === "reasoning")) {
        this.emit({ ...delta, choice: this.index, logprobs: this.logprobs });
        this.logprobs = [];
      } else {
        this.emit({ ...delta, choice: this.index });
      }
    }
  }
}

function isSingle({ prompt }: RunRequest): boolean {
  return prompt.type === "chat" && prompt.singleCall === true;
}

/** Bookkeeping of one run from `accepted` on. Emits exactly one terminal event. */
export class RunState {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly prompt: RenderedPrompt;
  readonly adapter: AdapterId;
  /** Tokens each choice may generate. */
  readonly tokenCap: number;
  /** Prompt tokens of the first choice that were not computed but found in the cache. */
  cachedTokens = 0;
  private reasoningTokens = 0;
  private readonly emit: Emit;
  /** When the run reached the engine, monotonic milliseconds. */
  readonly arrivedMs: number;
  private prefilledMs: number | undefined;
  private completionTokens = 0;
  private openChoices: number;
  private closed = false;

  constructor(
    { id, request, adapter, arrivedMs }: Arrival,
    prompt: RenderedPrompt,
    tokenCap: number,
    emit: Emit,
    unenforced: readonly string[] = [],
  ) {
    this.id = id;
    this.request = request;
    this.prompt = prompt;
    this.adapter = adapter;
    this.tokenCap = tokenCap;
    this.arrivedMs = arrivedMs;
    this.openChoices = request.choices;
    this.emit = emit;
    const left = unenforced.length === 0 ? {} : { unenforced };
    emit(id, { type: "accepted", promptTokens: prompt.tokens.length, ...left });
  }

  newOutput(choice: number, texts: TokenTexts): ChoiceOutput {
    return new ChoiceOutput(choice, this.prompt, this.request, texts, (event) => this.send(event));
  }

  /** Counts a drawn token. */
  tokenDrawn(nowMs: number, reasoning: boolean): void {
    this.prefilledMs ??= nowMs;
    this.completionTokens++;
    if (reasoning) this.reasoningTokens++;
  }

  /** Whether a choice with so many tokens, the last of these bytes, has reached its cap, or the end of a line after its deadline. */
  isSpent(generated: number, bytes: Uint8Array, nowMs: number): boolean {
    if (generated >= this.tokenCap) return true;
    const { lineDeadlineMs } = this.request;
    if (lineDeadlineMs === undefined || nowMs - (this.prefilledMs ?? nowMs) <= lineDeadlineMs) return false;
    return bytes.includes(LINE_BREAK);
  }

  /** A choice has ended; after the last one the run finishes. */
  choiceEnded(nowMs: number): void {
    this.openChoices--;
    if (this.openChoices === 0) this.finish(nowMs);
  }

  /** Ends a run from which nothing more is to come. */
  finish(nowMs: number): void {
    const prefilledMs = this.prefilledMs ?? nowMs;
    this.send({
      type: "finish",
      usage: {
        promptTokens: this.prompt.tokens.length,
        cachedTokens: this.cachedTokens,
        completionTokens: this.completionTokens,
        reasoningTokens: this.reasoningTokens,
      },
      timings: {
        promptSecs: (prefilledMs - this.arrivedMs) / 1000,
        completionSecs: (nowMs - prefilledMs) / 1000,
      },
    });
    this.close();
  }

  /** Ends the run with an error. */
  fail(error: ErrorData): void {
    this.send({ type: "error", error });
    this.close();
  }

  /** Ends the run without a word: nobody listens any more. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.prompt.free();
  }

  private send(event: RunEvent): void {
    if (!this.closed) this.emit(this.id, event);
  }
}

/** ASCII, and so UTF-8. */
const LINE_BREAK = 0x0a;

/** How prompt and answer share the context. */
export interface LengthPlan {
  /** Prompt tokens to drop at the front. */
  readonly drop: number;
  /** Tokens that may be generated. */
  readonly cap: number;
}

/** At most this share of the context is kept free for the answer when a prompt is truncated. */
const ANSWER_SHARE = 0.25;

/** What only the engine can judge of a request. Throws ServiceError. */
export function checkRequest({ sampling, prompt, constraint }: RunRequest, vocabulary: number): void {
  const alien = sampling.logitBias.find(({ token }) => token >= vocabulary);
  if (alien !== undefined) {
    const message = `logit_bias names token ${alien.token}, but the model's vocabulary has ${vocabulary} tokens.`;
    throw new ServiceError("invalid_request", message, { param: "logit_bias" });
  }
  if (constraint === undefined || prompt.type !== "chat") return;
  const { toolChoice } = prompt;
  if (toolChoice.type === "required" || (toolChoice.type === "named" && toolChoice.required)) {
    const message =
      "An answer cannot be a tool call and follow response_format or grammar: leave one of them out.";
    throw new ServiceError("contradictory_fields", message, { param: "tool_choice" });
  }
}

/**
 * Fits a prompt of so many tokens into the context. Throws ServiceError(context_length_exceeded) when it does not fit
 * and must not be truncated, ServiceError(invalid_request) when there is nothing to continue.
 */
export function planLength(
  promptTokens: number,
  { maxTokens, truncate, prompt }: Pick<RunRequest, "maxTokens" | "truncate" | "prompt">,
  contextTokens: number,
): LengthPlan {
  const param = prompt.type === "chat" ? "messages" : "prompt";
  if (promptTokens === 0) {
    throw new ServiceError("invalid_request", "The prompt is empty: there is nothing to continue.", {
      param,
    });
  }
  let drop = 0;
  if (promptTokens >= contextTokens) {
    if (!truncate) throw tooLong(promptTokens, contextTokens, param);
    const share = Math.max(1, Math.floor(contextTokens * ANSWER_SHARE));
    drop = promptTokens - (contextTokens - Math.min(maxTokens ?? share, share));
  }
  const room = contextTokens - (promptTokens - drop);
  return { drop, cap: Math.min(maxTokens ?? room, room) };
}

function tooLong(tokens: number, contextTokens: number, param: string): ServiceError {
  return new ServiceError(
    "context_length_exceeded",
    // Agents look for these words to learn that they must compact.
    `The prompt is too long: ${tokens} tokens > ${contextTokens}, which the model's context holds including the answer.`,
    { param },
  );
}
