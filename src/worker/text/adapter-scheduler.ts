// Which adapter the next step is for. A pass goes through one adapter, so sequences of different ones take turns.

import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";

/**
 * A turn lasts at least so long while others wait. Selecting another adapter makes llama.cpp plan its graph anew, a few
 * milliseconds for a model of 28 layers; a reader does not notice a pause of this length.
 */
const ADAPTER_SLICE_MS = 60;

/** Hands out turns: whoever has waited longest since its last one is next. */
export class AdapterScheduler {
  private current: AdapterId = BASE_MODEL;
  private startedMs = 0;
  private readonly servedMs = new Map<AdapterId, number>(); // when its last turn ended

  /**
   * The adapters that have work, in the order in which they may have the next step: the first whose sequences can use it
   * should. `wanting` has no duplicates.
   */
  order(wanting: readonly AdapterId[], nowMs: number): readonly AdapterId[] {
    if (wanting.length <= 1) return wanting;
    const stays = nowMs - this.startedMs < ADAPTER_SLICE_MS;
    const rank = (adapter: AdapterId): number => {
      if (adapter === this.current) return stays ? -Infinity : Infinity;
      return this.servedMs.get(adapter) ?? -1;
    };
    return [...wanting].sort((a, b) => rank(a) - rank(b));
  }

  /** Notes that a step is for this adapter. */
  take(adapter: AdapterId, nowMs: number): void {
    if (adapter === this.current) return;
    this.servedMs.set(this.current, nowMs);
    this.current = adapter;
    this.startedMs = nowMs;
  }

  /** Notes that an adapter is gone. */
  forget(adapter: AdapterId): void {
    this.servedMs.delete(adapter);
  }
}
