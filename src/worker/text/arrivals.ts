// Requests whose prompts are being rendered and whose grammars are being compiled. FIFO, with separate queues for very
// long prompts and for prompts with media, whose files take time to decode.

import { modalitiesOf } from "../../core/message.ts";
import type { Prompt, RunRequest, Usage } from "../../core/run.ts";
import type { RunId } from "../../engine/protocol.ts";
import type { AnswerPlan, Backend, PendingPrompt, RenderedPrompt } from "./backend.ts";
import { toErrorData } from "../shared/error-data.ts";
import { MatcherSet } from "./choice.ts";
import type { ConstraintBackend, Matcher, PendingGrammar } from "./constraint-backend.ts";
import type { Partition } from "./partition.ts";
import type { Emit } from "./run-state.ts";

/** A request that has reached the engine. */
export interface Arrival {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly partition: Partition;
  /** Monotonic milliseconds. */
  readonly arrivedMs: number;
}

/** An arrival with its pending parts and their results. A pending part becomes undefined when its result is taken. */
interface Incoming extends Arrival {
  pending: PendingPrompt | undefined;
  prompt: RenderedPrompt | undefined;
  grammar: PendingGrammar | undefined;
  matcher: Matcher | undefined;
  calls: IncomingCalls | undefined;
}

/** The grammar of the answer's tool calls, known once the prompt is rendered. */
interface IncomingCalls {
  readonly plan: AnswerPlan;
  /** The run may begin before the grammar is compiled. */
  readonly isLate: boolean;
  pending: PendingGrammar | undefined;
  matcher: Matcher | undefined;
}

const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };

export class Arrivals {
  private readonly backend: Backend;
  private readonly constraints: () => ConstraintBackend;
  private readonly emit: Emit;
  private readonly now: () => number;
  private readonly texts = new ArrivalQueue();
  private readonly longTexts = new ArrivalQueue();
  private readonly media = new ArrivalQueue();
  private readonly queues = [this.texts, this.longTexts, this.media] as const;

  constructor(backend: Backend, constraints: () => ConstraintBackend, emit: Emit, now: () => number) {
    this.backend = backend;
    this.constraints = constraints;
    this.emit = emit;
    this.now = now;
  }

  get count(): number {
    return this.queues.reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** How long the same request has been at the head of its queue, milliseconds. Read it between calls of `take`. */
  get headMs(): number {
    const nowMs = this.now();
    return Math.max(...this.queues.map((queue) => queue.headMs(nowMs)));
  }

  /** Starts to render a request's prompt and to compile its constraint. */
  add(id: RunId, request: RunRequest, partition: Partition): void {
    try {
      const { constraint, constraintParam } = request;
      const grammar =
        constraint === undefined || needsPrompt(request)
          ? undefined
          : this.constraints().compile(constraint, constraintParam);
      const pending = this.backend.render(request.prompt);
      const arrivedMs = this.now();
      const arrival = { id, request, partition, arrivedMs };
      const text = pending.long ? this.longTexts : this.texts;
      const queue = hasMedia(request.prompt) ? this.media : text;
      const nothing = { prompt: undefined, matcher: undefined, calls: undefined };
      queue.waiting.push({ ...arrival, pending, grammar, ...nothing });
    } catch (error) {
      this.fail(id, error);
    }
  }

  /** Drops a request, of which nothing was computed. Ignores unknown ids. */
  abort(id: RunId): void {
    if (!this.queues.some((queue) => queue.abort(id))) return;
    this.emit(id, { type: "finish", usage: NO_USAGE, timings: { promptSecs: 0, completionSecs: 0 } });
  }

  /**
   * Passes ready requests to `accept`, waiting up to `waitMs` for the first. Errors of `accept`, rendering or compilation
   * become the run's error; prompt and matchers belong to `accept` only if it returns.
   */
  take(waitMs: number, accept: Accept): void {
    const fail = (id: RunId, error: unknown): void => this.fail(id, error);
    const first = this.queues.find(({ waiting }) => waiting.length > 0);
    for (const queue of this.queues) queue.take(queue === first ? waitMs : 0, accept, fail, this.constraints);
  }

  private fail(id: RunId, error: unknown): void {
    this.emit(id, { type: "error", error: toErrorData(error) });
  }
}

type Accept = (arrival: Arrival, prompt: RenderedPrompt, matchers: MatcherSet) => void;

/** FIFO of arrivals. */
class ArrivalQueue {
  waiting: Incoming[] = [];
  private head: { readonly incoming: Incoming; readonly sinceMs: number } | undefined;

  /** How long the same request has been at the head. */
  headMs(nowMs: number): number {
    const [incoming] = this.waiting;
    if (incoming === undefined) this.head = undefined;
    else if (this.head?.incoming !== incoming) this.head = { incoming, sinceMs: nowMs };
    return this.head === undefined ? 0 : nowMs - this.head.sinceMs;
  }

  /** Drops a request, and whether there was one. */
  abort(id: RunId): boolean {
    const at = this.waiting.findIndex((incoming) => incoming.id === id);
    for (const incoming of at < 0 ? [] : this.waiting.splice(at, 1)) drop(incoming);
    return at >= 0;
  }

  take(
    waitMs: number,
    accept: Accept,
    fail: (id: RunId, error: unknown) => void,
    constraints: () => ConstraintBackend,
  ): void {
    for (let incoming = this.waiting[0]; incoming !== undefined; incoming = this.waiting[0]) {
      try {
        const prompt = advance(incoming, waitMs, constraints);
        if (prompt === undefined) return;
        this.waiting.shift();
        accept(incoming, prompt, matchersOf(incoming));
      } catch (error) {
        if (this.waiting[0] === incoming) this.waiting.shift();
        drop(incoming);
        fail(incoming.id, error);
      }
    }
  }
}

function hasMedia(prompt: Prompt): boolean {
  return prompt.type === "chat" && modalitiesOf(prompt.messages).length > 0;
}

/** Whether the grammar depends on the rendered prompt: a schema may be combined with tool calls, or begin after markup. */
function needsPrompt({ constraint, prompt }: RunRequest): boolean {
  return prompt.type === "chat" && constraint?.type === "json_schema";
}

/** Takes finished parts; returns the prompt once all parts are finished. Throws what rendering or compiling threw. */
function advance(
  incoming: Incoming,
  waitMs: number,
  constraints: () => ConstraintBackend,
): RenderedPrompt | undefined {
  const { pending } = incoming;
  if (pending !== undefined) {
    incoming.pending = undefined; // when `take` throws, nothing is left to free
    incoming.prompt = pending.take(waitMs);
    if (incoming.prompt === undefined) incoming.pending = pending;
    else planAnswer(incoming, incoming.prompt, constraints);
  }
  const { grammar } = incoming;
  if (grammar !== undefined) {
    incoming.grammar = undefined;
    incoming.matcher = grammar.take(waitMs);
    if (incoming.matcher === undefined) incoming.grammar = grammar;
  }
  const { calls } = incoming;
  const awaited = calls?.pending;
  if (calls !== undefined && awaited !== undefined) {
    calls.pending = undefined;
    calls.matcher = awaited.take(calls.isLate ? 0 : waitMs);
    if (calls.matcher === undefined) calls.pending = awaited;
  }
  const isReady =
    incoming.pending === undefined &&
    incoming.grammar === undefined &&
    (calls?.pending === undefined || calls.isLate);
  return isReady ? incoming.prompt : undefined;
}

/** Whether a grammar of the request's own holds for the whole answer. */
function hasOther({ constraint, prompt }: RunRequest): boolean {
  const offersTools = prompt.type === "chat" && prompt.tools.length > 0;
  return constraint !== undefined && constraint.type !== "json_schema" && !offersTools;
}

/** Starts to compile the grammar of a rendered prompt's answer. */
function planAnswer(incoming: Incoming, prompt: RenderedPrompt, constraints: () => ConstraintBackend): void {
  const { request } = incoming;
  const { constraint, constraintParam, countOnly } = request;
  if (countOnly === true) return;
  const content = constraint?.type === "json_schema" ? constraint : undefined;
  const plan = hasOther(request) ? undefined : prompt.plan(content);
  if (plan !== undefined) {
    const pending = constraints().compile(plan.constraint, content === undefined ? "tools" : constraintParam);
    const isLate = plan.certain && plan.from !== "start" && request.choices === 1;
    incoming.calls = { plan, isLate, pending, matcher: undefined };
  } else if (needsPrompt(request) && content !== undefined) {
    incoming.grammar = constraints().compile(content, constraintParam);
  }
}

function matchersOf({ matcher, calls }: Incoming): MatcherSet {
  return new MatcherSet(matcher, calls?.plan, calls?.matcher ?? calls?.pending);
}

function drop({ pending, prompt, grammar, matcher, calls }: Incoming): void {
  pending?.free();
  prompt?.free();
  grammar?.free();
  matcher?.free();
  calls?.pending?.free();
  calls?.matcher?.free();
}
