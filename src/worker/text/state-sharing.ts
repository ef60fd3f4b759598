// How sequences share memory that cannot be cut: where states are saved, which of them a sequence can begin with, and whose it
// is worth to wait for. Knows what slots hold, but gives and takes none: kv.ts does.

import type { SlotId, StateBackend } from "./backend.ts";
import { type Checkpoint, Checkpoints, lastBoundary } from "./checkpoints.ts";
import type { Sequence } from "./sequence.ts";

/** Prefixes shorter than this are not worth keeping, or waiting for. */
export const PREFIX_TOKENS_MIN = 16;

/** Within a prompt, a state is saved at the end of the first pass after so many tokens without one. */
const CHECKPOINT_EVERY_TOKENS = 4096;

/** A slot and the tokens whose cells it has. */
export interface Holder {
  readonly slot: SlotId;
  readonly tokens: Int32Array;
}

/** A sequence that computes what another one begins with, and where its state must be saved for that. */
export interface Divergence {
  readonly from: Sequence;
  readonly at: number;
}

/** A checkpoint, and the slot that has the cells before it; undefined where a state is all there is. */
export interface Restorable {
  readonly checkpoint: Checkpoint;
  readonly source: SlotId | undefined;
}

export class StateSharing {
  readonly checkpoints: Checkpoints;
  private readonly states: StateBackend;

  /** `bytesMax`: room for saved states. */
  constructor(states: StateBackend, bytesMax: number) {
    this.states = states;
    this.checkpoints = new Checkpoints(bytesMax);
  }

  /** The longest checkpoint that a sequence can begin with. */
  restorable(sequence: Sequence, holders: readonly Holder[]): Restorable | undefined {
    const most = sequence.known - 1;
    const { alone } = this.states;
    const { slot, common } = longestCommon(sequence, holders);
    const checkpoint = this.checkpoints.find(sequence, alone ? most : Math.min(most, common));
    return checkpoint === undefined ? undefined : { checkpoint, source: alone ? undefined : slot };
  }

  /** Of the sequences that compute what another one begins with, the one that shares most with it and has not passed that place. */
  divergence(sequence: Sequence, others: readonly Sequence[]): Divergence | undefined {
    let best: Divergence | undefined;
    for (const from of others) {
      if (from.adapter !== sequence.adapter) continue;
      const prompt = from.firstTokens(from.promptTokens); // an answer could be run after token by token
      const common = Math.min(sequence.known - 1, sequence.commonPrefix(prompt));
      const whole = sequence.wholeChunks(common);
      const at = from.boundaryWithin(whole - PREFIX_TOKENS_MIN + 1, whole) ?? whole;
      if (from.computed < at && at > (best?.at ?? 0)) best = { from, at };
    }
    return best;
  }

  /**
   * Decides where the state of a sequence that begins with so many shared tokens is saved: before the answer, and where it parts
   * from what others have computed.
   */
  planBoundaries(sequence: Sequence, shared: number, holders: readonly Holder[]): void {
    sequence.savedAt = shared;
    const prompt = sequence.firstTokens(sequence.promptTokens);
    const boundary = lastBoundary(prompt, (token) => this.states.isMarkup(token));
    const common = Math.max(longestCommon(sequence, holders).common, this.checkpoints.commonPrefix(sequence));
    const places = [Math.min(sequence.known - 1, common), boundary].map((at) => sequence.wholeChunks(at));
    let last = shared;
    const halts = places
      .toSorted((a, b) => a - b)
      .filter((at) => {
        const isFar = at - last >= PREFIX_TOKENS_MIN;
        if (isFar) last = at;
        return isFar;
      });
    sequence.planBoundaries(halts);
  }

  /** Saves a sequence's state after a pass, if this is a place to. */
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

/** The holder of the most cells of a sequence's beginning. */
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
