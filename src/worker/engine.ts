// The engine: drain → plan → decode → sample → update → flush, over and over. Single owner of the backend. Nothing in a
// step awaits, so between two steps every invariant holds.

import { assert } from "../core/assert.ts";
import { ServiceError, type ErrorData } from "../core/error.ts";
import type { FinishReason, RunRequest } from "../core/run.ts";
import type { RunId } from "../engine/protocol.ts";
import { Batch } from "./batch.ts";
import type { Backend, PendingPrompt, RenderedPrompt, SlotId } from "./backend.ts";
import { TokenTexts } from "./detokenize.ts";
import { type ChoiceOutput, type Emit, planLength, RunState } from "./run-state.ts";
import { measured, plan, prefillChunk, type PlannedRows, type StepCost } from "./scheduler.ts";
import { Sequence } from "./sequence.ts";

/** What a sequence of the engine belongs to. */
interface Choice {
  readonly run: RunState;
  readonly output: ChoiceOutput;
}

type EngineSequence = Sequence<Choice>;

/** A request whose prompt is still being rendered. */
interface Arrival {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly pending: PendingPrompt;
  readonly arrivedMs: number;
}

export interface EngineDeps {
  readonly backend: Backend;
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

export class Engine {
  private readonly backend: Backend;
  private readonly emit: Emit;
  private readonly now: () => number;
  private readonly newSeed: () => number;
  private readonly texts = new TokenTexts();
  private readonly batch: Batch<EngineSequence>;
  private arrivals: Arrival[] = [];
  private waiting: EngineSequence[] = []; // first come first
  private running: EngineSequence[] = []; // in order of admission
  private readonly freeSlots: SlotId[];
  /** Tokens of a step: one compute batch, so that newcomers and aborts never wait for more; but every row has its turn. */
  private readonly budget: number;
  private cost: StepCost = { decodeMs: 0, prefillTokenMs: 0 };

  constructor({ backend, emit, now, newSeed }: EngineDeps) {
    this.backend = backend;
    this.emit = emit;
    this.now = now;
    this.newSeed = newSeed;
    this.budget = Math.min(backend.batch, Math.max(backend.ubatch, backend.slots));
    this.batch = new Batch(this.budget, backend.slots);
    // Highest first, so that pop() hands out slot 0 first.
    this.freeSlots = Array.from({ length: backend.slots }, (_, i) => (backend.slots - 1 - i) as SlotId);
  }

  /** Takes a run. Its events follow from the next steps on. */
  add(id: RunId, request: RunRequest): void {
    try {
      this.arrivals.push({
        id,
        request,
        pending: this.backend.render(request.prompt),
        arrivedMs: this.now(),
      });
    } catch (error) {
      this.emit(id, { type: "error", error: toErrorData(error) });
    }
  }

  /** Ends a run without further events. Unknown ids are ignored: the run may just have ended. */
  abort(id: RunId): void {
    const arrival = this.arrivals.find((entry) => entry.id === id);
    if (arrival !== undefined) {
      arrival.pending.free();
      this.arrivals = this.arrivals.filter((entry) => entry !== arrival);
    }
    for (const sequence of [...this.running, ...this.waiting]) {
      const { run } = sequence.owner;
      if (run.id !== id) continue;
      this.release(sequence);
      run.close();
    }
  }

  /** Sequences that hold a slot, for tests and metrics. */
  get runningCount(): number {
    return this.running.length;
  }

  /** Slots that no sequence holds, for tests. */
  get freeSlotCount(): number {
    return this.freeSlots.length;
  }

  /** One step. `waitMs` is how long it may wait for a prompt to be rendered when there is nothing to compute. */
  step(waitMs: number): StepOutcome {
    const busy = this.running.length > 0 || this.waiting.length > 0;
    this.takeArrivals(busy ? 0 : waitMs);
    const rows = this.schedule();
    if (rows.length === 0) {
      assert(this.running.length === 0, "running sequences always have rows");
      return this.arrivals.length > 0 ? "rendering" : "idle";
    }
    this.compute(rows);
    return "worked";
  }

  private takeArrivals(waitMs: number): void {
    for (let arrival = this.arrivals[0]; arrival !== undefined; arrival = this.arrivals[0]) {
      const { id, pending } = arrival;
      try {
        const prompt = pending.take(waitMs);
        if (prompt === undefined) return;
        this.arrivals.shift();
        this.accept(arrival, prompt);
      } catch (error) {
        if (this.arrivals[0] === arrival) this.arrivals.shift();
        this.emit(id, { type: "error", error: toErrorData(error) });
      }
    }
  }

  private accept(arrival: Arrival, prompt: RenderedPrompt): void {
    const { request } = arrival;
    const length = planLength(prompt.tokens.length, request.maxTokens, request.truncate, this.backend);
    if (length === undefined || prompt.tokens.length === 0) {
      prompt.free();
      throw length === undefined ? this.tooLong(prompt.tokens.length) : emptyPrompt();
    }
    const run = new RunState(arrival, prompt, length.cap, this.emit);
    const tokens = prompt.tokens.subarray(length.drop);
    const seed = request.sampling.seed ?? this.newSeed();
    for (let choice = 0; choice < request.choices; choice++) {
      const sampler = this.backend.newSampler(request.sampling, seed, choice);
      this.waiting.push(new Sequence({ run, output: run.newOutput(choice, this.texts) }, tokens, sampler));
    }
  }

  private tooLong(tokens: number): ServiceError {
    const { contextTokens } = this.backend;
    return new ServiceError(
      "context_length_exceeded",
      `The prompt has ${tokens} tokens, but the model's context holds ${contextTokens} including the answer. ` +
        "Shorten it, or set truncate_sequence to true to drop its beginning.",
      { param: "messages" },
    );
  }

  /** Plans the step and moves sequences in and out of their slots as it says. */
  private schedule(): readonly PlannedRows<EngineSequence>[] {
    const { rows, admitted, preempted } = plan({
      running: this.running,
      waiting: this.waiting,
      freeSlots: this.freeSlots.length,
      cells: this.backend.cells,
      budget: this.budget,
      chunk: prefillChunk(this.cost, this.backend.ubatch),
    });
    if (preempted.length > 0) this.preempt(preempted);
    if (admitted.length > 0) {
      this.waiting.splice(0, admitted.length);
      for (const sequence of admitted) {
        const slot = this.freeSlots.pop();
        assert(slot !== undefined, "admissions are limited by free slots");
        sequence.slot = slot;
        this.running.push(sequence);
      }
    }
    return rows;
  }

  /** Gives up the cells of some sequences; they start over from their known tokens when there is room again. */
  private preempt(sequences: readonly EngineSequence[]): void {
    for (const sequence of sequences) {
      this.releaseSlot(sequence);
      this.running.splice(this.running.indexOf(sequence), 1);
      this.waiting.unshift(sequence);
    }
  }

  private compute(rows: readonly PlannedRows<EngineSequence>[]): void {
    const startMs = this.now();
    const prefillTokens = this.batch.fill(rows);
    const outcome = this.backend.decode(this.batch.columns, this.batch.count);
    if (outcome === "full") return this.makeRoom();
    if (outcome === "failed") return this.failAll(rows);
    for (const { sequence, count } of rows) sequence.computed += count;
    const { drawn, batchRows, samplers, tokens } = this.batch;
    if (drawn.length > 0) this.backend.sample(drawn.length, batchRows, samplers, tokens);
    const nowMs = this.now();
    this.cost = measured(this.cost, nowMs - startMs, this.batch.count - prefillTokens, prefillTokens);
    drawn.forEach((sequence, i) => this.update(sequence, tokens[i] ?? -1, nowMs));
  }

  /** The cache had no room although our count said so (a model may need more cells than one a token). */
  private makeRoom(): void {
    const youngest = this.running.at(-1);
    if (this.running.length > 1 && youngest !== undefined) return this.preempt([youngest]);
    for (const { owner } of this.running) this.failRun(owner.run, ENGINE_FAILED);
  }

  private failAll(rows: readonly PlannedRows<EngineSequence>[]): void {
    for (const { sequence } of rows) this.failRun(sequence.owner.run, ENGINE_FAILED);
  }

  private failRun(run: RunState, error: ErrorData): void {
    for (const sequence of [...this.running, ...this.waiting])
      if (sequence.owner.run === run) this.release(sequence);
    run.fail(error);
  }

  /** Takes a drawn token into its sequence and says what follows from it. */
  private update(sequence: EngineSequence, token: number, nowMs: number): void {
    const { run, output } = sequence.owner;
    if (token < 0) return this.failRun(run, ENGINE_FAILED);
    sequence.append(token);
    run.tokenDrawn(nowMs, output.reasoning);
    if (this.backend.endsGeneration(token)) return this.endChoice(sequence, "stop", false, nowMs);
    const visible = run.prompt.format.visibleTokens.has(token);
    const stopped = output.push(token, this.backend.tokenBytes(token, visible));
    if (stopped) return this.endChoice(sequence, "stop", true, nowMs);
    if (sequence.generated >= run.tokenCap) this.endChoice(sequence, "length", false, nowMs);
  }

  private endChoice(sequence: EngineSequence, reason: FinishReason, stopped: boolean, nowMs: number): void {
    const { run, output } = sequence.owner;
    output.end(reason, stopped);
    this.release(sequence);
    run.choiceEnded(nowMs);
  }

  /** Takes a sequence out of the engine with everything it holds. */
  private release(sequence: EngineSequence): void {
    this.releaseSlot(sequence);
    this.backend.freeSampler(sequence.sampler);
    this.running = this.running.filter((other) => other !== sequence);
    this.waiting = this.waiting.filter((other) => other !== sequence);
  }

  private releaseSlot(sequence: EngineSequence): void {
    if (sequence.slot === undefined) return;
    this.backend.clearSlot(sequence.slot);
    this.freeSlots.push(sequence.slot);
    sequence.slot = undefined;
    sequence.computed = 0;
  }
}

function toErrorData(error: unknown): ErrorData {
  if (error instanceof ServiceError) return error.toData();
  console.error("engine:", error);
  return { code: "internal_error", message: "The engine could not take this request." };
}

function emptyPrompt(): ServiceError {
  return new ServiceError("invalid_request", "The prompt is empty: there is nothing to continue.", {
    param: "messages",
  });
}
