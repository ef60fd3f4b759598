// Full windows: layers with a sliding window keep all tokens, so that any beginning of a sequence can be shared or cut
// (docs/decisions/085).
//
// The library still takes cells that have left a sequence's window for new tokens, unless two sequences hold them. So every
// slot has a guard: a native sequence that shares its cells and computes nothing.

import type { BatchColumns, SlotId } from "../src/worker/text/backend.ts";
import type { Native } from "./library.ts";
import type { Handle } from "./text.ts";

/** Tokens that one pass adds to a sequence are guarded at once; those that come one by one, so many together. */
const GUARDED_TOGETHER_MAX = 32;

/** What guards need of the rest of the backend. */
export interface GuardDeps {
  readonly native: Native;
  readonly context: Handle;
  /** Guards are the native sequences after them. */
  readonly slots: number;
  /** Positions that a layer sees. */
  readonly window: number;
  /** All positions of a window leave it at once. */
  readonly inBlocks: boolean;
  /** Of a hybrid model, takes the state from a guard that has shared one with its slot. */
  readonly strip: ((guard: number) => void) | undefined;
}

export class WindowGuards {
  private readonly deps: GuardDeps;
  private readonly together: number;
  private readonly guarded: Int32Array; // [slots] positions that have a guard
  private readonly ends: Int32Array; // [slots] positions that are computed

  constructor(deps: GuardDeps) {
    this.deps = deps;
    this.together = deps.inBlocks ? 1 : Math.min(GUARDED_TOGETHER_MAX, deps.window >> 2);
    this.guarded = new Int32Array(deps.slots);
    this.ends = new Int32Array(deps.slots);
  }

  /** Steps that may go together before what they compute is guarded. */
  get stepsMax(): number {
    return this.deps.inBlocks ? 1 : Number.POSITIVE_INFINITY;
  }

  /** After a pass over so many rows, each of which was computed `steps` times, one position after the other. */
  computed({ slot, position }: BatchColumns, n: number, steps = 1): void {
    for (let i = 0; i < n; i++) this.ends[slot[i] ?? 0] = (position[i] ?? 0) + steps;
    for (let i = 0; i < n; i++) this.guard(slot[i] ?? 0);
  }

  /** After a pass over a part of media from position `from` on, several tokens of which may have one position. */
  computedMedia(slot: SlotId, from: number, end: number): void {
    this.ends[slot] = end;
    this.guarded[slot] = Math.min(this.guarded[slot] ?? 0, from);
    this.guard(slot);
  }

  /** The slot `target` has got the first `length` positions of `source`. */
  shared(source: SlotId, target: SlotId, length: number): void {
    this.share(source, target, 0, length);
    this.guarded[target] = length;
    this.ends[target] = length;
  }

  /** A slot has lost its positions from `from` on. */
  cut(slot: SlotId, from: number): void {
    if (this.ends[slot] === 0) return;
    const { native, context, slots } = this.deps;
    native.svc_sequence_remove(context, slots + slot, from, -1);
    this.guarded[slot] = Math.min(this.guarded[slot] ?? 0, from);
    this.ends[slot] = Math.min(this.ends[slot] ?? 0, from);
  }

  private guard(slot: number): void {
    const from = this.guarded[slot] ?? 0;
    const to = this.ends[slot] ?? 0;
    if (to - from < this.together) return;
    this.share(slot, slot, from, to);
    this.guarded[slot] = to;
  }

  private share(source: number, guarded: number, from: number, to: number): void {
    const { native, context, slots, strip } = this.deps;
    native.svc_sequence_copy(context, source, slots + guarded, from, to);
    strip?.(slots + guarded);
  }
}
