// Prefix sharing for memory that cannot be truncated: where states are saved, which of them a sequence can restore, and
// which sequence is worth waiting for. Assigns no slots: kv.ts does.

import type { SlotId, StateBackend } from "./backend.ts";
import { type Checkpoint, Checkpoints, lastBoundary } from "./checkpoints.ts";
import type { Sequence, TokenPrefix } from "./sequence.ts";

/** Minimum length of a prefix that is worth keeping or waiting for, tokens. */
export const PREFIX_TOKENS_MIN = 16;

/** Within a prompt, a state is saved at each multiple of this many tokens. */
const CHECKPOINT_EVERY_TOKENS = 4096;

/** Shorter answers are computed again rather than saved, tokens. */
const ANSWER_TOKENS_MIN = 32;

/** A slot and the tokens of its cells. */
export interface Holder {
  readonly slot: SlotId;
  readonly tokens: Int32Array;
}

/** A sequence that computes the prefix of another one, and the position where the two diverge: its state is saved there. */
export interface Divergence {
  readonly from: Sequence;
  readonly at: number;
}

/** A checkpoint and the cells before it: `pooled` of them lie in the slot `source`, the others in a tier. */
export interface Restorable {
  readonly checkpoint: Checkpoint;
  readonly source: SlotId | undefined;
  readonly pooled: number;
}

/** How states are saved. */
export interface StateOptions {
  /** Memory for saved states. */
  readonly bytesMax: number;
  /** States are saved at multiples of this many tokens: a tier finds no others. */
  readonly everyTokens: number;
}

export class StateSharing {
  readonly checkpoints: Checkpoints;
  private readonly states: StateBackend;
  private readonly everyTokens: number;

  constructor(states: StateBackend, { bytesMax, everyTokens }: StateOptions) {
    this.states = states;
    this.everyTokens = everyTokens;
    this.checkpoints = new Checkpoints(bytesMax);
  }

  /**
   * The longest checkpoint that a sequence can restore. `tierEnd`: up to which token a tier has the cells that follow a number of
   * tokens.
   */
  restorable(
    sequence: Sequence,
    holders: readonly Holder[],
    tierEnd: (from: number) => number,
  ): Restorable | undefined {
    const max = sequence.known - 1;
    if (this.states.alone) {
      const checkpoint = this.checkpoints.find(sequence, max);
      return checkpoint && { checkpoint, source: undefined, pooled: 0 };
    }
    const { slot, common } = longestCommon(sequence, holders);
    const whole = common - (common % this.everyTokens);
    const checkpoint = this.checkpoints.find(sequence, Math.min(max, Math.max(common, tierEnd(whole))));
    if (checkpoint === undefined) return undefined;
    const { length } = checkpoint.tokens;
    const pooled = length > common ? whole : length;
    return { checkpoint, source: pooled === 0 ? undefined : slot, pooled };
  }

  /** Among the sequences that compute another one's prefix, the one that shares most with it and has not passed that position. */
  divergence(sequence: Sequence, others: readonly Sequence[]): Divergence | undefined {
    let best: Divergence | undefined;
    for (const from of others) {
      if (from.partition !== sequence.partition) continue;
      const prompt = from.firstTokens(from.promptTokens); // an answer is not worth following token by token
      const common = Math.min(sequence.known - 1, sequence.commonPrefix(prompt));
      const whole = this.savable(sequence, common);
      const at = from.boundaryWithin(whole - PREFIX_TOKENS_MIN + 1, whole) ?? whole;
      if (from.computed < at && at > (best?.at ?? 0)) best = { from, at };
    }
    return best;
  }

  /**
   * Plans where the state of a sequence with `shared` shared tokens is saved: before the answer, where it diverges from
   * what others have computed, and on the way through a long prompt.
   */
  planBoundaries(sequence: Sequence, shared: number, holders: readonly Holder[]): void {
    const prompt = sequence.firstTokens(sequence.promptTokens);
    const boundary = lastBoundary(prompt, (token) => this.states.isMarkup(token));
    const common = Math.max(longestCommon(sequence, holders).common, this.checkpoints.commonPrefix(sequence));
    const positions = [Math.min(sequence.known - 1, common), boundary];
    for (let at = CHECKPOINT_EVERY_TOKENS; at < boundary; at += CHECKPOINT_EVERY_TOKENS) positions.push(at);
    let last = shared;
    const boundaries = positions
      .map((at) => this.savable(sequence, at))
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
    if (this.checkpoints.has(sequence, computed)) return undefined;
    const state = this.states.save(slot);
    if (state !== undefined) this.checkpoints.add(sequence, computed, state);
    return state;
  }

  /**
   * Saves the state at the end of an answer, so that a next turn that begins with the answer computes only what is new; undefined
   * where none was saved. States with cells need none: they are kept in their slots.
   */
  ended(sequence: Sequence): Uint8Array | undefined {
    const { slot, computed } = sequence;
    if (slot === undefined || !this.states.alone || sequence.wholeChunks(computed) < computed)
      return undefined;
    const last = this.checkpoints.find(sequence, computed)?.tokens.length ?? 0;
    if (computed - last < ANSWER_TOKENS_MIN) return undefined;
    const state = this.states.save(slot);
    if (state !== undefined) this.checkpoints.add(sequence, computed, state);
    return state;
  }

  /** Adds the state after a sequence's first `length` tokens, which a tier has kept. */
  found(sequence: TokenPrefix, length: number, state: Uint8Array): void {
    if (!this.checkpoints.has(sequence, length)) this.checkpoints.add(sequence, length, state);
  }

  /** Restores a checkpoint into a slot that has the cells before it. False: the slot must be cleared. */
  restore(slot: SlotId, checkpoint: Checkpoint, position: number): boolean {
    const isRestored = this.states.restore(slot, checkpoint.state, position);
    if (isRestored) this.checkpoints.used(checkpoint);
    else this.checkpoints.drop(checkpoint);
    return isRestored;
  }

  /** The last position of at most `at` tokens where a sequence's state can be saved. */
  private savable(sequence: Sequence, at: number): number {
    const whole = sequence.wholeChunks(at);
    return sequence.wholeChunks(whole - (whole % this.everyTokens));
  }
}

/** The holder with the longest common prefix. */
function longestCommon(
  sequence: Sequence,
  holders: readonly Holder[],
): { readonly slot: SlotId | undefined; readonly common: number } {
  let slot: SlotId | undefined;
  let common = 0;
  for (const holder of holders) {
    const length = sequence.commonPrefix(holder.tokens);
    if (length <= common) continue;
    slot = holder.slot;
    common = length;
  }
  return { slot, common };
}
