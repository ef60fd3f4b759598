// Request queue and running set: admits sequences to slots and preempts them, as the scheduler plans.

import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";
import type { Backend } from "./backend.ts";
import { requestEncodings, findCandidates, type QueueView } from "./candidates.ts";
import { awaitsGrammar, type EngineSequence } from "./choice.ts";
import type { KvCache } from "./kv.ts";
import type { MediaStore } from "./media.ts";
import { Newcomers } from "./newcomers.ts";
import { type Candidate, type Plan, plan, type PlannedRows } from "./scheduler.ts";
import { PREFILL_SHARE, prefillChunk, shouldDecodeAlone, type StepCost } from "./step-cost.ts";
import type { StepMeter } from "./step-meter.ts";
import { AdapterScheduler } from "./adapter-scheduler.ts";

/** The rows of a step: those of the token pass, and those of separate passes. */
export type Rows = Pick<Plan<EngineSequence>, "rows" | "separate">;

export interface RunningSetDeps {
  readonly backend: Backend;
  readonly kv: KvCache;
  readonly media: MediaStore;
  readonly meter: StepMeter;
  /** Tokens of a step. */
  readonly budget: number;
  /** Part of a step's time that prefill takes beside decode rows. */
  readonly prefillShare: number;
  /** Whether each sequence is preempted after each token. */
  readonly noKvCache: boolean;
}

/** Its next token needs one row, because the cache holds the rest. */
function isContinued({ generated, gap }: EngineSequence): boolean {
  return generated > 0 && gap === 1;
}

export class RunningSet {
  private readonly deps: RunningSetDeps;
  private queue: EngineSequence[] = []; // oldest first
  private slots: EngineSequence[] = []; // in order of admission
  private readonly adapters = new AdapterScheduler();
  private readonly newcomers = new Newcomers<EngineSequence>();
  /** Steps in which sequences decoded. */
  private decodeSteps = 0;
  /** The adapter selected in the backend. */
  private selected: AdapterId = BASE_MODEL;

  constructor(deps: RunningSetDeps) {
    this.deps = deps;
    deps.backend.selectAdapter(this.selected);
  }

  /** Sequences without a slot, oldest first. */
  get waiting(): readonly EngineSequence[] {
    return this.queue;
  }

  /** Sequences with a slot, in order of admission. */
  get running(): readonly EngineSequence[] {
    return this.slots;
  }

  /** All sequences, as a copy: callers release some while they iterate. */
  all(): EngineSequence[] {
    return [...this.slots, ...this.queue];
  }

  /** Queues a new sequence. */
  add(sequence: EngineSequence): void {
    this.queue.push(sequence);
    this.newcomers.add(sequence);
    this.deps.kv.arrived(sequence, this.slots);
  }

  /** An adapter was unloaded; no sequence uses it. */
  forgetAdapter(adapter: AdapterId): void {
    this.adapters.forget(adapter);
    if (this.selected === adapter) this.select(BASE_MODEL);
  }

  /** The rows of the next step: of the first scheduled adapter whose sequences can compute. */
  schedule(cost: StepCost, nowMs: number): Rows {
    if (this.deps.noKvCache) this.preempt(this.slots.filter(isContinued).toReversed()); // reversed: the queue keeps its order
    requestEncodings(this.view());
    for (const adapter of this.adapters.order(this.wanting(), nowMs)) {
      const rows = this.scheduleFor(adapter, cost, nowMs);
      if (rows.rows.length === 0 && rows.separate.length === 0) continue;
      this.adapters.take(adapter, nowMs);
      this.select(adapter);
      return rows;
    }
    return { rows: [], separate: [] };
  }

  /** Preempts sequences: they lose their cells and return to the head of the queue, to be restored or computed again. */
  preempt(sequences: readonly EngineSequence[]): void {
    for (const sequence of sequences) {
      this.deps.kv.preempt(sequence);
      this.deps.media.release(sequence);
      this.slots.splice(this.slots.indexOf(sequence), 1);
      this.queue.unshift(sequence);
    }
  }

  /**
   * Frees cells after the cache was full although our count said otherwise: a model may need more than one cell a token.
   * False: nothing is left to evict or preempt.
   */
  makeRoom(): boolean {
    const { kv } = this.deps;
    const youngest = this.slots.at(-1);
    if (kv.keptCount > 0) kv.dropAll();
    else if (this.slots.length > 1 && youngest !== undefined) this.preempt([youngest]);
    else return false;
    return true;
  }

  /** Removes a sequence. `keep`: its prefix stays in the cache for others. */
  release(sequence: EngineSequence, keep: boolean): void {
    this.deps.kv.release(sequence, keep);
    this.deps.kv.ended(sequence);
    this.deps.media.release(sequence);
    this.slots = this.slots.filter((other) => other !== sequence);
    this.queue = this.queue.filter((other) => other !== sequence);
  }

  /** Distinct adapters of all sequences. */
  private wanting(): readonly AdapterId[] {
    const found: AdapterId[] = [];
    for (const { adapter } of this.slots) if (!found.includes(adapter)) found.push(adapter);
    for (const { adapter } of this.queue) if (!found.includes(adapter)) found.push(adapter);
    return found;
  }

  private select(adapter: AdapterId): void {
    if (adapter === this.selected) return;
    this.deps.backend.selectAdapter(adapter);
    this.selected = adapter;
  }

  /** Plans a step of one adapter, and admits and preempts as planned. */
  private scheduleFor(adapter: AdapterId, cost: StepCost, nowMs: number): Rows {
    const isEligible = (sequence: EngineSequence): boolean =>
      sequence.adapter === adapter && !awaitsGrammar(sequence);
    const candidates = findCandidates({ ...this.view(), adapter, max: this.freeRuns() });
    const served = this.slots.filter(isEligible);
    const planned = plan<EngineSequence>({
      running: this.slots,
      isEligible,
      candidates,
      freeSlots: this.freeRuns(),
      freeCells: this.deps.kv.availableCells,
      exclusiveCells: (sequence) => this.deps.kv.exclusiveCells(sequence),
      budget: this.deps.budget,
      chunk: this.chunk(served, candidates, cost, nowMs),
    });
    if (planned.preempted.length > 0) this.preempt(planned.preempted);
    this.deps.meter.preempted(planned.preempted.length);
    const rejected = planned.admitted.filter(({ sequence, shared }) => !this.admit(sequence, shared));
    const holds = ({ sequence }: PlannedRows<EngineSequence>): boolean =>
      !rejected.some((candidate) => candidate.sequence === sequence);
    const [rows, separate] =
      rejected.length === 0
        ? [planned.rows, planned.separate]
        : [planned.rows.filter(holds), planned.separate.filter(holds)];
    this.deps.kv.makeRoom([...rows, ...separate].reduce((sum, { count }) => sum + count, 0));
    return { rows, separate };
  }

  /** Prompt tokens of a step in which some of `served` decode. */
  private chunk(
    served: readonly EngineSequence[],
    candidates: readonly Candidate<EngineSequence>[],
    cost: StepCost,
    nowMs: number,
  ): number {
    const { ubatch } = this.deps.backend;
    const { prefillShare } = this.deps;
    const decoding = served.filter(({ gap }) => gap === 1);
    const prefilling = [
      ...served.filter(({ gap }) => gap > 1).map((sequence) => ({ sequence, gap: sequence.gap })),
      ...candidates.map(({ sequence, shared }) => ({ sequence, gap: sequence.known - shared })),
    ];
    const priority =
      prefillShare < PREFILL_SHARE
        ? { decoding: decoding.length, tokens: 0 }
        : this.newcomers.priority({ decoding, prefilling, cost, ubatch, nowMs });
    const decodesAlone =
      priority.tokens === 0 && prefillShare < 1 && shouldDecodeAlone(cost, decoding.length, this.decodeSteps);
    if (decoding.length > 0) this.decodeSteps++;
    if (decodesAlone) return 0;
    const load = { decoding: priority.decoding, prefilling: prefilling.length, prefillShare };
    return Math.max(prefillChunk(cost, ubatch, load), Math.min(ubatch, priority.tokens));
  }

  /**
   * Admits a waiting sequence to a slot. False: an admission just before used up the prefix it would have shared, and its
   * media within that prefix may not be encoded; it keeps waiting.
   */
  private admit(sequence: EngineSequence, shared: number): boolean {
    this.deps.kv.admit(sequence, this.slots, shared);
    if (sequence.media.length > 0 && sequence.computed < shared) {
      this.deps.kv.release(sequence, false);
      return false;
    }
    this.queue.splice(this.queue.indexOf(sequence), 1);
    this.slots.push(sequence);
    const { run, output } = sequence.owner;
    if (sequence.generated === 0) this.deps.meter.admitted(sequence.computed);
    if (output.index === 0 && sequence.generated === 0) run.cachedTokens = sequence.computed;
    return true;
  }

  private view(): QueueView {
    const { kv, media } = this.deps;
    return { waiting: this.queue, running: this.slots, kv, media };
  }

  private freeRuns(): number {
    return Math.min(this.deps.backend.maxSeqs - this.slots.length, this.deps.kv.availableSlots);
  }
}
