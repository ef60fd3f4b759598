// Where draft tokens come from: n-grams of the sequence itself and of finished ones, or a draft model.

import { assert } from "../../../core/assert.ts";
import type { DraftModel, DraftRequest, SlotId } from "../backend.ts";
import type { EngineSequence } from "../choice.ts";
import { NO_DRAFT } from "../sequence.ts";
import type { DraftBalance } from "./draft-balance.ts";
import { NgramIndex } from "./ngram-index.ts";

/** A sequence that wants a draft of at most `max` tokens (≥ 1) after its known ones. */
export interface DraftTarget {
  readonly sequence: EngineSequence;
  readonly max: number;
}

export interface DraftSource {
  /** Maximum tokens of one draft. */
  readonly max: number;
  /** Whether an empty draft takes time, too. */
  readonly isCostly: boolean;
  /** A step of `sequences` sequences has prefill rows, and therefore no drafts. */
  onPrefill(sequences: number): void;
  /** Whether it drafts in a step of `sequences` sequences. `pays`: drafts are worth their cost for at least one of them. */
  isReady(sequences: number, pays: boolean): boolean;
  /** Drafts of together at most `room` tokens, for the first of the targets; any may be empty. */
  draft(targets: readonly DraftTarget[], room: number): readonly Int32Array[];
  /** `accepted` tokens of a slot's draft were accepted, and its sequence goes on. */
  verified(slot: SlotId, accepted: number): void;
}

/** Proposes nothing: drafts are what grammars force. */
export const NO_PROPOSALS: DraftSource = {
  max: 0,
  isCostly: false,
  onPrefill: () => {
    // Nothing is followed.
  },
  isReady: () => false,
  draft: (targets) => targets.map(() => NO_DRAFT),
  verified: () => {
    // Nothing is learned.
  },
};

/** Most tokens of one draft. */
const LOOKUP_MAX = 32;
/** Tokens that must agree with another text: what follows three of them says less there than in the sequence itself. */
const AGREEING_BESIDE = 8;

/**
 * Drafts the tokens that followed the last ones where most of them occurred before: in the sequence, or in finished ones whose cells
 * are kept and that it may share, so that files of tool results, earlier answers and answers given again are copied.
 */
export class LookupSource implements DraftSource {
  readonly max = LOOKUP_MAX;
  readonly isCostly = false;
  private readonly indexes = new WeakMap<EngineSequence | Int32Array, NgramIndex>();
  private readonly finished: (sequence: EngineSequence) => readonly Int32Array[];

  /** `finished`: tokens of the finished sequences, least recently used first. */
  constructor(finished: (sequence: EngineSequence) => readonly Int32Array[]) {
    this.finished = finished;
  }

  onPrefill(): void {
    // The index reads the prompt when it drafts.
  }

  isReady(): boolean {
    return true;
  }

  draft(targets: readonly DraftTarget[], room: number): readonly Int32Array[] {
    let left = room;
    return targets.map(({ sequence, max }, i) => {
      const share = Math.ceil(left / (targets.length - i));
      const draft = this.longest(sequence, Math.min(max, share));
      left -= draft.length;
      return draft;
    });
  }

  private longest(sequence: EngineSequence, max: number): Int32Array {
    const tokens = sequence.firstTokens(sequence.known);
    let best = this.indexOf(sequence).continuation(tokens, max);
    for (const text of this.finished(sequence).toReversed()) {
      const other = this.indexOf(text).continuation(tokens, max, text);
      if (other.agreeing > Math.max(best.agreeing, AGREEING_BESIDE - 1)) best = other;
    }
    return best.tokens;
  }

  private indexOf(text: EngineSequence | Int32Array): NgramIndex {
    const index = this.indexes.get(text) ?? new NgramIndex();
    this.indexes.set(text, index);
    return index;
  }

  verified(): void {
    // The index reads accepted tokens from the sequence.
  }
}

/** Steps in a row in which drafts do not pay for any sequence, after which the draft model pauses. */
const IDLE_STEPS_MAX = 64;

/** Steps in a row in which the draft model has taken more time than it saved, prompts included, after which it pauses. */
const LOSS_STEPS_MAX = 256;

/** Steps with drafts between two without, which measure what drafts save: few at first, then up to the maximum. */
const DRAFTING_STEPS_FIRST = 2;
const DRAFTING_STEPS_MAX = 64;

/**
 * Drafts by a draft model. The model must follow every pass to be able to draft, which takes time even in steps without
 * drafts. It pauses where that does not pay, and resumes at a prompt that comes while fewer sequences run than at the
 * pause; where only one runs, when another trial is a small share of the engine's time.
 */
export class DraftModelSource implements DraftSource {
  readonly max: number;
  readonly isCostly = true;
  private readonly model: DraftModel;
  private readonly balance: DraftBalance;
  private idleSteps = 0;
  private lossSteps = 0;
  private draftingSteps = 0;
  private draftingStepsMax = DRAFTING_STEPS_FIRST;
  /** Sequences of the step at which it paused; undefined while it follows. */
  private pausedAt: number | undefined;

  constructor(model: DraftModel, balance: DraftBalance) {
    this.model = model;
    this.balance = balance;
    this.max = model.max;
  }

  onPrefill(sequences: number): void {
    if (this.pausedAt === undefined) return;
    if (sequences >= this.pausedAt && (sequences > 1 || !this.balance.mayTry)) return;
    this.pausedAt = undefined;
    this.idleSteps = 0;
    this.lossSteps = 0;
    this.balance.resumed();
    this.model.follow(true);
  }

  isReady(sequences: number, pays: boolean): boolean {
    if (this.pausedAt !== undefined) return false;
    this.idleSteps = pays ? 0 : this.idleSteps + 1;
    this.lossSteps = this.balance.isLoss ? this.lossSteps + 1 : 0;
    if (this.idleSteps < IDLE_STEPS_MAX && this.lossSteps < LOSS_STEPS_MAX) return !this.isMeasuring();
    this.pausedAt = sequences;
    this.balance.paused();
    this.model.follow(false);
    return false;
  }

  private isMeasuring(): boolean {
    if (this.draftingSteps++ < this.draftingStepsMax) return false;
    this.draftingSteps = 0;
    this.draftingStepsMax = Math.min(DRAFTING_STEPS_MAX, 2 * this.draftingStepsMax);
    return true;
  }

  draft(targets: readonly DraftTarget[], room: number): readonly Int32Array[] {
    const requests: DraftRequest[] = [];
    let left = room;
    for (const { sequence, max } of targets) {
      if (left <= 0) break;
      const { slot, computed, sampler } = sequence;
      assert(slot !== undefined, "only a sequence with a slot computes");
      const position = sequence.positionOf(computed);
      requests.push({ slot, token: sequence.tokenAt(computed), position, sampler, max: Math.min(max, left) });
      left -= max;
    }
    return this.model.draft(requests);
  }

  verified(slot: SlotId, accepted: number): void {
    this.model.accept(slot, accepted);
  }
}
