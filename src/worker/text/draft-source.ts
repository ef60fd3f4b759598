// Where guesses of next tokens come from: what stands in a sequence already, or a model that guesses.

import { assert } from "../../core/assert.ts";
import type { DraftAsk, DraftModel, SlotId } from "./backend.ts";
import type { EngineSequence } from "./choice.ts";
import { NgramIndex } from "./ngram-index.ts";

/** Up to `most` tokens, one at least, are wanted after a sequence's known ones. */
export interface Wanted {
  readonly sequence: EngineSequence;
  readonly most: number;
}

export interface DraftSource {
  /** Tokens of a guess at most. */
  readonly most: number;
  /** A step of so many sequences computes prompts, for which nothing is guessed. */
  prompts(sequences: number): void;
  /** Whether it guesses in a step of so many sequences. `pays`: guesses are worth their price for one of them at least. */
  ready(sequences: number, pays: boolean): boolean;
  /** Whether a guess that comes out empty has cost something all the same. */
  readonly isDear: boolean;
  /** Guesses, `room` tokens together at most, for a beginning of what is wanted; any may be empty. */
  draft(wanted: readonly Wanted[], room: number): readonly Int32Array[];
  /** So many tokens of the guess for a slot were right, and its sequence goes on. */
  checked(slot: SlotId, right: number): void;
}

/** Guesses what followed the last few tokens before. */
export class IndexSource implements DraftSource {
  readonly most = 12;
  readonly isDear = false;
  private readonly indexes = new WeakMap<EngineSequence, NgramIndex>();

  prompts(): void {
    // it reads them when it guesses
  }

  ready(): boolean {
    return true;
  }

  draft(wanted: readonly Wanted[], room: number): readonly Int32Array[] {
    let left = room;
    return wanted.map(({ sequence, most }) => {
      const index = this.indexes.get(sequence) ?? new NgramIndex();
      this.indexes.set(sequence, index);
      const draft = index.continuation(sequence.firstTokens(sequence.known), Math.min(most, left));
      left -= draft.length;
      return draft;
    });
  }

  checked(): void {
    // what was right stands in the sequence now
  }
}

/** Steps in which guesses do not pay for any sequence, after which the model stops computing along. */
const IDLE_STEPS_MAX = 64;

/** Steps with guesses, after which one goes without, to learn what guesses save: few at first, then so many. */
const GUESSING_STEPS_FIRST = 2;
const GUESSING_STEPS_MAX = 64;

/**
 * A model guesses. To be able to, it computes along with every pass, which costs time even where nothing is guessed: it
 * pauses where that does not pay, until a prompt comes while fewer run than at that time, or none.
 */
export class ModelSource implements DraftSource {
  readonly most: number;
  readonly isDear = true;
  private readonly model: DraftModel;
  private idleSteps = 0;
  private guessingSteps = 0;
  private guessingStepsMax = GUESSING_STEPS_FIRST;
  /** Sequences of the step at which it paused; undefined while it computes along. */
  private pausedAt: number | undefined;

  constructor(model: DraftModel) {
    this.model = model;
    this.most = model.most;
  }

  prompts(sequences: number): void {
    if (this.pausedAt === undefined || (sequences > 1 && sequences >= this.pausedAt)) return;
    this.pausedAt = undefined;
    this.idleSteps = 0;
    this.model.follow(true);
  }

  ready(sequences: number, pays: boolean): boolean {
    if (this.pausedAt !== undefined) return false;
    this.idleSteps = pays ? 0 : this.idleSteps + 1;
    if (this.idleSteps < IDLE_STEPS_MAX) return !this.isMeasuring();
    this.pausedAt = sequences;
    this.model.follow(false);
    return false;
  }

  private isMeasuring(): boolean {
    if (this.guessingSteps++ < this.guessingStepsMax) return false;
    this.guessingSteps = 0;
    this.guessingStepsMax = Math.min(GUESSING_STEPS_MAX, 2 * this.guessingStepsMax);
    return true;
  }

  draft(wanted: readonly Wanted[], room: number): readonly Int32Array[] {
    const asks: DraftAsk[] = [];
    let left = room;
    for (const { sequence, most } of wanted) {
      if (left <= 0) break;
      const { slot, computed, sampler } = sequence;
      assert(slot !== undefined, "only a sequence with a slot computes");
      const position = sequence.positionOf(computed);
      asks.push({ slot, token: sequence.tokenAt(computed), position, sampler, most: Math.min(most, left) });
      left -= most;
    }
    return this.model.draft(asks);
  }

  checked(slot: SlotId, right: number): void {
    this.model.accept(slot, right);
  }
}
