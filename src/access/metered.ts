// Meters the work that is done for callers: checks that a key may use the model, and counts requests, calls and time. One place for all
// dialects: what HTTP, the MCP endpoint and background responses call is wrapped here. Tokens are those of runs (run-meter.ts).

import { type Account, refuseModel } from "../core/account.ts";
import type { AnswerEvent, Converse } from "../core/agent.ts";
import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { Draw } from "../core/image.ts";
import { type Ability, cardOf } from "../core/model-info.ts";
import { reasonOf } from "../core/reason.ts";
import { type Embed, type Generate, type Rank, WorkLeft } from "../core/run.ts";
import type { Speak } from "../core/speech.ts";
import type { AnswerMeter } from "../core/telemetry.ts";
import { NOTHING_SPENT } from "../core/usage.ts";
import { AnswerSteps } from "./answer-steps.ts";
import { MARKUP_TOKENS } from "./limits.ts";
import type { Reservation } from "./quotas.ts";
import { meteredRuns, type RunMeterDeps } from "./run-meter.ts";

export interface MeterDeps extends RunMeterDeps {
  /** Absent: metrics are switched off. */
  readonly meter?: AnswerMeter | undefined;
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

/** The same work, metered. The runs of `converse` are metered where it begins them. */
export function metered(deps: MeterDeps, work: Work): Work {
  const { converse, embed, rank, draw, speak } = work;
  const generate = meteredRuns(deps, work.generate);
  return {
    generate: (request, signal, caller) => {
      const begun = begin(deps, request, "generates", caller);
      return answered(deps, begun, request.countOnly === true, signal, () =>
        generate(own(request, caller), signal, caller),
      );
    },
    converse: (conversation, signal, caller) => {
      const { run, agent } = conversation;
      const writer = agent.edits?.compact?.model;
      if (writer !== undefined)
        refuseModel(caller.account, writer, cardOf(deps.models(), writer), "summary_model");
      const begun = begin(deps, run, "generates", caller);
      const asked = { ...conversation, run: own(run, caller) };
      return answered(deps, begun, run.countOnly === true, signal, () =>
        converse(asked, signal, { ...caller, countedAs: begun.model }),
      );
    },
    embed: (request, signal, caller) => {
      const begun = begin(deps, request, "embeds", caller);
      return whole(deps, begun, bytesOf(request.inputs), (tokensMax) =>
        embed({ ...own(request, caller), ...tokensMax }, signal, caller),
      );
    },
    rank: (request, signal, caller) => {
      const begun = begin(deps, request, "ranks", caller);
      const { query, documents } = request;
      return whole(deps, begun, bytesOf([query]) * documents.length + bytesOf(documents), (tokensMax) =>
        rank({ ...own(request, caller), ...tokensMax }, signal, caller),
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

/** Tokens that inputs have at most: none is shorter than a byte, and a few mark the ends. */
function bytesOf(inputs: readonly (string | readonly number[])[]): number {
  return inputs.reduce((sum, input) => {
    return sum + (typeof input === "string" ? Buffer.byteLength(input) : input.length) + MARKUP_TOKENS;
  }, 0);
}

/** Work with one result, which takes `most` tokens. It learns how many it may take, and what is broken off counts as far as it came. */
async function whole<T extends { readonly promptTokens: number }>(
  { usage, quotas }: MeterDeps,
  { account, model, release }: Begun,
  most: number,
  work: (bound: { readonly tokensMax?: number }) => Promise<T>,
): Promise<T> {
  const startMs = performance.now();
  let reservation: Reservation | undefined;
  let promptTokens = 0;
  let isMade = false;
  try {
    const left = account === undefined ? Infinity : quotas.left(account);
    reservation = account && quotas.reserve(account, Math.max(1, Math.min(most, left)));
    const result = await work(left < most ? { tokensMax: left } : {});
    ({ promptTokens } = result);
    isMade = true;
    return result;
  } catch (error) {
    if (error instanceof WorkLeft) {
      ({ promptTokens } = error);
      throw error.reason;
    }
    const isBeyond = error instanceof ServiceError && error.code === "rate_limit_exceeded";
    const short = isBeyond && account ? quotas.shortage(account, most) : undefined;
    if (short === undefined) throw error;
    const { retryAfterSecs } = short;
    throw new ServiceError(short.code, reasonOf(error), defined({ retryAfterSecs }));
  } finally {
    release();
    reservation?.settle(promptTokens);
    const seconds = (performance.now() - startMs) / 1000;
    if (isMade || promptTokens > 0) usage.add(account, model, 1, { ...NOTHING_SPENT, promptTokens, seconds });
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
    if (isMade)
      usage.add(account, model, 1, { ...NOTHING_SPENT, seconds: (performance.now() - startMs) / 1000 });
  }
}

/** An answer of a text model. Counting alone is no answer. */
function answered<E extends AnswerEvent>(
  deps: MeterDeps,
  begun: Begun,
  isCount: boolean,
  signal: AbortSignal,
  work: () => AsyncIterable<E>,
): AsyncIterable<E> {
  try {
    return new MeteredAnswer(deps, begun, isCount, signal, work());
  } catch (refusal) {
    begun.release();
    throw refusal;
  }
}

/** Not a generator: each event would cost one more turn. */
class MeteredAnswer<E extends AnswerEvent> implements AsyncIterableIterator<E> {
  private readonly deps: MeterDeps;
  private readonly begun: Begun;
  private readonly isCount: boolean;
  private readonly source: AsyncIterator<E>;
  private isAccepted = false;
  private isOver = false;
  private spent = { ...NOTHING_SPENT };

  constructor(
    deps: MeterDeps,
    begun: Begun,
    isCount: boolean,
    signal: AbortSignal,
    source: AsyncIterable<E>,
  ) {
    this.deps = deps;
    this.begun = begun;
    this.isCount = isCount;
    this.source = source[Symbol.asyncIterator]();
    if (signal.aborted) this.end();
    else signal.addEventListener("abort", () => this.end(), { once: true });
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
    this.end();
    await this.source.return?.(value);
    return { done: true, value };
  }

  private take(event: AnswerEvent): void {
    this.begun.steps?.take(event);
    switch (event.type) {
      case "accepted":
        this.isAccepted = true;
        this.spent.promptTokens = event.promptTokens;
        return;
      case "text":
      case "reasoning":
        this.spent.completionTokens++; // for its trace, where it is broken off
        return;
      case "tool_call_start":
      case "tool_calling":
        this.spent.toolCalls++;
        return;
      case "choice_end":
        this.deps.meter?.ended(this.begun.model, event.reason);
        return;
      case "finish": {
        const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = event.usage;
        Object.assign(this.spent, { promptTokens, cachedTokens, completionTokens, reasoningTokens });
        this.end();
        return;
      }
      case "error":
        this.end();
        return;
      case "context_edited":
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

  /** Idempotent. */
  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    const { account, model, steps, release } = this.begun;
    steps?.end(this.spent);
    release();
    if (!this.isAccepted || this.isCount) return;
    const { toolCalls } = this.spent;
    this.deps.usage.add(account, model, 1, { ...NOTHING_SPENT, toolCalls }); // its runs have added theirs
  }
}
