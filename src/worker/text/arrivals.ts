// Requests whose prompts are still being rendered. They leave in the order they came, but for very long ones and those with
// pictures and recordings, whose files take time to read: both have a line of their own.

import type { AdapterId } from "../../core/adapter.ts";
import { modalitiesOf } from "../../core/message.ts";
import type { Prompt, RunRequest } from "../../core/run.ts";
import type { RunId } from "../../engine/protocol.ts";
import type { AnswerPlan, Backend, PendingPrompt, RenderedPrompt } from "./backend.ts";
import { toErrorData } from "../shared/error-data.ts";
import { MatcherSet } from "./choice.ts";
import type { ConstraintBackend, Matcher, PendingGrammar } from "./constraint-backend.ts";
import type { Emit } from "./run-state.ts";

/** A request on its way in. */
export interface Arrival {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly adapter: AdapterId;
  /** Monotonic milliseconds. */
  readonly arrivedMs: number;
}

/** An arrival with what has become of its halves so far. What is pending is set to undefined once it has been taken. */
interface Incoming extends Arrival {
  pending: PendingPrompt | undefined;
  prompt: RenderedPrompt | undefined;
  grammar: PendingGrammar | undefined;
  matcher: Matcher | undefined;
  calls: IncomingCalls | undefined;
}

/** The grammar of the answer's tool calls, which is known once the prompt is. */
interface IncomingCalls {
  readonly plan: AnswerPlan;
  pending: PendingGrammar | undefined;
  matcher: Matcher | undefined;
}

export class Arrivals {
  private readonly backend: Backend;
  private readonly constraints: () => ConstraintBackend;
  private readonly emit: Emit;
  private readonly now: () => number;
  private readonly texts = new Line();
  private readonly longTexts = new Line();
  private readonly media = new Line();
  private readonly lines = [this.texts, this.longTexts, this.media] as const;

  constructor(backend: Backend, constraints: () => ConstraintBackend, emit: Emit, now: () => number) {
    this.backend = backend;
    this.constraints = constraints;
    this.emit = emit;
    this.now = now;
  }

  get count(): number {
    return this.lines.reduce((sum, { queue }) => sum + queue.length, 0);
  }

  /** Time for which the same request has been the first in line, milliseconds. Read it between calls of `take`. */
  get headMs(): number {
    const nowMs = this.now();
    return Math.max(...this.lines.map((line) => line.headMs(nowMs)));
  }

  /** Begins to render a request's prompt and to compile what its answer must look like. */
  add(id: RunId, request: RunRequest, adapter: AdapterId): void {
    try {
      const { constraint, constraintParam } = request;
      const grammar =
        constraint === undefined || needsPrompt(request)
          ? undefined
          : this.constraints().compile(constraint, constraintParam);
      const pending = this.backend.render(request.prompt);
      const arrivedMs = this.now();
      const arrival = { id, request, adapter, arrivedMs };
      const text = pending.long ? this.longTexts : this.texts;
      const line = hasMedia(request.prompt) ? this.media : text;
      const nothing = { prompt: undefined, matcher: undefined, calls: undefined };
      line.queue.push({ ...arrival, pending, grammar, ...nothing });
    } catch (error) {
      this.fail(id, error);
    }
  }

  /** Drops a request; unknown ids are ignored. */
  abort(id: RunId): void {
    for (const line of this.lines) line.abort(id);
  }

  /**
   * Hands over what is ready, waiting up to `waitMs` for the first. What `accept`, the rendering or the compilation
   * throws becomes the run's error; prompt and matcher belong to `accept` only if it returns.
   */
  take(waitMs: number, accept: Accept): void {
    const fail = (id: RunId, error: unknown): void => this.fail(id, error);
    const first = this.lines.find(({ queue }) => queue.length > 0);
    for (const line of this.lines) line.take(line === first ? waitMs : 0, accept, fail, this.constraints);
  }

  private fail(id: RunId, error: unknown): void {
    this.emit(id, { type: "error", error: toErrorData(error) });
  }
}

type Accept = (arrival: Arrival, prompt: RenderedPrompt, matchers: MatcherSet) => void;

/** Arrivals that do not overtake each other. */
class Line {
  queue: Incoming[] = [];
  private head: { readonly incoming: Incoming; readonly sinceMs: number } | undefined;

  /** Time for which the same request has been the first, as of when it was looked at. */
  headMs(nowMs: number): number {
    const [incoming] = this.queue;
    if (incoming === undefined) this.head = undefined;
    else if (this.head?.incoming !== incoming) this.head = { incoming, sinceMs: nowMs };
    return this.head === undefined ? 0 : nowMs - this.head.sinceMs;
  }

  abort(id: RunId): void {
    for (const incoming of this.queue) if (incoming.id === id) drop(incoming);
    this.queue = this.queue.filter((incoming) => incoming.id !== id);
  }

  take(
    waitMs: number,
    accept: Accept,
    fail: (id: RunId, error: unknown) => void,
    constraints: () => ConstraintBackend,
  ): void {
    for (let incoming = this.queue[0]; incoming !== undefined; incoming = this.queue[0]) {
      try {
        const prompt = advance(incoming, waitMs, constraints);
        if (prompt === undefined) return;
        this.queue.shift();
        accept(incoming, prompt, matchersOf(incoming));
      } catch (error) {
        if (this.queue[0] === incoming) this.queue.shift();
        drop(incoming);
        fail(incoming.id, error);
      }
    }
  }
}

function hasMedia(prompt: Prompt): boolean {
  return prompt.type === "chat" && modalitiesOf(prompt.messages).length > 0;
}

/** Whether only the prompt says what the grammar is: a schema may be one with tool calls, or begin behind markup. */
function needsPrompt({ constraint, prompt }: RunRequest): boolean {
  return prompt.type === "chat" && constraint?.type === "json_schema";
}

/** Takes over what has become ready; the prompt once all is there. Throws what rendering or compiling threw. */
function advance(
  incoming: Incoming,
  waitMs: number,
  constraints: () => ConstraintBackend,
): RenderedPrompt | undefined {
  const { pending } = incoming;
  if (pending !== undefined) {
    incoming.pending = undefined; // if it throws, nothing of it is left to free
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
    calls.matcher = awaited.take(waitMs);
    if (calls.matcher === undefined) calls.pending = awaited;
  }
  const isReady =
    incoming.pending === undefined && incoming.grammar === undefined && calls?.pending === undefined;
  return isReady ? incoming.prompt : undefined;
}

/** Begins to compile what a rendered prompt's answer may be. */
function planAnswer(incoming: Incoming, prompt: RenderedPrompt, constraints: () => ConstraintBackend): void {
  const { request } = incoming;
  if (request.countOnly === true) return;
  const { constraint, constraintParam } = request;
  const content = constraint?.type === "json_schema" ? constraint : undefined;
  const plan = prompt.plan(content);
  if (plan !== undefined) {
    const pending = constraints().compile(plan.constraint, content === undefined ? "tools" : constraintParam);
    incoming.calls = { plan, pending, matcher: undefined };
  } else if (needsPrompt(request) && content !== undefined) {
    incoming.grammar = constraints().compile(content, constraintParam);
  }
}

function matchersOf({ matcher, calls }: Incoming): MatcherSet {
  return new MatcherSet(matcher, calls?.plan, calls?.matcher);
}

function drop({ pending, prompt, grammar, matcher, calls }: Incoming): void {
  pending?.free();
  prompt?.free();
  grammar?.free();
  matcher?.free();
  calls?.pending?.free();
  calls?.matcher?.free();
}
