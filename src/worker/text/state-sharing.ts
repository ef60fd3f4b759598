// Prefix sharing for memory that cannot be truncated: where states are saved, and which of them are evicted. The index finds them, kv.ts
// the cells that belong to them (docs/decisions/084).

import { itemAt } from "../../core/assert.ts";
import type { EngineStats } from "../../core/telemetry.ts";
import { CHECKPOINTS_MAX } from "../shared/limits.ts";
import type { SlotId, StateBackend } from "./backend.ts";
import { type Checkpoint, PREFIX_TOKENS_MIN, type PrefixIndex, startsWith } from "./prefix-index.ts";
import type { Sequence, TokenPrefix } from "./sequence.ts";
import { COPY_SHARE, Cost } from "./tiers/cost.ts";

/** Within a prompt, a state is saved at each multiple of this many tokens. */
const CHECKPOINT_EVERY_TOKENS = 4096;

/** Shorter answers are computed again rather than saved, tokens. */
const ANSWER_TOKENS_MIN = 32;

/** Tokens at the end of a prompt that may open the answer: `<|im_start|>assistant\n<think>\n\n</think>\n\n` has nine. */
const OPENING_TOKENS_MAX = 10;
/** Without markup, the last tokens of a prompt are left out: continued text may be tokenized differently there. */
const OPEN_TOKENS = 4;

/** Where states of a device cost more than they are worth, one of this number is saved, to measure it again. */
const RETRY_EVERY = 64;

/** Checkpoints held and restored. */
export type CheckpointCounts = Pick<EngineStats, Extract<keyof EngineStats, `checkpoint${string}`>>;

export const NO_CHECKPOINTS: CheckpointCounts = {
  checkpoints: 0,
  checkpointBytes: 0,
  checkpointsRestored: 0,
};

export class StateSharing {
  /** Computing a prompt token, milliseconds; 0 while unknown. */
  prefillTokenMs = 0;
  private readonly states: StateBackend;
  private readonly index: PrefixIndex;
  private readonly bytesMax: number;
  private readonly now: () => number;
  private readonly saving = new Cost(RETRY_EVERY); // of a state
  private bytes = 0;
  private clock = 0; // ticks with each save or restore
  private restored = 0;

  /** `bytesMax`: memory for saved states. `now`: monotonic milliseconds. */
  constructor(states: StateBackend, index: PrefixIndex, bytesMax: number, now: () => number) {
    this.states = states;
    this.index = index;
    this.bytesMax = bytesMax;
    this.now = now;
  }

  counted(): CheckpointCounts {
    return {
      checkpoints: this.index.checkpoints.length,
      checkpointBytes: this.bytes,
      checkpointsRestored: this.restored,
    };
  }

  /**
   * Plans where the state of a sequence with `shared` shared tokens is saved: before the answer, where it diverges from
   * what others have computed, and on the way through a long prompt.
   */
  planBoundaries(sequence: Sequence, shared: number, running: readonly Sequence[]): void {
    const prompt = sequence.firstTokens(sequence.promptTokens);
    const boundary = lastBoundary(prompt, (token) => this.states.isMarkup(token));
    const common = this.index.commonOf(sequence, running);
    const positions = [Math.min(sequence.known - 1, common), boundary];
    for (let at = CHECKPOINT_EVERY_TOKENS; at < boundary; at += CHECKPOINT_EVERY_TOKENS) positions.push(at);
    let last = shared;
    const boundaries = positions
      .map((at) => this.index.savable(sequence, at))
      .toSorted((a, b) => a - b)
      .filter((at) => {
        const isFar = at - last >= PREFIX_TOKENS_MIN;
        if (isFar) last = at;
        return isFar;
      });
    sequence.planBoundaries(boundaries);
  }

  /** Saves a sequence's state after a pass that ends at a boundary; undefined where none was saved. */
  passed(sequence: Sequence): Uint8Array | undefined {
    const { slot, computed } = sequence;
    if (slot === undefined || sequence.draft.length > 0 || !sequence.isAtBoundary) return undefined;
    return this.lengthOf(sequence, computed) === computed ? undefined : this.save(sequence, slot);
  }

  /**
   * Saves the state at the end of an answer, so that a next turn that begins with the answer computes only what is new; undefined
   * where none was saved. States with cells need none: they are kept in their slots.
   */
  ended(sequence: Sequence): Uint8Array | undefined {
    const { slot, computed } = sequence;
    if (slot === undefined || !this.states.alone || sequence.wholeChunks(computed) < computed)
      return undefined;
    const last = this.lengthOf(sequence, computed);
    return computed - last < ANSWER_TOKENS_MIN ? undefined : this.save(sequence, slot);
  }

  /** Adds the state after a sequence's first `length` tokens, unless it is there. Drops others where there is no room. */
  add(sequence: TokenPrefix, length: number, state: Uint8Array): void {
    if (this.lengthOf(sequence, length) === length) return;
    const tokens = sequence.firstTokens(length).slice();
    const checkpoint: Checkpoint = { partition: sequence.partition, tokens, state, usedAt: ++this.clock };
    const size = sizeOf(checkpoint);
    if (size > this.bytesMax) return;
    while (this.bytes + size > this.bytesMax || this.index.checkpoints.length >= CHECKPOINTS_MAX)
      this.dropLeast();
    this.index.addCheckpoint(checkpoint);
    this.bytes += size;
  }

  /** Restores a checkpoint into a slot that has the cells before it. False: the slot must be cleared. */
  restore(slot: SlotId, checkpoint: Checkpoint, position: number): boolean {
    const isRestored = this.states.restore(slot, checkpoint.state, position);
    if (!isRestored) this.drop([checkpoint]);
    else {
      this.restored++;
      checkpoint.usedAt = ++this.clock;
    }
    return isRestored;
  }

  drop(checkpoints: readonly Checkpoint[]): void {
    for (const checkpoint of checkpoints) {
      this.index.removeCheckpoint(checkpoint);
      this.bytes -= sizeOf(checkpoint);
    }
  }

  private save(sequence: Sequence, slot: SlotId): Uint8Array | undefined {
    const { computed } = sequence;
    if (!this.isWorth(computed - this.lengthOf(sequence, computed))) return undefined;
    const startMs = this.now();
    const state = this.states.save(slot);
    if (state === undefined) return undefined;
    this.saving.add(this.now() - startMs, 1);
    this.add(sequence, computed, state);
    return state;
  }

  /** Whether a state takes little of the time in which the tokens are computed that it would save. */
  private isWorth(tokens: number): boolean {
    return this.states.isOnDevice !== true || this.saving.isBelow(COPY_SHARE * tokens * this.prefillTokenMs);
  }

  /** Tokens of the longest checkpoint within a sequence's first `length`. */
  private lengthOf(sequence: TokenPrefix, length: number): number {
    return this.index.checkpointOf(sequence, length)?.tokens.length ?? 0;
  }

  /** Evicts the least valuable checkpoint: tokens to recompute without it, per byte and tick since its last use. */
  private dropLeast(): void {
    const value = (checkpoint: Checkpoint): number =>
      this.gain(checkpoint) / (sizeOf(checkpoint) * (1 + this.clock - checkpoint.usedAt));
    const valued = this.index.checkpoints.map((checkpoint) => ({ checkpoint, value: value(checkpoint) }));
    const [first, ...others] = valued;
    if (first === undefined) return;
    this.drop([others.reduce((least, one) => (one.value < least.value ? one : least), first).checkpoint]);
  }

  /** Tokens that a checkpoint saves beyond the longest shorter one on the way to it. */
  private gain({ partition, tokens }: Checkpoint): number {
    const before = this.index.checkpoints
      .filter((other) => other.partition === partition && other.tokens.length < tokens.length)
      .filter((other) => startsWith(tokens, other.tokens));
    return tokens.length - Math.max(0, ...before.map((other) => other.tokens.length));
  }
}

/**
 * How many tokens of a prompt the next turn most likely begins with: all before the markup that opens the answer, because
 * templates render a past answer differently; nearly all in a prompt without markup.
 */
export function lastBoundary(prompt: Int32Array, isMarkup: (token: number) => boolean): number {
  const end = prompt.length;
  for (let at = Math.max(1, end - OPENING_TOKENS_MAX); at < end; at++)
    if (isMarkup(itemAt(prompt, at))) return at;
  return Math.max(1, end - OPEN_TOKENS);
}

function sizeOf({ tokens, state }: Checkpoint): number {
  return tokens.byteLength + state.byteLength;
}
