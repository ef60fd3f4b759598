// Meters the work that is done for callers: checks that a key may use the model, holds it to its limits, and counts what it takes.
// One place for all dialects: what HTTP, the MCP endpoint and background responses call is wrapped here.

import { type Account, refuseModel } from "../core/account.ts";
import type { AnswerEvent, Converse, Conversation, InputMessage } from "../core/agent.ts";
import type { SummaryTokens } from "../core/applied-edit.ts";
import type { Caller } from "../core/caller.ts";
import type { Draw } from "../core/image.ts";
import { type Ability, cardOf, type ModelInfo } from "../core/model-info.ts";
import type { Embed, EmbedRequest, Generate, Rank, RankRequest, RunRequest } from "../core/run.ts";
import type { Speak } from "../core/speech.ts";
import type { AnswerMeter } from "../core/telemetry.ts";
import { AnswerSteps } from "./answer-steps.ts";
import { CHARS_PER_TOKEN } from "./limits.ts";
import type { KeyQuotas, Reservation } from "./quotas.ts";
import type { UsageBook } from "./usage-book.ts";

export interface MeterDeps {
  readonly quotas: KeyQuotas;
  readonly usage: UsageBook;
  /** Absent: metrics are switched off. */
  readonly meter?: AnswerMeter | undefined;
  /** Served models and adapters, the default one first. */
  readonly models: () => readonly ModelInfo[];
}

/** The work of models as the HTTP layer asks for it. */
export interface Work {
  readonly generate: Generate;
  readonly converse: Converse;
  readonly embed: Embed;
  readonly rank: Rank;
  readonly draw: Draw;
  readonly speak: Speak;
}

/** The same work, metered. */
export function metered(deps: MeterDeps, work: Work): Work {
  const { generate, converse, embed, rank, draw, speak } = work;
  return {
    generate: (request, signal, caller) => {
      const begun = begin(deps, request, "generates", caller);
      const asked = withinLimits(deps, own(request, caller), caller);
      return answered(deps, begun, request, signal, () => generate(asked, signal, caller));
    },
    converse: (conversation: Conversation, signal, caller) => {
      const { run, agent } = conversation;
      const writer = agent.edits?.compact?.model;
      if (writer !== undefined)
        refuseModel(caller.account, writer, cardOf(deps.models(), writer), "summary_model");
      const begun = begin(deps, run, "generates", caller);
      const asked = { ...conversation, run: withinLimits(deps, own(run, caller), caller) };
      const summarized = agent.edits?.compact === undefined ? 0 : tokensOfMessages(run.prompt.messages);
      return answered(deps, begun, { ...run, summarized }, signal, () => converse(asked, signal, caller));
    },
    embed: (request, signal, caller) => {
      const begun = begin(deps, request, "embeds", caller);
      return whole(deps, begun, tokensToEmbed(request), signal, () =>
        embed(own(request, caller), signal, caller),
      );
    },
    rank: (request, signal, caller) => {
      const begun = begin(deps, request, "ranks", caller);
      return whole(deps, begun, tokensToRank(request), signal, () =>
        rank(own(request, caller), signal, caller),
      );
    },
    draw: (request, signal, caller) =>
      timed(
        deps,
        () => begin(deps, request, "draws", caller),
        () => draw(request, signal, caller),
      ),
    speak: (request, signal, caller) =>
      timed(
        deps,
        () => begin(deps, request, "speaks", caller),
        () => speak(request, signal, caller),
      ),
  };
}

/** Work that has a place among those of its account. */
interface Begun {
  readonly account: Account | undefined;
  /** Id of the model, as metrics name it. */
  readonly model: string;
  readonly release: () => void;
  /** Absent: the request is not traced. */
  readonly steps: AnswerSteps | undefined;
}

/** Throws ServiceError for a model that a key may not use, and for one answer too many. */
function begin(
  deps: MeterDeps,
  { model: name }: { readonly model: string },
  ability: Ability,
  { account, watch }: Caller,
): Begun {
  const card = cardOf(deps.models(), name, ability);
  const model = card?.id ?? "unknown";
  const steps = watch?.trace && new AnswerSteps(watch.trace, model);
  if (account === undefined) return { account, model, steps, release: () => undefined };
  refuseModel(account, name, card);
  return { account, model, steps, release: deps.quotas.begin(account) };
}

/** How long a model stays loaded concerns everybody, so what users say of it has no effect. */
function own<R extends { readonly keepAliveMs?: number }>(request: R, { account }: Caller): R {
  if (account?.role !== "user" || request.keepAliveMs === undefined) return request;
  const { keepAliveMs: _ms, ...rest } = request;
  return rest as R; // the field is optional
}

/** An answer without a bound of its own ends where its key's tokens do. */
function withinLimits<R extends AnswerBounds>({ quotas }: MeterDeps, request: R, { account }: Caller): R {
  const { maxTokens, choices, countOnly } = request;
  if (account === undefined || maxTokens !== undefined || countOnly === true) return request;
  const left = quotas.left(account);
  return left === Infinity ? request : { ...request, maxTokens: Math.max(1, Math.floor(left / choices)) };
}

/** Tokens that texts have at least, by their length: exact numbers are the engine's, which has computed them by then. */
function estimatedTokens(text: string | readonly number[]): number {
  return typeof text === "string" ? Math.ceil(text.length / CHARS_PER_TOKEN) : text.length;
}

function tokensOfMessages(messages: readonly InputMessage[]): number {
  const texts = messages.flatMap(({ content }) =>
    content.map((part) => (part.type === "text" ? part.text : "")),
  );
  return texts.reduce((sum, text) => sum + estimatedTokens(text), 0);
}

function tokensToEmbed({ inputs }: EmbedRequest): number {
  return inputs.reduce((sum, input) => sum + estimatedTokens(input), 0);
}

function tokensToRank({ query, documents, documentTokens = Infinity }: RankRequest): number {
  const perPair = estimatedTokens(query);
  return documents.reduce((sum, text) => sum + perPair + Math.min(estimatedTokens(text), documentTokens), 0);
}

const NO_TOKENS = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0, toolCalls: 0 };

/** Work with one result. What is broken off counts with its estimate. */
async function whole<T extends { readonly promptTokens: number }>(
  { usage, quotas }: MeterDeps,
  { account, model, release }: Begun,
  estimate: number,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const startMs = performance.now();
  let reservation: Reservation | undefined;
  let promptTokens: number | undefined;
  try {
    reservation = account === undefined ? undefined : quotas.reserve(account, estimate, 0);
    const result = await work();
    ({ promptTokens } = result);
    return result;
  } catch (error) {
    if (signal.aborted && reservation !== undefined) promptTokens = estimate;
    throw error;
  } finally {
    release();
    reservation?.settle(promptTokens ?? 0);
    const seconds = (performance.now() - startMs) / 1000;
    if (promptTokens !== undefined) usage.add(account, model, 1, { ...NO_TOKENS, promptTokens, seconds });
  }
}

/** Images and speech, of which time alone is counted. */
async function* timed<E extends { readonly type: string }>(
  { usage }: MeterDeps,
  enter: () => Begun,
  work: () => AsyncIterable<E>,
): AsyncGenerator<E> {
  const { account, model, release } = enter(); // not before the first event is wanted: else `finally` might never run
  const startMs = performance.now();
  let isMade = false;
  try {
    for await (const event of work()) {
      isMade ||= event.type !== "error";
      yield event;
    }
  } finally {
    release();
    if (isMade) usage.add(account, model, 1, { ...NO_TOKENS, seconds: (performance.now() - startMs) / 1000 });
  }
}

interface AnswerBounds extends Pick<RunRequest, "countOnly" | "maxTokens" | "choices"> {
  /** Estimated tokens that a summary reads before the answer is accepted. */
  readonly summarized?: number;
}

/** An answer of a text model. Counting alone is no answer. */
function answered<E extends AnswerEvent>(
  deps: MeterDeps,
  begun: Begun,
  bounds: AnswerBounds,
  signal: AbortSignal,
  work: () => AsyncIterable<E>,
): AsyncIterable<E> {
  const { account, release } = begun;
  let ahead: Reservation | undefined;
  try {
    const { summarized = 0 } = bounds;
    ahead =
      account === undefined || summarized === 0 ? undefined : deps.quotas.reserve(account, summarized, 0);
    return new MeteredAnswer(deps, { ...begun, ahead }, bounds, signal, work());
  } catch (refusal) {
    ahead?.settle(0);
    release();
    throw refusal;
  }
}

/** Not a generator: each event would cost one more turn. */
class MeteredAnswer<E extends AnswerEvent> implements AsyncIterableIterator<E> {
  private readonly deps: MeterDeps;
  private readonly begun: Begun & { readonly ahead: Reservation | undefined };
  private readonly bounds: AnswerBounds;
  private readonly source: AsyncIterator<E>;
  private reservation: Reservation | undefined;
  private isAccepted = false;
  private isOver = false;
  private spent = { ...NO_TOKENS, seconds: 0 };
  private startMs = performance.now();
  /** Tokens of a summary, which are counted before the answer is accepted. */
  private settled = 0;

  constructor(
    deps: MeterDeps,
    begun: Begun & { readonly ahead: Reservation | undefined },
    bounds: AnswerBounds,
    signal: AbortSignal,
    source: AsyncIterable<E>,
  ) {
    this.deps = deps;
    this.begun = begun;
    this.bounds = bounds;
    this.reservation = begun.ahead;
    this.source = source[Symbol.asyncIterator]();
    if (signal.aborted) this.end();
    else signal.addEventListener("abort", () => this.leave(), { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<E>> {
    let result: IteratorResult<E>;
    try {
      result = await this.source.next();
      if (result.done === true) this.end();
      else this.take(result.value);
    } catch (error) {
      this.end();
      throw error;
    }
    return result;
  }

  async return(value?: unknown): Promise<IteratorResult<E>> {
    this.leave();
    await this.source.return?.(value);
    return { done: true, value };
  }

  private take(event: AnswerEvent): void {
    this.begun.steps?.take(event);
    switch (event.type) {
      case "accepted":
        return this.accept(event.promptTokens);
      case "text":
      case "reasoning":
        this.spent.completionTokens++; // at least; exact once the answer is complete
        return;
      case "tool_call_start":
      case "tool_calling":
        this.spent.toolCalls++;
        return;
      case "choice_end":
        this.deps.meter?.ended(this.begun.model, event.reason);
        return;
      case "finish": {
        const { usage, timings } = event;
        const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage;
        const seconds = timings.promptSecs + timings.completionSecs;
        Object.assign(this.spent, { promptTokens, cachedTokens, completionTokens, reasoningTokens, seconds });
        this.end();
        return;
      }
      case "error":
        this.end();
        return;
      case "context_edited":
        for (const edit of event.edits) if (edit.type === "compaction") this.summarized(edit.spent);
        return;
      case "load_progress":
      case "prompt_progress":
      case "tool_call_args":
      case "tool_progress":
      case "tool_complete":
      case "session":
      case "input_cut":
      case "approval_required":
      case "file_produced":
    }
  }

  private accept(promptTokens: number): void {
    if (this.isAccepted || this.isOver) return;
    const { account } = this.begun;
    this.startMs = performance.now();
    if (this.bounds.countOnly === true) return;
    const read = this.spent.promptTokens + promptTokens;
    this.settled = this.spent.promptTokens + this.spent.completionTokens;
    this.reservation?.settle(this.settled);
    this.reservation = undefined;
    try {
      const { maxTokens, choices } = this.bounds;
      const most = maxTokens === undefined ? undefined : maxTokens * choices;
      this.reservation =
        account && this.deps.quotas.reserve(account, read + this.spent.completionTokens, most);
    } catch (refusal) {
      void this.source.return?.();
      throw refusal;
    }
    this.spent.promptTokens = read;
    this.isAccepted = true;
  }

  /** What a summary took before the answer, which may yet be refused. */
  private summarized({ promptTokens, cachedTokens, completionTokens }: SummaryTokens): void {
    this.spent.promptTokens += promptTokens;
    this.spent.cachedTokens += cachedTokens;
    this.spent.completionTokens += completionTokens;
  }

  /** Who leaves while a summary is written pays for what it reads. */
  private leave(): void {
    const { summarized = 0 } = this.bounds;
    if (!this.isOver && !this.isAccepted && this.spent.promptTokens === 0)
      this.spent.promptTokens = summarized;
    this.end();
  }

  /** Idempotent. What an answer has taken that was broken off counts as well. */
  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.begun.steps?.end(this.spent);
    this.begun.release();
    const { account, model } = this.begun;
    const { promptTokens, completionTokens, seconds } = this.spent;
    this.reservation?.settle(promptTokens + completionTokens - this.settled);
    if (!this.isAccepted && promptTokens === 0) return;
    const secs = seconds === 0 ? (performance.now() - this.startMs) / 1000 : seconds;
    this.deps.usage.add(account, model, 1, { ...this.spent, seconds: secs });
  }
}
