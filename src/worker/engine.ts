// The engine: drain → plan → decode → sample → update → flush, over and over. Single owner of the backend. Nothing in a
// step awaits, so between two steps every invariant holds.

import { type AdapterId, BASE_MODEL } from "../core/adapter.ts";
import { assert } from "../core/assert.ts";
import type { ErrorData } from "../core/error.ts";
import { RENDER_MS_MAX } from "../core/limits.ts";
import type { FinishReason, RunRequest } from "../core/run.ts";
import type { EngineStats } from "../core/telemetry.ts";
import type { RunId } from "../engine/protocol.ts";
import type { AnswerGuard } from "./answer-guard.ts";
import { type Arrival, Arrivals, toErrorData } from "./arrivals.ts";
import { Batch } from "./batch.ts";
import type { Backend, RenderedPrompt } from "./backend.ts";
import {
  beginCall,
  type Choice,
  constrainTools,
  type EngineSequence,
  mayReason,
  newGuard,
} from "./choice.ts";
import type { ConstraintBackend, Matcher } from "./constraint-backend.ts";
import { TokenTexts } from "./detokenize.ts";
import { KvCache } from "./kv.ts";
import { StepMeter } from "./step-meter.ts";
import { Logprobs } from "./logprobs.ts";
import { checkRequest, type Emit, planLength, RunState } from "./run-state.ts";
import {
  type Candidate,
  measured,
  plan,
  prefillChunk,
  type PlannedRows,
  type StepCost,
} from "./scheduler.ts";
import { Sequence } from "./sequence.ts";
import { Turns } from "./turns.ts";

export interface EngineDeps {
  readonly backend: Backend;
  /** Called at the first request that has a constraint. */
  readonly constraints: () => ConstraintBackend;
  /** Finished prefixes kept for reuse; 0 keeps none. */
  readonly prefixesMax: number;
  readonly emit: Emit;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** A fresh seed for runs that bring none: an integer in [0, 2^53). */
  readonly newSeed: () => number;
}

/** worked: there may be more to do at once. rendering: only prompts are being rendered. idle: nothing until mail comes. */
export type StepOutcome = "worked" | "rendering" | "idle";

const ENGINE_FAILED: ErrorData = {
  code: "engine_failed",
  message: "The model's engine could not compute this request. It has been reset; send the request again.",
};

/** Waiting sequences looked at in one step. */
const CANDIDATES_MAX = 8;

export class Engine {
  private readonly backend: Backend;
  private readonly constraints: () => ConstraintBackend;
  private readonly now: () => number;
  private readonly newSeed: () => number;
  private readonly emit: Emit;
  private readonly texts = new TokenTexts();
  private readonly batch: Batch<EngineSequence>;
  private readonly kv: KvCache;
  private readonly arrivals: Arrivals;
  private readonly logprobs: Logprobs;
  private readonly meter = new StepMeter();
  private waiting: EngineSequence[] = []; // first come first
  private running: EngineSequence[] = []; // in order of admission
  /** Tokens of a step: one compute batch, so that newcomers and aborts never wait for more; but every row has its turn. */
  private readonly budget: number;
  private readonly turns = new Turns();
  /** The adapter that passes go through now. */
  private selected: AdapterId = BASE_MODEL;
  private cost: StepCost = { decodeMs: 0, prefillTokenMs: 0 };

  constructor({ backend, constraints, prefixesMax, emit, now, newSeed }: EngineDeps) {
    this.backend = backend;
    this.constraints = constraints;
    this.now = now;
    this.newSeed = newSeed;
    this.emit = emit;
    this.budget = Math.min(backend.batch, Math.max(backend.ubatch, backend.maxSeqs));
    this.batch = new Batch(this.budget, backend.maxSeqs);
    this.kv = new KvCache(backend, prefixesMax);
    this.arrivals = new Arrivals(backend, constraints, emit, now);
    this.logprobs = new Logprobs(backend, this.texts);
    backend.selectAdapter(this.selected);
  }

  /** Takes a run. Its events follow from the next steps on. The adapter must stay until the run has ended. */
  add(id: RunId, request: RunRequest, adapter: AdapterId = BASE_MODEL): void {
    this.arrivals.add(id, request, adapter);
  }

  /** Forgets what an adapter has left behind; no run may use it any more. */
  forgetAdapter(adapter: AdapterId): void {
    this.kv.dropAdapter(adapter);
    this.turns.forget(adapter);
    if (this.selected === adapter) this.select(BASE_MODEL);
  }

  /** Ends a run without further events. Unknown ids are ignored: the run may just have ended. */
  abort(id: RunId): void {
    this.arrivals.abort(id);
    for (const sequence of [...this.running, ...this.waiting]) {
      const { run } = sequence.owner;
      if (run.id !== id) continue;
      this.release(sequence, true);
      run.close();
    }
  }

  /** Sequences that hold a slot, for tests and metrics. */
  get runningCount(): number {
    return this.running.length;
  }

  /** Whether a prompt has been rendered for so long that it never will be: native code that cannot be interrupted. */
  get isStuck(): boolean {
    return this.arrivals.headMs > RENDER_MS_MAX;
  }

  /** The cache, for tests and metrics. */
  get cache(): KvCache {
    return this.kv;
  }

  /** The numbers so far, but for those of the process and the embedder. */
  stats(): Omit<EngineStats, "residentBytes" | "embedTokens"> {
    return {
      waiting: this.waiting.length + this.arrivals.count,
      running: this.running.length,
      cells: this.backend.cells,
      cellsRunning: this.backend.cells - this.kv.availableCells,
      cellsKept: this.kv.keptCells,
      ...this.meter.counted(),
    };
  }

  /** One step. `waitMs` is how long it may wait for a prompt to be rendered when there is nothing to compute. */
  step(waitMs: number): StepOutcome {
    const busy = this.running.length > 0 || this.waiting.length > 0;
    this.arrivals.take(busy ? 0 : waitMs, (arrival, prompt, matcher) =>
      this.accept(arrival, prompt, matcher),
    );
    const rows = this.schedule();
    if (rows.length > 0) {
      this.compute(rows);
      return "worked";
    }
    assert(this.running.length === 0 && this.waiting.length === 0, "whoever waits alone is admitted");
    return this.arrivals.count > 0 ? "rendering" : "idle";
  }

  /** Takes a rendered request in. `matcher` belongs to us only if this returns. */
  private accept(arrival: Arrival, prompt: RenderedPrompt, matcher: Matcher | undefined): void {
    const { request } = arrival;
    checkRequest(request, this.backend.vocabulary);
    if (request.countOnly === true) {
      new RunState(arrival, prompt, 0, this.emit).finish(this.now());
      matcher?.free();
      return;
    }
    const { drop, cap } = planLength(prompt.tokens.length, request, this.backend.contextTokens);
    const run = new RunState(arrival, prompt, cap, this.emit);
    const tokens = prompt.tokens.subarray(drop);
    const seed = request.sampling.seed ?? this.newSeed();
    try {
      for (let choice = 0; choice < request.choices; choice++) {
        const guard = newGuard(choice === 0 ? matcher : matcher?.clone(), prompt, request);
        this.addChoice(run, choice, guard, { tokens, seed });
      }
    } catch (error) {
      // Earlier choices own the prompt and the matcher by now, so they are not handed back.
      this.failRun(run, toErrorData(error));
    }
  }

  private addChoice(
    run: RunState,
    choice: number,
    guard: AnswerGuard | undefined,
    { tokens, seed }: { readonly tokens: Int32Array; readonly seed: number },
  ): void {
    const { request, prompt, tokenCap } = run;
    const scores = request.echo === true && request.logprobs !== undefined;
    const output = run.newOutput(choice, this.texts);
    if (request.echo === true && !scores) output.echo(this.promptText(tokens));
    const sampler = this.backend.newSampler(request.sampling, tokens, seed, choice);
    const { toolGrammar, callMarker } = prompt.format;
    if (toolGrammar === "start") this.backend.constrainTools(sampler, prompt, new Int32Array());
    const owner = { run, output, guard, marker: callMarker, tools: toolGrammar === "marker" };
    const sequence = new Sequence<Choice>(owner, tokens, sampler, {
      adapter: run.adapter,
      scoresPrompt: scores,
    });
    if (tokenCap > 0 && !mayReason(prompt, request)) beginCall(this.backend, sequence);
    // An echo needs no computing; a prompt that nothing is to follow is there to be computed.
    const echoed = tokenCap === 0 && request.echo === true && !scores;
    if (echoed) this.endChoice(sequence, "length", false, this.now());
    else this.waiting.push(sequence);
  }

  private promptText(tokens: Int32Array): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const text = Array.from(tokens, (token) =>
      decoder.decode(this.backend.tokenBytes(token, false), { stream: true }),
    );
    return text.join("") + decoder.decode();
  }

  /** The rows of the next step: those of the first adapter in turn that can compute anything. */
  private schedule(): readonly PlannedRows<EngineSequence>[] {
    const nowMs = this.now();
    for (const adapter of this.turns.order(this.wanting(), nowMs)) {
      const rows = this.scheduleFor(adapter);
      if (rows.length === 0) continue;
      this.turns.take(adapter, nowMs);
      this.select(adapter);
      return rows;
    }
    return [];
  }

  /** The adapters of all sequences, each once. */
  private wanting(): readonly AdapterId[] {
    const found: AdapterId[] = [];
    for (const { adapter } of this.running) if (!found.includes(adapter)) found.push(adapter);
    for (const { adapter } of this.waiting) if (!found.includes(adapter)) found.push(adapter);
    return found;
  }

  private select(adapter: AdapterId): void {
    if (adapter === this.selected) return;
    this.backend.selectAdapter(adapter);
    this.selected = adapter;
  }

  /** Plans a step of one adapter's sequences and moves sequences in and out of their slots as it says. */
  private scheduleFor(adapter: AdapterId): readonly PlannedRows<EngineSequence>[] {
    const inTurn = (sequence: EngineSequence): boolean => sequence.adapter === adapter;
    const candidates = this.candidates(adapter);
    const served = this.running.filter(inTurn);
    const decoding = served.filter(({ gap }) => gap === 1).length;
    const prefilling = served.length - decoding + candidates.length;
    const { rows, admitted, preempted } = plan<EngineSequence>({
      running: this.running,
      inTurn,
      candidates,
      freeSlots: this.freeRuns(),
      freeCells: this.kv.availableCells,
      exclusiveCells: (sequence) => this.kv.exclusiveCells(sequence),
      budget: this.budget,
      chunk: prefillChunk(this.cost, this.backend.ubatch, decoding, prefilling),
    });
    if (preempted.length > 0) this.preempt(preempted);
    this.meter.preempted(preempted.length);
    for (const { sequence, shared } of admitted) {
      this.kv.admit(sequence, this.running, shared);
      this.waiting.splice(this.waiting.indexOf(sequence), 1);
      this.running.push(sequence);
      const { run, output } = sequence.owner;
      if (sequence.generated === 0) this.meter.admitted(sequence.computed);
      if (output.index === 0 && sequence.generated === 0) run.cachedTokens = sequence.computed;
    }
    this.kv.makeRoom(rows.reduce((sum, { count }) => sum + count, 0));
    return rows;
  }

  private freeRuns(): number {
    return Math.min(this.backend.maxSeqs - this.running.length, this.kv.availableSlots);
  }

  /**
   * The first waiting sequences with what each finds in the cache, less those that had better wait for a prefix. Nobody
   * overtakes a sequence of another adapter: its turn comes soon, and it must find room then.
   */
  private candidates(adapter: AdapterId): readonly Candidate<EngineSequence>[] {
    if (this.waiting.length === 0) return [];
    const candidates: Candidate<EngineSequence>[] = [];
    const ahead: EngineSequence[] = [];
    const most = Math.min(CANDIDATES_MAX, this.freeRuns());
    for (const sequence of this.waiting) {
      if (candidates.length >= most || sequence.adapter !== adapter) break;
      const { shared, sharedPinned, wait } = this.kv.match(sequence, this.running, ahead);
      if (wait) continue;
      candidates.push({ sequence, shared, sharedPinned });
      ahead.push(sequence);
    }
    return candidates;
  }

  /** Gives up the cells of some sequences; they start over from their known tokens when there is room again. */
  private preempt(sequences: readonly EngineSequence[]): void {
    for (const sequence of sequences) {
      this.kv.release(sequence, false);
      this.running.splice(this.running.indexOf(sequence), 1);
      this.waiting.unshift(sequence);
    }
  }

  private compute(rows: readonly PlannedRows<EngineSequence>[]): void {
    const startMs = this.now();
    const prefillTokens = this.batch.fill(rows);
    // Masks depend on what was drawn before, not on the logits: they are computed while the model is.
    const matchers = this.batch.drawn.flatMap(({ owner }) => owner.guard?.active ?? []);
    if (matchers.length > 0) this.constraints().masksBegin(matchers);
    const outcome = this.backend.decode(this.batch.columns, this.batch.count);
    if (matchers.length > 0) this.constraints().masksWait();
    if (outcome === "full") return this.makeRoom();
    if (outcome === "failed") return this.failAll(rows);
    this.scorePrompts(rows);
    const continued = rows.filter(({ sequence }) => sequence.generated > 0 && sequence.gap === 1).length;
    for (const { sequence, count } of rows) this.kv.extend(sequence, count);
    const { drawn, batchRows, samplers, masks, tokens } = this.batch;
    drawn.forEach(({ owner }, i) => (masks[i] = owner.guard?.maskAddress() ?? 0n));
    if (drawn.length > 0) this.backend.sample(drawn.length, batchRows, samplers, masks, tokens);
    const nowMs = this.now();
    this.cost = measured(this.cost, nowMs - startMs, this.batch.count - prefillTokens, prefillTokens);
    this.meter.stepped(nowMs - startMs, this.batch.count, this.batch.count - continued, drawn.length);
    drawn.forEach((sequence, i) => this.update(sequence, tokens[i] ?? -1, batchRows[i] ?? 0, nowMs));
  }

  /** Log probabilities of prompt tokens, for echoed prompts. */
  private scorePrompts(rows: readonly PlannedRows<EngineSequence>[]): void {
    let row = 0;
    for (const { sequence, count } of rows) {
      if (sequence.scoresPrompt && sequence.computed < sequence.promptTokens)
        this.scorePrompt(sequence, row, count);
      row += count;
    }
  }

  private scorePrompt(sequence: EngineSequence, row: number, count: number): void {
    const { run, output } = sequence.owner;
    const top = run.request.logprobs?.top ?? 0;
    for (let i = 0; i < count; i++) {
      const position = sequence.computed + i;
      if (position === 0) output.noteLogprob(this.logprobs.unscored(sequence.tokenAt(0)));
      if (position + 1 >= sequence.promptTokens) continue;
      output.noteLogprob(this.logprobs.at(row + i, sequence.tokenAt(position + 1), top));
    }
    if (sequence.computed + count === sequence.promptTokens)
      output.echo(this.promptText(sequence.firstTokens(sequence.promptTokens)));
  }

  /** The cache had no room although our count said so (a model may need more cells than one a token). */
  private makeRoom(): void {
    if (this.kv.keptCount > 0) return this.kv.dropAll();
    const youngest = this.running.at(-1);
    if (this.running.length > 1 && youngest !== undefined) return this.preempt([youngest]);
    for (const { owner } of this.running) this.failRun(owner.run, ENGINE_FAILED);
  }

  private failAll(rows: readonly PlannedRows<EngineSequence>[]): void {
    for (const { sequence } of rows) this.failRun(sequence.owner.run, ENGINE_FAILED);
  }

  private failRun(run: RunState, error: ErrorData): void {
    for (const sequence of [...this.running, ...this.waiting]) {
      if (sequence.owner.run === run) this.release(sequence, false);
    }
    run.fail(error);
  }

  /** Takes a drawn token into its sequence and says what follows from it. */
  private update(sequence: EngineSequence, token: number, row: number, nowMs: number): void {
    const { run, output } = sequence.owner;
    if (token < 0) return this.failRun(run, sequence.owner.guard?.failure() ?? ENGINE_FAILED);
    if (run.tokenCap === 0) return this.endChoice(sequence, "length", false, nowMs); // the prompt was all
    sequence.append(token);
    run.tokenDrawn(nowMs, output.reasoning);
    const { logprobs, ignoreEnd = false } = run.request;
    const ends = this.backend.endsGeneration(token) && !ignoreEnd;
    if (ends) return this.endChoice(sequence, "stop", false, nowMs);
    if (logprobs !== undefined) output.noteLogprob(this.logprobs.at(row, token, logprobs.top));
    const visible = run.prompt.format.visibleTokens.has(token);
    const stopped = output.push(token, this.backend.tokenBytes(token, visible));
    if (stopped) return this.endChoice(sequence, "stop", true, nowMs);
    const guardError = sequence.owner.guard?.accept(token, output.answering);
    if (guardError !== undefined) return this.failRun(run, guardError);
    if (sequence.owner.marker.length > 0 && output.answering) beginCall(this.backend, sequence);
    if (sequence.owner.tools && output.toolCallBegan) constrainTools(this.backend, sequence);
    if (sequence.generated >= run.tokenCap) this.endChoice(sequence, "length", false, nowMs);
  }

  private endChoice(sequence: EngineSequence, reason: FinishReason, stopped: boolean, nowMs: number): void {
    const { run, output } = sequence.owner;
    output.end(reason, stopped);
    this.release(sequence, true);
    run.choiceEnded(nowMs);
  }

  /** Takes a sequence out of the engine with everything it holds. `keep`: its prefix may be of use to others. */
  private release(sequence: EngineSequence, keep: boolean): void {
    this.kv.release(sequence, keep);
    this.backend.freeSampler(sequence.sampler);
    sequence.owner.guard?.free();
    this.running = this.running.filter((other) => other !== sequence);
    this.waiting = this.waiting.filter((other) => other !== sequence);
  }
}
