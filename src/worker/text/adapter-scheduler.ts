// Adapter scheduling: which adapter the next step uses. A pass uses one adapter, so adapters get time slices.
// llama.cpp applies adapters to a whole pass. Rejected: an engine or merged weights for each adapter.

import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";

/**
 * Minimum time slice while other adapters wait. Another adapter makes llama.cpp rebuild its graph, a few milliseconds for a
 * model of 28 layers; a reader does not notice a pause of this length.
 */
const ADAPTER_SLICE_MS = 60;

/** Gives each adapter time slices; the one that has waited longest is next. */
export class AdapterScheduler {
  private current: AdapterId = BASE_MODEL;
  private startedMs = 0;
  private readonly servedMs = new Map<AdapterId, number>(); // end of its last time slice

  /**
   * The adapters with work, in the order in which they may get the next step; the first whose sequences can compute should
   * take it. `wanting` has no duplicates.
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

  /** A step uses this adapter. */
  take(adapter: AdapterId, nowMs: number): void {
    if (adapter === this.current) return;
    this.servedMs.set(this.current, nowMs);
    this.current = adapter;
    this.startedMs = nowMs;
  }

  /** An adapter was unloaded. */
  forget(adapter: AdapterId): void {
    this.servedMs.delete(adapter);
  }
}
