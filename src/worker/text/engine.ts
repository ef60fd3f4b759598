// The engine of a text model, one step at a time: take rendered prompts → schedule → decode → take sampled tokens. The
// single owner of the backend. Nothing in a step awaits, so all invariants hold between two steps.

import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";
import { assert } from "../../core/assert.ts";
import { ANSWER_CALLS_MAX, ENCODINGS_BYTES_MAX } from "../../core/limits.ts";
import type { RunRequest } from "../../core/run.ts";
import type { EngineStats } from "../../core/telemetry.ts";
import type { RunId } from "../../engine/protocol.ts";
import { RENDER_MS_MAX } from "../shared/limits.ts";
import { Arrivals } from "./arrivals.ts";
import type { Backend } from "./backend.ts";
import { Batch } from "./batch.ts";
import type { EngineSequence } from "./choice.ts";
import type { ConstraintBackend } from "./constraint-backend.ts";
import { DraftBalance } from "./decode/draft-balance.ts";
import { LookGain } from "./decode/look-gain.ts";
import { MediaDecode } from "./decode/media.ts";
import type { DecodeContext, DecodeMode } from "./decode/mode.ts";
import { MultiStepDecode } from "./decode/multi-step.ts";
import { Partitions } from "./partition.ts";
import { PlainDecode } from "./decode/plain.ts";
import { type DraftKind, draftSourceOf, SpeculativeDecode } from "./decode/speculative.ts";
import { TokenTexts } from "./detokenize.ts";
import { KvCache } from "./kv.ts";
import { Logprobs } from "./logprobs.ts";
import { MediaStore } from "./media.ts";
import { PromptEcho } from "./prompt-echo.ts";
import type { Emit } from "./run-state.ts";
import { RunningSet } from "./running-set.ts";
import { Runs } from "./runs.ts";
import type { PlannedRows } from "./scheduler.ts";
import { PREFILL_SHARE, UNKNOWN_COST } from "./step-cost.ts";
import { StepMeter } from "./step-meter.ts";
import type { CacheTiers } from "./tiers/tiers.ts";

export interface EngineDeps {
  readonly backend: Backend;
  /** Called at the first request that has a constraint. */
  readonly constraints: () => ConstraintBackend;
  /** Finished prefixes kept for reuse; 0 keeps none. */
  readonly prefixCacheN: number;
  /** Part of a step's time that prefill takes beside decode rows; half by default. */
  readonly prefillShare?: number | undefined;
  /** Memory for checkpoints, bytes; none by default. */
  readonly checkpointBytes?: number;
  /** Copies of cells outside the cache; none by default. */
  readonly tiers?: CacheTiers | undefined;
  /** Where drafts come from; none by default. A backend with a draft model uses that instead. */
  readonly drafts?: DraftKind;
  /** Most function calls of an answer; ANSWER_CALLS_MAX by default. */
  readonly maxCalls?: number | undefined;
  /** How long one multi-step decode may take, milliseconds; 0 (the default) disables it. */
  readonly multiStepMs?: number;
  /** Release all cells after each token, so that every token is computed from the whole sequence. */
  readonly noKvCache?: boolean;
  readonly emit: Emit;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** A fresh seed for runs that bring none: an integer in [0, 2^53). */
  readonly newSeed: () => number;
}

/**
 * worked: more work may be left. rendering: only prompts are being rendered, grammars compiled or media encoded. idle: nothing to do
 * until a message arrives or a tier has read blocks.
 */
export type StepOutcome = "worked" | "rendering" | "idle";

const NO_CONTROLS: ReadonlyMap<number, string> = new Map();

export class Engine {
  /** Passes that could not be computed, for reasons other than a full cache. */
  failedPasses = 0;
  private readonly backend: Backend;
  private readonly now: () => number;
  private readonly kv: KvCache;
  private readonly media: MediaStore;
  private readonly arrivals: Arrivals;
  private readonly partitions = new Partitions();
  private readonly meter = new StepMeter();
  private readonly runningSet: RunningSet;
  private readonly runs: Runs;
  private readonly context: DecodeContext;
  /** For rows of tokens: the first mode that suits a step computes it. */
  private readonly tokenModes: readonly DecodeMode[];
  private readonly plain: PlainDecode;
  /** Whether tokens are proposed that no grammar dictates. */
  private readonly proposes: boolean;
  private readonly mediaModes: readonly DecodeMode[];

  constructor(deps: EngineDeps) {
    const { backend, constraints, multiStepMs = 0, noKvCache = false, emit, now, newSeed } = deps;
    const { meter } = this;
    // One micro-batch, so that new requests and aborts wait for no more than that; but at least a row for every sequence.
    const budget = Math.min(backend.batch, Math.max(backend.ubatch, backend.maxSeqs));
    const texts = new TokenTexts();
    const logprobs = new Logprobs(backend, texts);
    const echo = new PromptEcho(backend, logprobs);
    this.backend = backend;
    this.now = now;
    this.kv = new KvCache(backend, deps.prefixCacheN, deps);
    this.media = new MediaStore(backend, ENCODINGS_BYTES_MAX, now);
    const { kv, media } = this;
    const balance = new DraftBalance(backend.draftModel);
    const { drafts = "off" } = deps;
    const draftSource = draftSourceOf(backend, kv, balance, drafts);
    this.proposes = (draftSource?.max ?? 0) > 0;
    const { prefillShare = PREFILL_SHARE } = deps;
    this.runningSet = new RunningSet({ backend, kv, media, meter, budget, prefillShare, noKvCache });
    this.arrivals = new Arrivals(backend, constraints, emit, now);
    const { runningSet } = this;
    const { maxCalls = ANSWER_CALLS_MAX } = deps;
    const runs = new Runs({
      backend,
      runningSet,
      texts,
      maxCalls,
      controls: () => backend.controlTexts?.() ?? NO_CONTROLS,
      logprobs,
      echo,
      drafts: draftSource === undefined ? "off" : drafts,
      meter: this.meter,
      emit,
      now,
      newSeed,
    });
    this.runs = runs;
    this.context = {
      backend,
      constraints,
      kv,
      media,
      echo,
      meter,
      balance,
      looks: new LookGain(),
      now,
      batch: new Batch(budget, backend.maxSeqs),
      takeToken: (sequence, token, row, nowMs) => runs.takeToken(sequence, token, row, nowMs),
      takeUntold: (sequence, token, nowMs) => runs.takeUntold(sequence, token, nowMs),
      tellToken: (sequence, token, nowMs) => runs.tellToken(sequence, token, nowMs),
      cost: UNKNOWN_COST,
    };
    this.plain = new PlainDecode(this.context);
    this.tokenModes = [
      ...(draftSource === undefined ? [] : [new SpeculativeDecode(this.context, draftSource, budget)]),
      new MultiStepDecode(this.context, backend.goesOn === true ? 0 : multiStepMs),
      this.plain,
    ];
    this.mediaModes = [new MediaDecode(this.context)];
    void this.kv.readRecalls((scope) => this.partitions.of(BASE_MODEL, scope));
  }

  /** Adds a run, which shares cells with others of its adapter and scope. Its events follow from the next step on. The adapter must stay loaded until the run has ended. */
  add(id: RunId, request: RunRequest, adapter: AdapterId = BASE_MODEL, scope?: string): void {
    this.arrivals.add(id, request, this.partitions.of(adapter, scope));
  }

  /** Drops an adapter's cache; no run may use the adapter any more. */
  forgetAdapter(adapter: AdapterId): void {
    this.plain.end(); // it may be of a run that was aborted
    this.kv.dropAdapter(adapter);
    this.runningSet.forgetAdapter(adapter);
    this.partitions.forgetAdapter(adapter);
  }

  /** Ends a run. Ignores unknown ids: the run may just have ended. */
  abort(id: RunId): void {
    this.arrivals.abort(id);
    this.runs.abort(id);
  }

  /** One step. `waitMs`: how long it may wait for a prompt or an encoding when there is nothing to compute. */
  step(waitMs: number): StepOutcome {
    const { arrivals, runningSet, runs, media, plain } = this;
    plain.end();
    const isBusy = runningSet.running.length > 0 || runningSet.waiting.length > 0;
    arrivals.take(isBusy ? 0 : waitMs, (arrival, prompt, matchers) => runs.accept(arrival, prompt, matchers));
    this.takeEncodings(0);
    runs.takeGrammars(0);
    if (!this.mayBeginUntold) plain.tell();
    const { rows, separate } = runningSet.schedule(this.context.cost, this.now());
    runs.reportWaits(runningSet.waiting);
    if (rows.length > 0 || separate.length > 0) {
      runs.reportPrompts(rows);
      runs.reportPrompts(separate);
      const isDone = rows.length === 0 || this.decode(this.tokenModes, rows);
      // A pass that was not computed preempts or fails sequences: the rest of the plan no longer holds.
      if (isDone && separate.length > 0) plain.end();
      if (isDone) for (const planned of separate) this.decode(this.mediaModes, [planned]);
      this.kv.prefillTokenMs = this.context.cost.prefillTokenMs;
      this.kv.restorePiece(runningSet.running);
      this.kv.writeBlock();
      return "worked";
    }
    plain.tell();
    if (runs.takeGrammars(waitMs)) return "rendering";
    assert(runningSet.running.length === 0, "a running sequence has rows, or awaits a grammar");
    if (media.pending > 0) {
      this.takeEncodings(waitMs);
      return "rendering";
    }
    if (runningSet.waiting.length === 0) this.kv.recallNext();
    if (this.kv.restorePiece(runningSet.running)) return "worked";
    const isReading = runningSet.waiting.every((sequence) => this.kv.isReading(sequence));
    assert(isReading || this.kv.isRestoring, "a waiting sequence is admitted when none runs");
    if (this.kv.writeBlock()) return "worked";
    return arrivals.count > 0 ? "rendering" : "idle";
  }

  /** Takes finished encodings. */
  private takeEncodings(waitMs: number): void {
    const failed = this.media.poll(waitMs);
    this.runs.failAll(this.runningSet.waiting.filter((sequence) => failed.includes(sequence)));
  }

  /** Whether a step may begin before what was drawn last is passed on: where it has no drafts, which follow from that. */
  private get mayBeginUntold(): boolean {
    if (this.proposes) return false;
    return this.runningSet.all().every(({ owner }) => owner.guard === undefined);
  }

  /** Computes rows in the first mode that suits them. False: they could not be computed. */
  private decode(modes: readonly DecodeMode[], rows: readonly PlannedRows<EngineSequence>[]): boolean {
    const isDecodingOnly = this.isDecodingOnly && rows.length === this.runningSet.running.length;
    const step = { rows, startMs: this.now(), isDecodingOnly };
    for (const mode of modes) {
      const outcome = mode.decode(step);
      if (outcome === undefined) continue;
      if (outcome !== "done") this.recover(outcome, rows);
      return outcome === "done";
    }
    return true;
  }

  /** After rows that could not be computed: makes room in the cache, or fails their runs. */
  private recover(outcome: "full" | "failed", rows: readonly PlannedRows<EngineSequence>[]): void {
    if (outcome === "full" && this.runningSet.makeRoom()) return;
    if (outcome === "failed") this.failedPasses++;
    this.runs.failAll(outcome === "full" ? this.runningSet.running : rows.map(({ sequence }) => sequence));
  }

  /** Whether the next step only samples a token for each running sequence, and no other request waits. */
  get isDecodingOnly(): boolean {
    const { arrivals, media } = this;
    const { running, waiting } = this.runningSet;
    if (running.length === 0 || waiting.length > 0 || arrivals.count > 0 || media.pending > 0) return false;
    return running.every(({ gap }) => gap === 1);
  }

  /** Whether a prompt has been rendering for so long that it hangs in native code, which cannot be interrupted. */
  get isStuck(): boolean {
    return this.arrivals.headMs > RENDER_MS_MAX;
  }

  /** Sequences that hold a slot, for tests and metrics. */
  get runningCount(): number {
    return this.runningSet.running.length;
  }

  /** Images and audio that are being encoded, for tests. */
  get pendingEncodings(): number {
    return this.media.pending;
  }

  /** The cache, for tests and metrics. */
  get cache(): KvCache {
    return this.kv;
  }

  /** Drops all caches; no run may be under way. */
  close(): void {
    this.plain.end();
    this.kv.dropAll();
    this.media.clear();
  }

  /** Counters and gauges, except those of the process and the embedder. */
  stats(): Omit<EngineStats, "residentBytes" | "embedTokens"> {
    return {
      waiting: this.runningSet.waiting.length + this.arrivals.count,
      slots: this.backend.maxSeqs,
      running: this.runningSet.running.length,
      cells: this.backend.cells,
      cellsRunning: this.backend.cells - this.kv.availableCells,
      cellsKept: this.kv.keptCells,
      ...this.kv.checkpointed(),
      ...this.kv.tiered(),
      ...this.meter.counted(),
      ...this.media.counted(),
    };
  }
}
