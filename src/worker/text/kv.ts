// The KV cache: slots of running sequences, and finished prefixes kept for reuse, which new sequences take or share.
//
// Memory that cannot be truncated is shared at checkpoints (state-sharing.ts, docs/decisions/084).

import type { AdapterId } from "../../core/adapter.ts";
import { assert } from "../../core/assert.ts";
import type { Backend, SlotId } from "./backend.ts";
import { type Checkpoint, type CheckpointCounts, NO_CHECKPOINTS } from "./checkpoints.ts";
import type { CellBook } from "./cells.ts";
import type { KeptPrefixes } from "./kept-prefixes.ts";
import { type Match, PrefixHits } from "./prefix-hits.ts";
import { Recalls } from "./recalls.ts";
import { Restoring, type RestoreState } from "./restoring.ts";
import { cellsToAdmit } from "./scheduler.ts";
import type { Sequence } from "./sequence.ts";
import { SlotPool } from "./slot-pool.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import { type CacheTiers, NO_TIERS, type TierCounts } from "./tiers/tiers.ts";
import { PREFIX_TOKENS_MIN, StateSharing } from "./state-sharing.ts";

/** What is kept outside the cache. */
export interface KvStores {
  /** Memory for saved states, bytes; none by default. */
  readonly checkpointBytes?: number | undefined;
  /** Copies of cells. */
  readonly tiers?: CacheTiers | undefined;
}

export class KvCache {
  readonly hits: PrefixHits;
  /** Undefined without tiers. */
  readonly recalls: Recalls | undefined;
  private readonly backend: Backend;
  private readonly book: CellBook;
  private readonly keptMax: number;
  private readonly pool: SlotPool;
  private readonly kept: KeptPrefixes;
  private readonly sharing: StateSharing | undefined;
  private readonly tiers: CacheTiers | undefined;
  private readonly restoring: Restoring | undefined;

  /** `keptMax`: finished prefixes to keep; 0 disables sharing. */
  constructor(backend: Backend, keptMax: number, { checkpointBytes = 0, tiers }: KvStores = {}) {
    this.backend = backend;
    const { states } = backend;
    const saves = states !== undefined && keptMax > 0 && checkpointBytes > 0;
    this.tiers = saves || (keptMax > 0 && states === undefined) ? tiers : undefined;
    const everyTokens = this.tiers === undefined ? 1 : BLOCK_TOKENS;
    this.sharing = saves ? new StateSharing(states, { bytesMax: checkpointBytes, everyTokens }) : undefined;
    this.pool = new SlotPool(backend, keptMax, this.tiers);
    this.book = this.pool.book;
    this.kept = this.pool.kept;
    this.keptMax = this.pool.keptMax;
    const sources = { pool: this.pool, sharing: this.sharing, tiers: this.tiers };
    this.hits = new PrefixHits({ reuse: backend.reuse, ...sources });
    const share = (source: SlotId, target: SlotId, sequence: Sequence, length: number): void => {
      backend.shareSlot(source, target, sequence.positionOf(length));
      this.book.share(source, target, length);
    };
    const restoreState = (slot: SlotId, checkpoint: Checkpoint, sequence: Sequence): boolean =>
      this.sharing?.restore(slot, checkpoint, sequence.positionOf(checkpoint.tokens.length)) === true;
    if (this.tiers !== undefined && backend.cellCopies !== undefined && this.keptMax > 0)
      this.restoring = new Restoring({ pool: this.pool, tiers: this.tiers, share, restoreState });
    const { kept, restoring, sharing } = this;
    this.recalls = this.tiers && new Recalls({ tiers: this.tiers, kept, restoring, sharing });
  }

  /** Cells that running sequences do not hold. */
  get availableCells(): number {
    return this.book.available;
  }

  /** Free cells. */
  get freeCells(): number {
    return this.book.free;
  }

  /** Cells of finished prefixes that no running sequence shares. */
  get keptCells(): number {
    return this.book.available - this.book.free;
  }

  /** Slots that hold a finished prefix. */
  get keptCount(): number {
    return this.kept.count;
  }

  /** Tokens of the finished prefixes that a sequence may share, least recently used first. */
  finishedBeside({ partition }: Sequence): readonly Int32Array[] {
    return this.kept.within(partition).map(({ tokens }) => tokens);
  }

  /** Slots without a running sequence. */
  get availableSlots(): number {
    return this.pool.available;
  }

  /** Checkpoints held, their bytes, and how many were restored. */
  checkpointed(): CheckpointCounts {
    return this.sharing?.checkpoints.counted() ?? NO_CHECKPOINTS;
  }

  /** Bytes and use of the tiers. */
  tiered(): TierCounts {
    return this.tiers?.counted() ?? NO_TIERS;
  }

  /** A sequence has arrived: its blocks are read. */
  arrived(sequence: Sequence, running: readonly Sequence[]): void {
    const { tiers, sharing } = this;
    if (tiers === undefined) return;
    const onState = sharing && ((at: number, state: Uint8Array) => sharing.found(sequence, at, state));
    tiers.request(sequence, () => this.hits.find(sequence, running, []).shared, onState);
  }

  /** A sequence has ended, admitted or not. */
  ended(sequence: Sequence): void {
    this.restoring?.release(sequence);
    this.tiers?.release(sequence);
  }

  /** Whether a sequence's blocks are being read or restored; it must not be admitted yet. */
  isReading(sequence: Sequence): boolean {
    return this.tiers?.isReading(sequence) === true || this.restoring?.has(sequence) === true;
  }

  /** The same; begins to restore what has been read so far. */
  isHeld(sequence: Sequence, running: readonly Sequence[]): boolean {
    if (!this.isReading(sequence)) return false;
    // The state that all blocks lead to decides how many are restored.
    if (this.sharing !== undefined || this.restoring?.has(sequence) !== false) return true;
    const match = this.hits.find(sequence, running, []);
    if (!match.wait) this.restoreFirst(sequence, match, running);
    return true;
  }

  /** Restores the hit of a waiting sequence piece by piece before it is admitted, if it is long. */
  restoreFirst(sequence: Sequence, match: Match, running: readonly Sequence[]): RestoreState {
    if (this.restoring === undefined) return "now";
    const hit = this.restoring.interrupt(sequence, match) ? this.hits.find(sequence, running, []) : match;
    const cells = cellsToAdmit(sequence, hit.sharedPinned, running.length);
    return this.restoring.begin(sequence, hit, cells, running.length === 0);
  }

  /** Whether anything is being restored. */
  get isRestoring(): boolean {
    return this.restoring?.isActive === true;
  }

  /** Restores the next piece for a waiting sequence. False: it is still being read, or nothing is restored. */
  restorePiece(running: readonly Sequence[]): boolean {
    return this.restoring?.step(running.length === 0) === true;
  }

  /**
   * Copies one block of a finished prefix to disk, latest prefix first; without a disk, of the one that will be evicted next. False:
   * none is left, or the disk is busy.
   */
  writeBlock(): boolean {
    const { tiers } = this;
    if (tiers === undefined) return false;
    const next = this.kept.count < this.keptMax ? undefined : this.kept.all[0];
    for (;;) {
      const kept = this.kept.all.findLast(
        (one) => one.run !== undefined && tiers.mayWrite(one.run, one === next),
      );
      if (kept?.run === undefined) return false;
      if (tiers.save(kept.run, kept.slot)) return true; // otherwise all its blocks have copies
    }
  }

  /** Cells that would become available by preempting this sequence. */
  exclusiveCells(sequence: Sequence): number {
    return sequence.slot === undefined ? 0 : this.book.exclusive(sequence.slot);
  }

  /**
   * Admits a sequence to a slot, with a prefix hit of at most `sharedMax` tokens, as planned. The hit is searched again,
   * because an admission just before may have used it up.
   */
  admit(sequence: Sequence, running: readonly Sequence[], sharedMax: number): void {
    const match = this.hits.find(sequence, running, []);
    if (!isAgain(sequence, match.shared)) this.pool.trim(match.source);
    const planned = Math.min(match.shared, sharedMax);
    const slot = this.takeSlot(sequence, match, planned);
    this.book.setPinned(slot, true);
    sequence.slot = slot;
    sequence.computed = this.book.length(slot);
  }

  /** Plans the boundaries of a sequence that will be admitted with `shared` tokens. */
  prepare(sequence: Sequence, shared: number, running: readonly Sequence[]): void {
    this.sharing?.planBoundaries(sequence, shared, this.hits.holders(sequence, running));
  }

  /** A slot with the first `planned` tokens of a match. */
  private takeSlot(sequence: Sequence, match: Match, planned: number): SlotId {
    const { source, shared, pooled = shared, checkpoint } = match;
    if (checkpoint !== undefined)
      return planned < shared ? this.takeFreeSlot() : this.restore(sequence, checkpoint, match);
    const length = Math.min(pooled, planned);
    const slot =
      source === undefined || length === 0 ? this.takeFreeSlot() : this.takePrefix(sequence, source, length);
    if (planned > length) this.restoreBlocks(sequence, slot, planned);
    return slot;
  }

  /** Restores a sequence's blocks into its slot, up to `to` tokens. */
  private restoreBlocks(sequence: Sequence, slot: SlotId, to: number): void {
    const from = this.book.length(slot);
    this.makeRoom(to - from);
    const most = Math.min(to, from + this.book.free);
    const end = this.tiers?.restore(sequence, slot, from, most) ?? from;
    this.book.append(slot, end - from);
  }

  /** A slot with a restored state and the cells before it. */
  private restore(sequence: Sequence, checkpoint: Checkpoint, { source, pooled = 0 }: Match): SlotId {
    const { length } = checkpoint.tokens;
    const target = this.takeCells(sequence, source, pooled, length);
    const isWhole = this.book.length(target) === length;
    if (!isWhole || this.sharing?.restore(target, checkpoint, sequence.positionOf(length)) !== true) {
      this.backend.cutSlot(target, 0);
      this.book.truncate(target, 0);
    }
    return target;
  }

  /** A slot with the cells before a state of `length` tokens, or fewer: `pooled` of them from `source`, the others from a tier. */
  private takeCells(sequence: Sequence, source: SlotId | undefined, pooled: number, length: number): SlotId {
    const kept = this.kept.find(source);
    const isLast = kept !== undefined && this.pool.free === 0 && this.kept.count === 1;
    if (isLast && pooled === length && source !== undefined) {
      this.kept.remove(kept);
      this.book.truncate(source, length); // its cells are cut once it has the state
      return source;
    }
    if (kept !== undefined && !isLast) this.kept.use(kept);
    const target = this.takeFreeSlot();
    if (source !== undefined && !isLast) {
      this.backend.shareSlot(source, target, sequence.positionOf(pooled));
      this.book.share(source, target, pooled);
    }
    if (this.backend.states?.alone === true) {
      this.makeRoom(length);
      this.book.append(target, length);
    } else if (this.book.length(target) < length) this.restoreBlocks(sequence, target, length);
    return target;
  }

  /** Evicts kept prefixes until `count` cells are free. Running sequences must leave that many. */
  makeRoom(count: number): void {
    this.pool.makeRoom(count);
  }

  /** `count` more tokens of a sequence were computed. */
  extend(sequence: Sequence, count: number): void {
    assert(sequence.slot !== undefined, "only a sequence with a slot computes");
    this.book.append(sequence.slot, count);
    sequence.computed += count;
    const state = this.sharing?.passed(sequence);
    if (state !== undefined) this.tiers?.writeState(sequence, state);
  }

  /** `count` tokens were computed after those that a sequence counts: drafts, or further steps of one call. */
  extendBeyond(sequence: Sequence, count: number): void {
    assert(sequence.slot !== undefined, "only a sequence with a slot computes");
    this.book.append(sequence.slot, count);
  }

  /** Drops a sequence's cells beyond its computed tokens: rejected drafts, or tokens after its end. */
  settle(sequence: Sequence): void {
    const { slot, computed } = sequence;
    if (slot === undefined || this.book.length(slot) === computed) return;
    assert(
      this.backend.cutSlot(slot, sequence.positionOf(computed)),
      "sequences with drafts can be truncated",
    );
    this.book.truncate(slot, computed);
  }

  /** Releases a sequence's slot. `keep`: its computed prefix is kept for reuse. */
  release(sequence: Sequence, keep: boolean): void {
    const { slot, partition } = sequence;
    if (slot === undefined) return;
    this.settle(sequence);
    const state = keep ? this.sharing?.ended(sequence) : undefined;
    if (state !== undefined) this.tiers?.writeState(sequence, state);
    const usable = sequence.wholeChunks(sequence.computed);
    const isUsable = usable === sequence.computed || (keep && this.cutBack(sequence, slot, usable));
    const tokens = sequence.firstTokens(isUsable ? usable : 0);
    sequence.slot = undefined;
    sequence.computed = 0;
    this.book.setPinned(slot, false);
    if (
      keep &&
      this.keptMax > 0 &&
      tokens.length >= PREFIX_TOKENS_MIN &&
      !this.kept.covers(tokens, partition)
    ) {
      for (const covered of this.kept.coveredBy(tokens, partition)) this.pool.drop(covered);
      const own = tokens.slice();
      const run = this.tiers?.runOf(own, partition);
      if (run !== undefined) this.tiers?.remember(run);
      this.pool.keep({ slot, partition, tokens: own, run });
    } else {
      this.pool.clear(slot);
    }
  }

  /** Releases the slot of a sequence that will be admitted again. Where there are tiers, it is kept until its cells are needed. */
  preempt(sequence: Sequence): void {
    this.settle(sequence);
    if (sequence.slot !== undefined) this.tiers?.suspend(sequence, sequence.computed);
    this.release(sequence, this.tiers !== undefined);
  }

  /** Drops the computed part of an incomplete media chunk. False: this memory cannot be truncated there. */
  private cutBack(sequence: Sequence, slot: SlotId, length: number): boolean {
    if (!this.backend.cutSlot(slot, sequence.positionOf(length))) return false;
    this.book.truncate(slot, length);
    return true;
  }

  /** Drops the kept prefixes and checkpoints of an adapter. */
  dropAdapter(adapter: AdapterId): void {
    for (const kept of this.kept.ofAdapter(adapter)) this.pool.drop(kept);
    this.sharing?.checkpoints.dropAdapter(adapter);
    this.tiers?.forgetAdapter(adapter);
  }

  /** Drops all kept prefixes and checkpoints. */
  dropAll(): void {
    this.sharing?.checkpoints.dropAll();
    for (const kept of this.kept.all) this.pool.drop(kept);
  }

  private takeFreeSlot(): SlotId {
    const slot = this.pool.take();
    assert(slot !== undefined, "admissions are limited by available slots");
    return slot;
  }

  /**
   * A slot with the first `shared` tokens of `source`: the source itself if all its tokens are shared, or if the same prompt with a
   * seed came before, whose answer this one will mostly equal, so that it gets the same cells; otherwise another slot that shares
   * its cells.
   */
  private takePrefix(sequence: Sequence, source: SlotId, shared: number): SlotId {
    const positions = sequence.positionOf(shared);
    const kept = this.kept.find(source);
    const isWhole = kept !== undefined && kept.tokens.length === shared;
    const isLast = this.pool.free === 0 && this.kept.count === 1;
    const isSame = isAgain(sequence, shared);
    if (kept !== undefined && (isWhole || isLast || isSame || this.backend.reuse !== "prefix")) {
      this.kept.remove(kept);
      if (isWhole || this.backend.cutSlot(source, positions)) {
        this.book.truncate(source, shared);
      } else {
        this.backend.cutSlot(source, 0); // it cannot be truncated there: start over
        this.book.truncate(source, 0);
      }
      return source;
    }
    if (kept !== undefined) this.kept.use(kept);
    const slot = this.takeFreeSlot();
    this.backend.shareSlot(source, slot, positions);
    this.book.share(source, slot, shared);
    return slot;
  }
}

/**
 * Whether a sequence shares all of its prompt that it can, and should be computed as that was. Then nothing is evicted for it: its
 * tokens get the cells that the answer before had, and not freed ones.
 */
function isAgain({ lastApart, promptTokens }: Sequence, shared: number): boolean {
  return lastApart && shared === promptTokens - 1;
}
