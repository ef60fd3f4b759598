// Full windows: layers with a sliding window keep all tokens, so that any prefix of a sequence can be shared or truncated
// (docs/decisions/085).
//
// The library reuses cells outside a sequence's window for new tokens, unless another sequence holds them, too. So every
// slot has a guard sequence: a native sequence that shares its cells and computes nothing.

import type { BatchColumns, SlotId } from "../../src/worker/text/backend.ts";
import type { Native } from "../library.ts";
import type { Handle } from "../text.ts";

/** Decoded tokens are guarded in groups of this size; the tokens of a prefill chunk at once. */
const GUARDED_TOGETHER_MAX = 32;

/** Parts of the backend that guards need. */
export interface GuardDeps {
  readonly native: Native;
  readonly context: Handle;
  /** Slots; the guards are the native sequences after them. */
  readonly slots: number;
  /** Size of the window, positions. */
  readonly window: number;
  /** Chunked attention: all positions leave the window at once. */
  readonly inBlocks: boolean;
  /** For a hybrid model: removes the state that a guard shares with its slot. */
  readonly strip: ((guard: number) => void) | undefined;
}

export class WindowGuards {
  private readonly deps: GuardDeps;
  private readonly together: number;
  private readonly guarded: Int32Array; // [slots] guarded positions
  private readonly ends: Int32Array; // [slots] computed positions

  constructor(deps: GuardDeps) {
    this.deps = deps;
    this.together = deps.inBlocks ? 1 : Math.min(GUARDED_TOGETHER_MAX, deps.window >> 2);
    this.guarded = new Int32Array(deps.slots);
    this.ends = new Int32Array(deps.slots);
  }

  /** Steps of a multi-step decode before their tokens must be guarded. */
  get stepsMax(): number {
    return this.deps.inBlocks ? 1 : Number.POSITIVE_INFINITY;
  }

  /** After a pass of `n` rows, or a multi-step decode of `steps` steps. */
  computed({ slot, position }: BatchColumns, n: number, steps = 1): void {
    for (let i = 0; i < n; i++) this.ends[slot[i] ?? 0] = (position[i] ?? 0) + steps;
    for (let i = 0; i < n; i++) this.guard(slot[i] ?? 0);
  }

  /** After a media pass from position `from` on; several of its tokens may share a position. */
  computedMedia(slot: SlotId, from: number, end: number): void {
    this.ends[slot] = end;
    this.guarded[slot] = Math.min(this.guarded[slot] ?? 0, from);
    this.guard(slot);
  }

  /** The slot `target` shares the first `length` positions of `source`. */
  shared(source: SlotId, target: SlotId, length: number): void {
    this.share(source, target, 0, length);
    this.guarded[target] = length;
    this.ends[target] = length;
  }

  /** The slot got the positions [from, to) of another native sequence. */
  appended(source: number, slot: SlotId, from: number, to: number): void {
    this.share(source, slot, from, to);
    this.guarded[slot] = to;
    this.ends[slot] = to;
  }

  /** A slot was truncated to its positions before `from`. */
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
