// The engine: drain → plan → decode → sample → update → flush, over and over. Single owner of the backend. Nothing in a
// step awaits, so between two steps every invariant holds.

import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";
import { assert } from "../../core/assert.ts";
import type { ErrorData } from "../../core/error.ts";
import { ENCODINGS_BYTES_MAX } from "../../core/limits.ts";
import { RENDER_MS_MAX } from "../shared/limits.ts";
import type { FinishReason, RunRequest } from "../../core/run.ts";
import type { EngineStats } from "../../core/telemetry.ts";
import type { RunId } from "../../engine/protocol.ts";
import { toErrorData } from "../shared/error-data.ts";
import { type Arrival, Arrivals } from "./arrivals.ts";
import { Batch } from "./batch.ts";
import type { Backend, RenderedPrompt } from "./backend.ts";
import { beginCalls, type EngineSequence, type MatcherSet } from "./choice.ts";
import type { ConstraintBackend } from "./constraint-backend.ts";
import { TokenTexts } from "./detokenize.ts";
import { KvCache } from "./kv.ts";
import { MediaStore } from "./media.ts";
import { chunksFrom, cutFrom } from "./media-layout.ts";
import { type ChoiceStart, newChoice } from "./new-choice.ts";
import { type Guesses, NO_GUESSES, newSpeculation, type Speculation, type Take } from "./speculation.ts";
import { StepMeter } from "./step-meter.ts";
import { Logprobs } from "./logprobs.ts";
import { PromptEcho } from "./prompt-echo.ts";
import { checkRequest, type Emit, planLength, RunState } from "./run-state.ts";
import { draftPrice, measured, measuredDraft, type PlannedRows, UNKNOWN_COST } from "./scheduler.ts";
import { Roster } from "./roster.ts";
import { StepsAhead } from "./steps-ahead.ts";

export interface EngineDeps {
  readonly backend: Backend;
  /** Called at the first request that has a constraint. */
  readonly constraints: () => ConstraintBackend;
  /** Finished prefixes kept for reuse; 0 keeps none. */
  readonly prefixesMax: number;
  /** Room for checkpoints, bytes; none by default. */
  readonly checkpointBytes?: number;
  /** Guess next tokens from what stands in the sequence already; a backend with a model that guesses uses that. */
  readonly drafts?: boolean;
  /** How long a step may be made of several, nobody being heard meanwhile, milliseconds; none is by default. */
  readonly aheadMs?: number;
  /** Give up all cells after each token, so that every token is computed from the whole sequence. */
  readonly recompute?: boolean;
  readonly emit: Emit;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** A fresh seed for runs that bring none: an integer in [0, 2^53). */
  readonly newSeed: () => number;
}

/**
 * worked: there may be more to do at once. rendering: only prompts are being rendered, or media encoded. idle: nothing until
 * mail comes.
 */
export type StepOutcome = "worked" | "rendering" | "idle";

const ENGINE_FAILED: ErrorData = {
  code: "engine_failed",
  message: "The model's engine could not compute this request. It has been reset; send the request again.",
};

/** Guessed tokens of one step: each has a row of logits, vocabulary × 4 bytes. */
const DRAFT_ROWS_MAX = 32;

export class Engine {
  private readonly backend: Backend;
  private readonly constraints: () => ConstraintBackend;
  private readonly now: () => number;
  private readonly newSeed: () => number;
  private readonly emit: Emit;
  private readonly texts = new TokenTexts();
  private readonly batch: Batch<EngineSequence>;
  private readonly kv: KvCache;
  private readonly media: MediaStore;
  private readonly arrivals: Arrivals;
  private readonly logprobs: Logprobs;
  private readonly echo: PromptEcho;
  private readonly meter = new StepMeter();
  private readonly roster: Roster;
  private readonly speculation: Speculation | undefined;
  private readonly ahead: StepsAhead;
  /** Tokens of a step: one compute batch, so that newcomers and aborts never wait for more; but every row has its turn. */
  private readonly budget: number;
  private cost = UNKNOWN_COST;

  constructor(deps: EngineDeps) {
    const { backend, constraints, drafts = false, aheadMs = 0, emit, now, newSeed } = deps;
    this.backend = backend;
    this.constraints = constraints;
    this.now = now;
    this.newSeed = newSeed;
    this.emit = emit;
    this.speculation = newSpeculation(backend, drafts);
    this.ahead = new StepsAhead(backend, aheadMs);
    this.budget = Math.min(backend.batch, Math.max(backend.ubatch, backend.maxSeqs));
    this.batch = new Batch(this.budget, backend.maxSeqs);
    this.kv = new KvCache(backend, deps.prefixesMax, deps.checkpointBytes);
    this.media = new MediaStore(backend, ENCODINGS_BYTES_MAX, now);
    this.roster = new Roster({
      backend,
      kv: this.kv,
      media: this.media,
      meter: this.meter,
      budget: this.budget,
      recompute: deps.recompute ?? false,
    });
    this.arrivals = new Arrivals(backend, constraints, emit, now);
    this.logprobs = new Logprobs(backend, this.texts);
    this.echo = new PromptEcho(backend, this.logprobs);
  }

  /** Takes a run. Its events follow from the next steps on. The adapter must stay until the run has ended. */
  add(id: RunId, request: RunRequest, adapter: AdapterId = BASE_MODEL): void {
    this.arrivals.add(id, request, adapter);
  }

  /** Forgets what an adapter has left behind; no run may use it any more. */
  forgetAdapter(adapter: AdapterId): void {
    this.kv.dropAdapter(adapter);
    this.roster.forgetAdapter(adapter);
  }

  /** Ends a run without further events. Unknown ids are ignored: the run may just have ended. */
  abort(id: RunId): void {
    this.arrivals.abort(id);
    for (const sequence of this.roster.all()) {
      const { run } = sequence.owner;
      if (run.id !== id) continue;
      this.release(sequence, true);
      run.close();
    }
  }

  /** Sequences that hold a slot, for tests and metrics. */
  get runningCount(): number {
    return this.roster.running.length;
  }

  /** The next step only draws a token for each of those that run; there is somebody who runs, and nobody else. */
  get isCalm(): boolean {
    const { arrivals, media } = this;
    const { running, waiting } = this.roster;
    if (running.length === 0 || waiting.length > 0 || arrivals.count > 0 || media.pending > 0) return false;
    return running.every(({ gap }) => gap === 1);
  }

  /** Whether a prompt has been rendered for so long that it never will be: native code that cannot be interrupted. */
  get isStuck(): boolean {
    return this.arrivals.headMs > RENDER_MS_MAX;
  }

  /** Pictures and recordings being encoded, for tests. */
  get encodingsUnderWay(): number {
    return this.media.pending;
  }

  /** The cache, for tests and metrics. */
  get cache(): KvCache {
    return this.kv;
  }

  /** Forgets what is only kept for later runs; none is under way. */
  close(): void {
    this.kv.dropAll();
    this.media.clear();
  }

  /** The numbers so far, but for those of the process and the embedder. */
  stats(): Omit<EngineStats, "residentBytes" | "embedTokens"> {
    return {
      waiting: this.roster.waiting.length + this.arrivals.count,
      running: this.roster.running.length,
      cells: this.backend.cells,
      cellsRunning: this.backend.cells - this.kv.availableCells,
      cellsKept: this.kv.keptCells,
      ...this.kv.checkpointed(),
      ...this.meter.counted(),
      ...this.media.counted(),
    };
  }

  /** One step. `waitMs` is how long it may wait for a prompt or an encoding when there is nothing to compute. */
  step(waitMs: number): StepOutcome {
    const busy = this.roster.running.length > 0 || this.roster.waiting.length > 0;
    this.arrivals.take(busy ? 0 : waitMs, (arrival, prompt, matchers) =>
      this.accept(arrival, prompt, matchers),
    );
    this.takeEncodings(0);
    const { rows, apart } = this.roster.schedule(this.cost, this.now());
    if (rows.length > 0 || apart.length > 0) {
      const all = rows.length === 0 || this.compute(rows);
      if (all) for (const planned of apart) this.computeMedia(planned);
      return "worked";
    }
    assert(this.roster.running.length === 0, "whoever runs can go on");
    if (this.media.pending > 0) {
      this.takeEncodings(waitMs);
      return "rendering";
    }
    assert(this.roster.waiting.length === 0, "whoever waits alone is admitted");
    return this.arrivals.count > 0 ? "rendering" : "idle";
  }

  /** Takes a rendered request in. The matchers belong to us only if this returns. */
  private accept(arrival: Arrival, prompt: RenderedPrompt, matchers: MatcherSet): void {
    const { request } = arrival;
    checkRequest(request, this.backend.vocabulary);
    if (request.countOnly === true) {
      new RunState(arrival, prompt, 0, this.emit).finish(this.now());
      matchers.free();
      return;
    }
    const { drop, cap } = planLength(prompt.tokens.length, request, this.backend.contextTokens);
    const run = new RunState(arrival, prompt, cap, this.emit, matchers.unenforced);
    const cut = cutFrom(prompt.media, drop);
    const tokens = prompt.tokens.subarray(cut);
    const media = chunksFrom(prompt.media, cut);
    const seed = request.sampling.seed ?? this.newSeed();
    try {
      for (let choice = 0; choice < request.choices; choice++) {
        const own = choice === 0 ? matchers : matchers.clone();
        this.addChoice({ run, choice, ...own.hold(prompt), tokens, media, seed });
      }
    } catch (error) {
      this.failRun(run, toErrorData(error));
    }
  }

  private addChoice(start: ChoiceStart): void {
    const { backend, texts, echo, speculation } = this;
    const sequence = newChoice(start, { backend, texts, echo, drafts: speculation !== undefined });
    const { request, tokenCap } = start.run;
    // An echo needs no computing; a prompt that nothing is to follow is there to be computed.
    const echoed = tokenCap === 0 && request.echo === true && !sequence.scoresPrompt;
    if (echoed) this.endChoice(sequence, "length", false, this.now());
    else this.roster.add(sequence);
  }

  /** Takes over encodings that are done. */
  private takeEncodings(waitMs: number): void {
    const failed = this.media.poll(waitMs);
    const lost = this.roster.waiting.filter((sequence) => failed.includes(sequence));
    for (const run of new Set(lost.map(({ owner }) => owner.run))) this.failRun(run, ENGINE_FAILED);
  }

  /** One pass. False: its rows could not be computed, and what else was planned no longer holds. */
  private compute(rows: readonly PlannedRows<EngineSequence>[]): boolean {
    const startMs = this.now();
    const { guessed, tried } = this.guess(rows);
    const steps = tried > 0 ? 1 : this.stepsAtOnce(rows);
    if (steps > 1) return this.computeSteps(rows, steps, startMs);
    const prefillTokens = this.batch.fill(rows);
    // Masks depend on what was drawn before, not on the logits: they are computed while the model is.
    const matchers = this.batch.drawn.flatMap(({ owner }) => owner.guard?.active ?? []);
    if (matchers.length > 0) this.constraints().masksBegin(matchers);
    const outcome = this.backend.decode(this.batch.columns, this.batch.count);
    if (matchers.length > 0) this.constraints().masksWait();
    if (outcome !== "done") {
      this.recover(outcome, rows);
      return false;
    }
    this.echo.score(rows);
    const continued = rows.filter(({ sequence }) => sequence.generated > 0 && sequence.gap === 1).length;
    for (const { sequence, count } of rows) this.kv.extend(sequence, count);
    if (guessed > 0) for (const { sequence } of rows) this.kv.extendBeyond(sequence, sequence.draft.length);
    const { drawn, batchRows, samplers, masks, tokens } = this.batch;
    drawn.forEach(({ owner }, i) => (masks[i] = owner.guard?.maskAddress() ?? 0n));
    if (drawn.length > 0) this.backend.sample(drawn.length, batchRows, samplers, masks, tokens);
    const nowMs = this.now();
    const ms = nowMs - startMs;
    this.cost =
      tried > 0
        ? measuredDraft(this.cost, ms, tried)
        : measured(this.cost, ms, this.batch.count - prefillTokens, prefillTokens);
    this.meter.stepped(ms, this.batch.count, this.batch.count - continued - guessed, drawn.length);
    const firstRows = guessed > 0 ? batchRows.slice(0, drawn.length) : batchRows;
    drawn.forEach((sequence, i) => this.update(sequence, tokens[i] ?? -1, firstRows[i] ?? 0, nowMs));
    if (guessed > 0) {
      const take: Take = (sequence, token, row) => this.update(sequence, token, row, nowMs);
      this.checkGuesses(drawn, firstRows, take);
    }
    return true;
  }

  /** How many steps these rows may have in one call: only one where anything else is to do. */
  private stepsAtOnce(rows: readonly PlannedRows<EngineSequence>[]): number {
    if (!this.isCalm || rows.length < this.roster.running.length) return 1;
    return this.ahead.count(rows, this.cost, this.kv.freeCells);
  }

  /** Several passes over decode rows. False: not even the first could be computed. */
  private computeSteps(rows: readonly PlannedRows<EngineSequence>[], most: number, startMs: number): boolean {
    this.batch.fill(rows);
    const done = this.ahead.compute(most, this.batch, this.kv);
    if (typeof done === "string") {
      this.recover(done, rows);
      return false;
    }
    const nowMs = this.now();
    const { steps, tokens } = done;
    const ms = (nowMs - startMs) / steps;
    const { drawn, count } = this.batch;
    this.cost = measured(this.cost, ms, count, 0);
    for (let step = 0; step < steps; step++) {
      this.meter.stepped(ms, count, 0, count);
      drawn.forEach((sequence, i) => {
        if (step > 0 && sequence.slot !== undefined) sequence.computed++;
        this.update(sequence, tokens[step * count + i] ?? -1, 0, nowMs);
      });
    }
    return true;
  }

  /** Guesses for a step of decode rows; never at the cost of a kept prefix. */
  private guess(rows: readonly PlannedRows<EngineSequence>[]): Guesses {
    if (this.speculation === undefined || this.cost.decodeMs === 0) return NO_GUESSES; // what would they save?
    const room = Math.min(this.budget, this.kv.freeCells, rows.length + DRAFT_ROWS_MAX) - rows.length;
    return this.speculation.guess(rows, room, draftPrice(this.cost, rows.length));
  }

  private checkGuesses(drawn: readonly EngineSequence[], rows: Int32Array, take: Take): void {
    const { backend, batch, kv, speculation } = this;
    if (speculation !== undefined)
      this.meter.drafted(speculation.check(drawn, rows, { backend, batch, kv }, take));
  }

  /** A pass over tokens of one picture or recording. */
  private computeMedia(planned: PlannedRows<EngineSequence>): void {
    const { sequence, count } = planned;
    const { slot, chunk, computed } = sequence;
    if (slot === undefined || chunk === undefined) return; // its run ended in the same step, or it had to make room
    const startMs = this.now();
    const { prompt } = sequence.owner.run;
    const encoding = this.media.encoding(sequence, chunk);
    const position = sequence.positionOf(chunk.at);
    const pass = { prompt, chunk, encoding, from: computed - chunk.at, count, position, slot };
    const outcome = this.backend.decodeMedia(pass);
    if (outcome !== "done") return this.recover(outcome, [planned]);
    this.kv.extend(sequence, count);
    this.media.letGo(sequence, sequence.computed);
    const ms = this.now() - startMs;
    this.cost = measured(this.cost, ms, 0, count);
    this.meter.stepped(ms, count, count, 0);
  }

  /** What follows from a pass that was not computed. */
  private recover(outcome: "full" | "failed", rows: readonly PlannedRows<EngineSequence>[]): void {
    if (outcome === "full" && this.roster.makeRoom()) return;
    const lost = outcome === "full" ? [...this.roster.running] : rows.map(({ sequence }) => sequence);
    for (const { owner } of lost) this.failRun(owner.run, ENGINE_FAILED);
  }

  private failRun(run: RunState, error: ErrorData): void {
    for (const sequence of this.roster.all()) {
      if (sequence.owner.run === run) this.release(sequence, false);
    }
    run.fail(error);
  }

  /** Takes a drawn token into its sequence and says what follows from it. */
  private update(sequence: EngineSequence, token: number, row: number, nowMs: number): void {
    if (sequence.slot === undefined) return; // another choice of its run has failed in this step
    const { run, output, guard } = sequence.owner;
    if (token < 0) return this.failRun(run, guard?.failure() ?? ENGINE_FAILED);
    if (run.tokenCap === 0) return this.endChoice(sequence, "length", false, nowMs); // the prompt was all
    sequence.append(token);
    run.tokenDrawn(nowMs, output.reasoning);
    const { logprobs, ignoreEnd = false } = run.request;
    const ends = this.backend.endsGeneration(token) && !ignoreEnd;
    if (ends) return this.endChoice(sequence, "stop", false, nowMs);
    if (logprobs !== undefined) output.noteLogprob(this.logprobs.at(row, token, logprobs.top));
    const bytes = this.backend.tokenBytes(token, run.prompt.format.visibleTokens.has(token));
    const stopped = output.push(token, bytes, guard);
    if (stopped) return this.endChoice(sequence, "stop", true, nowMs);
    const guardError = guard?.accept(token, output.answering);
    if (guardError !== undefined) return this.failRun(run, guardError);
    const callError = beginCalls(sequence);
    if (callError !== undefined) return this.failRun(run, callError);
    if (run.isSpent(sequence.generated, bytes, nowMs)) this.endChoice(sequence, "length", false, nowMs);
  }

  private endChoice(sequence: EngineSequence, reason: FinishReason, stopped: boolean, nowMs: number): void {
    const { run, output } = sequence.owner;
    output.end(reason, stopped);
    this.release(sequence, true);
    run.choiceEnded(nowMs);
  }

  /** Takes a sequence out of the engine with everything it holds. `keep`: its prefix may be of use to others. */
  private release(sequence: EngineSequence, keep: boolean): void {
    this.roster.release(sequence, keep);
    this.backend.freeSampler(sequence.sampler);
    sequence.owner.guard?.free();
    sequence.owner.calls?.matcher.free();
  }
}
