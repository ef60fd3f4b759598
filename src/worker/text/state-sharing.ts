// Prefix sharing for memory that cannot be truncated: where states are saved, which of them a sequence can restore, and
// which sequence is worth waiting for. Assigns no slots: kv.ts does.

import type { SlotId, StateBackend } from "./backend.ts";
import { type Checkpoint, Checkpoints, lastBoundary } from "./checkpoints.ts";
import type { Sequence } from "./sequence.ts";

/** Minimum length of a prefix that is worth keeping or waiting for, tokens. */
export const PREFIX_TOKENS_MIN = 16;

/** Within a prompt, a state is saved after the first pass that ends this many tokens after the last one. */
const CHECKPOINT_EVERY_TOKENS = 4096;

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

/** A checkpoint and the slot with the cells before it; undefined where a state needs none. */
export interface Restorable {
  readonly checkpoint: Checkpoint;
  readonly source: SlotId | undefined;
}

export class StateSharing {
  readonly checkpoints: Checkpoints;
  private readonly states: StateBackend;

  /** `bytesMax`: memory for saved states. */
  constructor(states: StateBackend, bytesMax: number) {
    this.states = states;
    this.checkpoints = new Checkpoints(bytesMax);
  }

  /** The longest checkpoint that a sequence can restore. */
  restorable(sequence: Sequence, holders: readonly Holder[]): Restorable | undefined {
    const max = sequence.known - 1;
    const { alone } = this.states;
    const { slot, common } = longestCommon(sequence, holders);
    const checkpoint = this.checkpoints.find(sequence, alone ? max : Math.min(max, common));
    return checkpoint === undefined ? undefined : { checkpoint, source: alone ? undefined : slot };
  }

  /** Among the sequences that compute another one's prefix, the one that shares most with it and has not passed that position. */
  divergence(sequence: Sequence, others: readonly Sequence[]): Divergence | undefined {
    let best: Divergence | undefined;
    for (const from of others) {
      if (from.partition !== sequence.partition) continue;
      const prompt = from.firstTokens(from.promptTokens); // an answer is not worth following token by token
      const common = Math.min(sequence.known - 1, sequence.commonPrefix(prompt));
      const whole = sequence.wholeChunks(common);
      const at = from.boundaryWithin(whole - PREFIX_TOKENS_MIN + 1, whole) ?? whole;
      if (from.computed < at && at > (best?.at ?? 0)) best = { from, at };
    }
    return best;
  }

  /**
   * Plans where the state of a sequence with `shared` shared tokens is saved: before the answer, and where it diverges from
   * what others have computed.
   */
  planBoundaries(sequence: Sequence, shared: number, holders: readonly Holder[]): void {
    sequence.savedAt = shared;
    const prompt = sequence.firstTokens(sequence.promptTokens);
    const boundary = lastBoundary(prompt, (token) => this.states.isMarkup(token));
    const common = Math.max(longestCommon(sequence, holders).common, this.checkpoints.commonPrefix(sequence));
    const positions = [Math.min(sequence.known - 1, common), boundary].map((at) => sequence.wholeChunks(at));
    let last = shared;
    const boundaries = positions
      .toSorted((a, b) => a - b)
      .filter((at) => {
        const isFar = at - last >= PREFIX_TOKENS_MIN;
        if (isFar) last = at;
        return isFar;
      });
    sequence.planBoundaries(boundaries);
  }

  /** Saves a sequence's state after a pass that ends at a boundary. */
  passed(sequence: Sequence): void {
    const { slot, computed, promptTokens, savedAt } = sequence;
    const isLong = computed < promptTokens && computed - savedAt >= CHECKPOINT_EVERY_TOKENS;
    if (slot === undefined || sequence.draft.length > 0 || !(sequence.isAtBoundary || isLong)) return;
    if (sequence.wholeChunks(computed) !== computed) return;
    sequence.savedAt = computed;
    if (this.checkpoints.has(sequence)) return;
    const state = this.states.save(slot);
    if (state !== undefined) this.checkpoints.add(sequence, state);
  }

  /** Restores a checkpoint into a slot that has the cells before it. False: the slot must be cleared. */
  restore(slot: SlotId, checkpoint: Checkpoint, position: number): boolean {
    if (!this.states.restore(slot, checkpoint.state, position)) return false;
    this.checkpoints.used(checkpoint);
    return true;
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
