// The prefix hits of waiting sequences: which slot, blocks of the tiers or checkpoint has the longest beginning. Changes nothing.
//
// Prefixes are found by comparing tokens slot by slot. There are a few dozen slots and a comparison ends at the first
// difference, so a search takes microseconds and needs no index (docs/decisions/013).

import type { Backend, SlotId } from "./backend.ts";
import type { Checkpoint } from "./checkpoints.ts";
import type { Sequence } from "./sequence.ts";
import type { SlotPool } from "./slot-pool.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import type { CacheTiers } from "./tiers/tiers.ts";
import { type Holder, type Divergence, PREFIX_TOKENS_MIN, type StateSharing } from "./state-sharing.ts";

/** The prefix hit of a sequence. */
export interface Match {
  /** Slot to share or to take over; undefined without a hit. */
  readonly source: SlotId | undefined;
  readonly shared: number;
  readonly sharedPinned: number;
  /** Those of the shared tokens that come from the slot; the rest is restored from a tier. Absent: all. */
  readonly pooled?: number;
  /** A running sequence is computing a longer prefix: waiting for it is better than computing it twice. */
  readonly wait: boolean;
  /** The state to restore; undefined where only cells are shared. */
  readonly checkpoint?: Checkpoint;
  /** The sequence that computes the awaited prefix, and where its state must be saved. */
  readonly divergence?: Divergence;
}

/** The other sequences at a search. */
interface Around {
  readonly running: readonly Sequence[];
  readonly ahead: readonly Sequence[];
}

const NO_HIT: Match = { source: undefined, shared: 0, sharedPinned: 0, wait: false };

interface HitSources {
  readonly reuse: Backend["reuse"];
  readonly pool: SlotPool;
  readonly sharing: StateSharing | undefined;
  readonly tiers: CacheTiers | undefined;
}

export class PrefixHits {
  private readonly reuse: Backend["reuse"];
  private readonly pool: SlotPool;
  private readonly sharing: StateSharing | undefined;
  private readonly tiers: CacheTiers | undefined;

  constructor({ reuse, pool, sharing, tiers }: HitSources) {
    this.reuse = reuse;
    this.pool = pool;
    this.sharing = sharing;
    this.tiers = tiers;
  }

  /**
   * The longest prefix hit of a waiting sequence among finished and running sequences. `ahead`: candidates that will be
   * admitted before it.
   */
  find(sequence: Sequence, running: readonly Sequence[], ahead: readonly Sequence[]): Match {
    if (this.pool.keptMax === 0 || sequence.scoresPrompt) return NO_HIT;
    const max = sequence.known - 1; // at least one token is computed, for its logits
    const shareable = (length: number): number => sequence.wholeChunks(Math.min(max, length));
    let best = NO_HIT;
    const consider = (source: SlotId, length: number): void => {
      if (length > best.shared) {
        best = {
          source,
          shared: length,
          sharedPinned: this.pool.book.pinnedWithin(source, length),
          wait: false,
        };
      }
    };
    for (const { slot, tokens } of this.pool.kept.within(sequence.partition)) {
      const common = shareable(sequence.commonPrefix(tokens));
      if (this.reuse !== "whole" || common === tokens.length) consider(slot, common);
    }
    if (this.sharing !== undefined) return this.matchState(this.sharing, sequence, { running, ahead }, best);
    if (this.reuse !== "prefix") return best;
    let promised = 0;
    for (const other of [...running, ...ahead]) {
      if (other.partition !== sequence.partition) continue;
      const common = shareable(sequence.commonPrefix(other.firstTokens(other.known)));
      if (other.slot !== undefined) consider(other.slot, shareable(Math.min(common, other.computed)));
      promised = Math.max(promised, common);
    }
    const found = this.withBlocks(sequence, best);
    return promised - found.shared >= PREFIX_TOKENS_MIN ? { ...found, wait: true } : found;
  }

  /** A prefix hit, lengthened by what the tiers hold in memory. */
  private withBlocks(sequence: Sequence, best: Match): Match {
    const pooled = best.shared - (best.shared % BLOCK_TOKENS);
    const end = this.tiers?.restorable(sequence, pooled) ?? 0;
    if (end - best.shared < PREFIX_TOKENS_MIN) return best;
    const { source } = best;
    const sharedPinned = source === undefined ? 0 : this.pool.book.pinnedWithin(source, pooled);
    return { source, shared: end, sharedPinned, pooled, wait: false };
  }

  /** The longest checkpoint with its cells, if it is longer than the hit so far; or one worth waiting for. */
  private matchState(sharing: StateSharing, sequence: Sequence, around: Around, best: Match): Match {
    const holders = this.holders(sequence, around.running);
    const tierEnd = (from: number): number => this.tiers?.restorable(sequence, from) ?? 0;
    const restorable = sharing.restorable(sequence, holders, tierEnd);
    let found = best;
    if (restorable !== undefined && restorable.checkpoint.tokens.length > best.shared) {
      const { source, pooled, checkpoint } = restorable;
      const shared = checkpoint.tokens.length;
      const sharedPinned = source === undefined ? 0 : this.pool.book.pinnedWithin(source, pooled);
      found = { source, shared, sharedPinned, pooled, wait: false, checkpoint };
    }
    const divergence = sharing.divergence(sequence, [...around.running, ...around.ahead]);
    if (divergence === undefined || divergence.at - found.shared < PREFIX_TOKENS_MIN) return found;
    return { ...found, wait: true, divergence };
  }

  /** Slots that hold tokens of a sequence's partition. */
  holders({ partition }: Sequence, running: readonly Sequence[]): readonly Holder[] {
    const held: Holder[] = [...this.pool.kept.within(partition)];
    for (const other of running)
      if (other.partition === partition && other.slot !== undefined)
        held.push({ slot: other.slot, tokens: other.firstTokens(other.computed) });
    return held;
  }
}
