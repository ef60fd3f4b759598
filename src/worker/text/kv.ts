// The KV cache: slots of running sequences, and finished prefixes kept for reuse, which new sequences take or share.
//
// Memory that cannot be truncated is shared at checkpoints (state-sharing.ts, docs/decisions/084).

import type { AdapterId } from "../../core/adapter.ts";
import { assert } from "../../core/assert.ts";
import type { Backend, SlotId } from "./backend.ts";
import { CellBook } from "./cells.ts";
import type { Partition } from "./partition.ts";
import {
  type Checkpoint,
  type Kept,
  type Match,
  PREFIX_TOKENS_MIN,
  PrefixIndex,
  startsWith,
} from "./prefix-index.ts";
import { Restoring, type RestoreState } from "./restoring.ts";
import { cellsToAdmit } from "./scheduler.ts";
import type { Sequence } from "./sequence.ts";
import { SlotPool } from "./slot-pool.ts";
import { type CheckpointCounts, NO_CHECKPOINTS, StateSharing } from "./state-sharing.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import { type CacheTiers, NO_TIERS, type TierCounts } from "./tiers/tiers.ts";

/** What is kept outside the cache. */
export interface KvStores {
  /** Memory for saved states, bytes; none by default. */
  readonly checkpointBytes?: number | undefined;
  /** Copies of cells. */
  readonly tiers?: CacheTiers | undefined;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class KvCache {
  private readonly backend: Backend;
  private readonly book: CellBook;
  private readonly index: PrefixIndex;
  private readonly pool: SlotPool;
  private readonly sharing: StateSharing | undefined;
  private readonly tiers: CacheTiers | undefined;
  private readonly restoring: Restoring | undefined;

  /** `keptMax`: finished prefixes to keep; 0 disables sharing. */
  constructor(
    backend: Backend,
    keptMax: number,
    { checkpointBytes = 0, tiers, now = () => 0 }: KvStores = {},
  ) {
    const { states, reuse } = backend;
    const saves = states !== undefined && keptMax > 0 && checkpointBytes > 0;
    this.backend = backend;
    this.tiers = saves || (keptMax > 0 && states === undefined) ? tiers : undefined;
    this.book = new CellBook(backend.cells, backend.slots);
    const everyTokens = this.tiers === undefined ? 1 : BLOCK_TOKENS; // a tier finds no other states
    const savedStates = saves ? { alone: states.alone, everyTokens } : undefined;
    const shared = { book: this.book, tiers: this.tiers };
    const index = new PrefixIndex({
      ...shared,
      reuse,
      keptMax: Math.min(keptMax, backend.slots),
      states: savedStates,
    });
    this.index = index;
    this.sharing = saves ? new StateSharing(states, index, checkpointBytes, now) : undefined;
    this.pool = new SlotPool({ ...shared, backend, index });
    const { pool, book, sharing } = this;
    const hasCells = backend.cellCopies !== undefined;
    this.restoring = this.tiers && new Restoring({ pool, book, index, tiers: this.tiers, sharing, hasCells });
  }

  /** What computing a prompt token takes now, milliseconds: copies that cost more are not made. */
  set prefillTokenMs(ms: number) {
    if (this.tiers !== undefined) this.tiers.prefillTokenMs = ms;
    if (this.sharing !== undefined) this.sharing.prefillTokenMs = ms;
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
    return this.index.kept.length;
  }

  /** Tokens of the finished prefixes that a sequence may share, least recently used first. */
  finishedBeside({ partition }: Sequence): readonly Int32Array[] {
    return this.index.keptIn(partition).map(({ tokens }) => tokens);
  }

  /** Slots without a running sequence. */
  get availableSlots(): number {
    return this.pool.available;
  }

  /** Checkpoints held, their bytes, and how many were restored. */
  checkpointed(): CheckpointCounts {
    return this.sharing?.counted() ?? NO_CHECKPOINTS;
  }

  /** Bytes and use of the tiers. */
  tiered(): TierCounts {
    return this.tiers?.counted() ?? NO_TIERS;
  }

  /** Prefixes that an earlier engine used last are restored while no sequence waits. `partitionOf`: that of a scope. */
  async readRecalls(partitionOf: (scope: string) => Partition): Promise<void> {
    await this.restoring?.readRecalls(partitionOf);
  }

  /** No sequence waits. */
  recallNext(): void {
    this.restoring?.recallNext();
  }

  /**
   * The longest prefix hit of a waiting sequence among finished and running sequences. `ahead`: candidates that will be
   * admitted before it.
   */
  find(sequence: Sequence, running: readonly Sequence[], ahead: readonly Sequence[] = []): Match {
    return this.index.find(sequence, running, ahead);
  }

  /** A sequence has arrived: its blocks are read. */
  arrived(sequence: Sequence, running: readonly Sequence[]): void {
    const { tiers, sharing } = this;
    if (tiers === undefined) return;
    const onState = sharing && ((at: number, state: Uint8Array) => sharing.add(sequence, at, state));
    tiers.request(sequence, () => this.find(sequence, running).shared, onState);
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
    const match = this.find(sequence, running);
    if (!match.wait) this.restoreFirst(sequence, match, running);
    return true;
  }

  /** Restores the hit of a waiting sequence piece by piece before it is admitted, if it is long. */
  restoreFirst(sequence: Sequence, match: Match, running: readonly Sequence[]): RestoreState {
    if (this.restoring === undefined) return "now";
    const hit = this.restoring.interrupt(sequence, match) ? this.find(sequence, running) : match;
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
    const { kept, keptMax } = this.index;
    const next = kept.length < keptMax ? undefined : kept[0];
    for (;;) {
      const latest = kept.findLast((one) => tiers.mayWrite(one, one === next));
      if (latest === undefined) return false;
      if (tiers.save(latest)) return true; // otherwise all its blocks have copies
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
    const match = this.find(sequence, running);
    if (!isAgain(sequence, match.shared)) this.pool.trim(match.source);
    const planned = Math.min(match.shared, sharedMax);
    const slot = this.takeSlot(sequence, match, planned);
    this.book.setPinned(slot, true);
    sequence.slot = slot;
    sequence.computed = this.book.length(slot);
  }

  /** Plans the boundaries of a sequence that will be admitted with `shared` tokens. */
  prepare(sequence: Sequence, shared: number, running: readonly Sequence[]): void {
    this.sharing?.planBoundaries(sequence, shared, running);
  }

  /** A slot with the first `planned` tokens of a match. */
  private takeSlot(sequence: Sequence, match: Match, planned: number): SlotId {
    const { source, shared, pooled, checkpoint } = match;
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
    this.pool.makeRoom(to - from);
    const most = Math.min(to, from + this.book.free);
    const end = this.tiers?.restore(sequence, slot, from, most) ?? from;
    this.book.append(slot, end - from);
  }

  /** A slot with a restored state and the cells before it. */
  private restore(sequence: Sequence, checkpoint: Checkpoint, { source, pooled }: Match): SlotId {
    const { length } = checkpoint.tokens;
    const target = this.takeCells(sequence, source, pooled, length);
    const isWhole = this.book.length(target) === length;
    if (!isWhole || this.sharing?.restore(target, checkpoint, sequence.positionOf(length)) !== true)
      this.pool.empty(target);
    return target;
  }

  /** A slot with the cells before a state of `length` tokens, or fewer: `pooled` of them from `source`, the others from a tier. */
  private takeCells(sequence: Sequence, source: SlotId | undefined, pooled: number, length: number): SlotId {
    const kept = this.index.inSlot(source);
    const isLast = kept !== undefined && this.pool.isLast(kept);
    if (isLast && pooled === length && source !== undefined) {
      this.index.remove(kept);
      this.book.truncate(source, length); // its cells are cut once it has the state
      return source;
    }
    if (kept !== undefined && !isLast) this.index.keep(kept);
    const target = this.takeFreeSlot();
    if (source !== undefined && !isLast) this.pool.share(source, target, sequence, pooled);
    if (this.backend.states?.alone === true) {
      this.pool.makeRoom(length);
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
    const isWorth = keep && this.index.keptMax > 0 && tokens.length >= PREFIX_TOKENS_MIN;
    if (isWorth && !this.index.covers(tokens, partition))
      this.keep({ slot, partition, tokens: tokens.slice(), keys: undefined, saved: 0 });
    else this.pool.clear(slot);
  }

  /** Keeps a finished prefix, in place of those that it begins with. */
  private keep(kept: Kept): void {
    for (const other of this.index.keptIn(kept.partition))
      if (startsWith(kept.tokens, other.tokens)) this.pool.drop(other);
    this.tiers?.remember(kept);
    this.index.keep(kept);
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
    const { kept, checkpoints } = this.index.ofAdapter(adapter);
    for (const one of kept) this.pool.drop(one);
    this.sharing?.drop(checkpoints);
    this.tiers?.forgetAdapter(adapter);
  }

  /** Drops all kept prefixes and checkpoints. */
  dropAll(): void {
    this.sharing?.drop(this.index.checkpoints);
    for (const kept of this.index.kept) this.pool.drop(kept);
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
    const kept = this.index.inSlot(source);
    const isWhole = kept?.tokens.length === shared;
    const isAlone = isWhole || this.pool.isLast(kept) || isAgain(sequence, shared);
    if (kept !== undefined && (isAlone || this.backend.reuse !== "prefix")) {
      this.index.remove(kept);
      if (isWhole || this.backend.cutSlot(source, positions)) this.book.truncate(source, shared);
      else this.pool.empty(source); // it cannot be truncated there: start over
      return source;
    }
    if (kept !== undefined) this.index.keep(kept);
    const slot = this.takeFreeSlot();
    this.pool.share(source, slot, sequence, shared);
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
