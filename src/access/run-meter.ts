// Counts the tokens of runs and holds them to their key's limits: an answer, each later round of it and each summary is a run. What
// is set aside and what is charged is decided here alone. Set aside: what a run may take at most, before it begins where it has no
// bound of its own, once its prompt is counted where it has one; so a limit is never passed. Charged: what the engine has computed.

import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { type Message, messageText } from "../core/message.ts";
import { cardOf, type ModelInfo } from "../core/model-info.ts";
import {
  answerCap,
  type Generate,
  type Prompt,
  type RunEvent,
  type RunRequest,
  type Usage,
} from "../core/run.ts";
import { NOTHING_SPENT } from "../core/usage.ts";
import { MARKUP_TOKENS, MEDIA_TOKENS } from "./limits.ts";
import type { KeyQuotas, Reservation } from "./quotas.ts";
import type { UsageBook } from "./usage-book.ts";

export interface RunMeterDeps {
  readonly quotas: KeyQuotas;
  readonly usage: UsageBook;
  /** Served models and adapters, the default one first. */
  readonly models: () => readonly ModelInfo[];
}

/** The runs, counted. `name`: of the model in usage; absent: the model's own. */
export function meteredRuns(deps: RunMeterDeps, generate: Generate, name?: string): Generate {
  return (request, signal, caller) => {
    if (request.countOnly === true) return generate(request, signal, caller);
    const card = cardOf(deps.models(), request.model, "generates");
    const model = name ?? card?.id ?? "unknown";
    return new MeteredRun(
      deps,
      { request, signal, caller, model, ...defined({ contextTokens: card?.contextTokens }) },
      generate,
    );
  };
}

interface Run {
  readonly request: RunRequest;
  readonly signal: AbortSignal;
  readonly caller: Caller;
  readonly model: string;
  readonly contextTokens?: number;
}

/** Not a generator: each event would cost one more turn. */
class MeteredRun implements AsyncIterableIterator<RunEvent> {
  private readonly deps: RunMeterDeps;
  private readonly run: Run;
  private readonly generate: Generate;
  private source: AsyncIterator<RunEvent> | undefined;
  private reservation: Reservation | undefined;
  /** As the engine is asked. */
  private asked: RunRequest;
  private promptTokens = 0;
  private startMs = performance.now();
  private isAccepted = false;
  private isOver = false;
  private spent = { ...NOTHING_SPENT };
  private readonly stop = new AbortController();
  /** What the engine says once it has stopped a run that was broken off. */
  private left: Promise<Usage | undefined> | undefined;

  constructor(deps: RunMeterDeps, run: Run, generate: Generate) {
    this.deps = deps;
    this.run = run;
    this.generate = generate;
    this.asked = { ...run.request, progress: run.request.progress ?? "prompt" };
    if (run.signal.aborted) this.stop.abort(run.signal.reason);
    else run.signal.addEventListener("abort", this.leave, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<RunEvent>> {
    try {
      for (;;) {
        if (this.isOver && this.source === undefined) return { done: true, value: undefined };
        const result = await (this.source ??= this.begin()).next();
        if (result.done === true) this.end();
        else this.take(result.value);
        if (result.done === true || !this.isHidden(result.value)) return result;
      }
    } catch (error) {
      if (!(error instanceof Refused)) {
        this.leave();
        throw error;
      }
      this.end(); // who is refused pays nothing, whatever the engine has computed until it stops
      void this.source?.return?.();
      this.source = undefined;
      return { done: false, value: { type: "error", error: error.refusal.toData() } };
    }
  }

  async return(value?: unknown): Promise<IteratorResult<RunEvent>> {
    this.leave();
    await this.source?.return?.(value);
    return { done: true, value };
  }

  /** Sets aside what a run without a bound may take, which becomes its bound. Throws Refused. */
  private begin(): AsyncIterator<RunEvent> {
    const { request, contextTokens = Infinity } = this.run;
    const caller: Caller = { ...this.run.caller, leaves: (left) => void (this.left = left) };
    const { account } = caller;
    if (account !== undefined && request.maxTokens === undefined) {
      const { quotas } = this.deps;
      const answer = refusing(() => quotas.share(account, request.choices));
      if (answer !== Infinity) {
        const most = Math.min(tokensAtMost(request.prompt) + answer, contextTokens * request.choices);
        this.reservation = refusing(() => quotas.reserve(account, Math.min(most, quotas.left(account))));
        const maxTokens = Math.max(1, Math.floor(answer / request.choices));
        this.asked = { ...this.asked, maxTokens, tokensMax: this.reservation.tokens };
      }
    }
    return this.generate(this.asked, this.stop.signal, caller)[Symbol.asyncIterator]();
  }

  /** Only who asked for them gets reports on the prompt. */
  private isHidden({ type }: RunEvent): boolean {
    return type === "prompt_progress" && this.run.request.progress !== true;
  }

  private take(event: RunEvent): void {
    switch (event.type) {
      case "accepted":
        return this.accept(event.promptTokens);
      case "prompt_progress":
        return this.read(event.processed, event.cached);
      case "text":
      case "reasoning":
      case "tool_call_args":
        this.spent.completionTokens++; // at least; exact once the run is complete
        return this.read(this.promptTokens, 0);
      case "tool_call_start":
        return this.read(this.promptTokens, 0);
      case "finish": {
        const { usage, timings } = event;
        const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage;
        const seconds = timings.promptSecs + timings.completionSecs;
        this.spent = { promptTokens, cachedTokens, completionTokens, reasoningTokens, toolCalls: 0, seconds };
        return this.end();
      }
      case "error":
        return this.end();
      case "choice_end":
      case "load_progress":
      case "context_edited":
    }
  }

  /** Sets aside what the run may take from here on, now that its prompt is counted. Throws Refused. */
  private accept(promptTokens: number): void {
    const { account } = this.run.caller;
    this.promptTokens = promptTokens;
    this.startMs = performance.now();
    if (account !== undefined) {
      const { choices } = this.asked;
      const wanted = promptTokens + (answerCap(this.asked, promptTokens) ?? 0) * choices;
      this.reservation?.settle(0);
      this.reservation = undefined;
      this.reservation = refusing(() => this.deps.quotas.reserve(account, wanted));
    }
    this.isAccepted = true;
  }

  /** Counts the prompt as far as it is computed. */
  private read(promptTokens: number, cachedTokens: number): void {
    this.spent.promptTokens = Math.max(this.spent.promptTokens, promptTokens);
    this.spent.cachedTokens = Math.max(this.spent.cachedTokens, Math.min(cachedTokens, promptTokens));
  }

  /** Idempotent. A run that is broken off: its engine has computed more than it has sent, and says how much. */
  private readonly leave = (): void => {
    if (this.isOver) return;
    this.isOver = true;
    this.stop.abort(this.run.signal.reason);
    if (this.left === undefined) return this.settle();
    void this.left.then((usage) => {
      if (usage !== undefined) {
        this.spent = { ...this.spent, ...usage };
        this.isAccepted = true;
      }
      this.settle();
    });
  };

  /** Idempotent. */
  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.settle();
  }

  private settle(): void {
    const { caller, model, signal } = this.run;
    signal.removeEventListener("abort", this.leave);
    const { promptTokens, completionTokens, seconds } = this.spent;
    this.reservation?.settle(promptTokens + completionTokens);
    if (!this.isAccepted || promptTokens + completionTokens === 0) return;
    const secs = seconds === 0 ? (performance.now() - this.startMs) / 1000 : seconds;
    this.deps.usage.add(caller.account, model, 0, { ...this.spent, seconds: secs });
  }
}

/** A key's limit does not let a run go on. */
class Refused extends Error {
  readonly refusal: ServiceError;

  constructor(refusal: ServiceError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

function refusing<T>(ask: () => T): T {
  try {
    return ask();
  } catch (refusal) {
    throw refusal instanceof ServiceError ? new Refused(refusal) : refusal;
  }
}

/** Tokens that a prompt hardly exceeds: few are shorter than a byte. Exact numbers come with `accepted`. */
function tokensAtMost(prompt: Prompt): number {
  switch (prompt.type) {
    case "tokens":
      return prompt.tokens.length;
    case "text":
      return bytesOf(prompt.text, prompt.suffix);
    case "gap":
      return bytesOf(prompt.before, prompt.after, ...prompt.files.map(({ text }) => text));
    case "chat": {
      const spoken = prompt.messages.reduce((sum, message) => sum + tokensOfMessage(message), 0);
      return spoken + bytesOf(JSON.stringify(prompt.tools)) + MARKUP_TOKENS;
    }
  }
}

function tokensOfMessage(message: Message): number {
  const { content, reasoning, toolCalls = [] } = message;
  const media = content.filter(({ type }) => type !== "text").length;
  const calls = toolCalls.map(({ name, arguments: args }) => bytesOf(name, args) + MARKUP_TOKENS);
  const said = bytesOf(messageText(message), reasoning) + MARKUP_TOKENS;
  return calls.reduce((sum, one) => sum + one, said) + media * MEDIA_TOKENS;
}

function bytesOf(...texts: readonly (string | undefined)[]): number {
  return texts.reduce((sum, text = "") => sum + Buffer.byteLength(text), 0);
}
