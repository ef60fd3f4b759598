// The KV cache with its slots: which sequence holds what, which finished prefixes are kept for reuse, and what a new
// sequence can share instead of computing it. The native cache is changed only here.
//
// Prefixes are found by comparing tokens slot by slot. There are at most a few dozen slots and a comparison ends at the
// first difference, so that a search costs microseconds and needs no index to keep true (docs/decisions/013).
//
// Memory that cannot be cut is shared where its state was saved: at checkpoints (state-sharing.ts, docs/decisions/084).

import type { AdapterId } from "../../core/adapter.ts";
import { assert } from "../../core/assert.ts";
import type { Backend, SlotId } from "./backend.ts";
import { CellBook } from "./cells.ts";
import { type Checkpoint, type CheckpointCounts, NO_CHECKPOINTS } from "./checkpoints.ts";
import type { Sequence } from "./sequence.ts";
import { type Holder, type Divergence, PREFIX_TOKENS_MIN, StateSharing } from "./state-sharing.ts";

/**
 * Every kept cell lies in the span that attention walks for every token, also of others: 3,700 of them were measured to
 * cost a 0.6B model on two cores a tenth of its speed. A long prefix is worth that; of those shorter than this, which are
 * soon computed again, only the latest stay.
 */
const SHORT_PREFIX_TOKENS = 512;
const SHORT_PREFIX_CELLS_MAX = 1024;

/** What a sequence would find in the cache. */
export interface Match {
  /** Slot to share or take over; undefined when nothing is shared. */
  readonly source: SlotId | undefined;
  readonly shared: number;
  readonly sharedPinned: number;
  /** A sequence is just computing more of this prefix: better to wait for it than to compute it twice. */
  readonly wait: boolean;
  /** The state to restore; undefined where cells are all there is to share. */
  readonly checkpoint?: Checkpoint;
  /** Who computes the prefix that is waited for, and where its state must be saved. */
  readonly divergence?: Divergence;
}

/** The sequences around one that looks for a prefix. */
interface Around {
  readonly running: readonly Sequence[];
  readonly ahead: readonly Sequence[];
}

/** A finished sequence's tokens, kept in their slot. */
interface Kept extends Holder {
  readonly adapter: AdapterId;
}

const NOTHING: Match = { source: undefined, shared: 0, sharedPinned: 0, wait: false };

export class KvCache {
  private readonly backend: Backend;
  private readonly book: CellBook;
  private readonly keptMax: number;
  private readonly freeSlots: SlotId[];
  private kept: Kept[] = []; // least recently used first
  private readonly sharing: StateSharing | undefined;

  /** `keptMax`: finished prefixes to keep; 0 keeps none and shares nothing. `checkpointBytes`: room for saved states. */
  constructor(backend: Backend, keptMax: number, checkpointBytes = 0) {
    this.backend = backend;
    const { states } = backend;
    const saves = states !== undefined && keptMax > 0 && checkpointBytes > 0;
    this.sharing = saves ? new StateSharing(states, checkpointBytes) : undefined;
    this.book = new CellBook(backend.cells, backend.slots);
    this.keptMax = Math.min(keptMax, backend.slots);
    // Highest first, so that pop() hands out slot 0 first.
    this.freeSlots = Array.from({ length: backend.slots }, (_, i) => (backend.slots - 1 - i) as SlotId);
  }

  /** Cells that running sequences do not need. */
  get availableCells(): number {
    return this.book.available;
  }

  /** Cells that nobody holds. */
  get freeCells(): number {
    return this.book.free;
  }

  /** Cells of finished prefixes that no running sequence shares. */
  get keptCells(): number {
    return this.book.available - this.book.free;
  }

  /** Slots that hold a finished prefix. */
  get keptCount(): number {
    return this.kept.length;
  }

  /** Slots that no running sequence has. */
  get availableSlots(): number {
    return this.freeSlots.length + this.kept.length;
  }

  /** Checkpoints held, their bytes, and how many were restored. */
  checkpointed(): CheckpointCounts {
    return this.sharing?.checkpoints.counted() ?? NO_CHECKPOINTS;
  }

  /** Cells that would become available if this running sequence gave up. */
  exclusiveCells(sequence: Sequence): number {
    return sequence.slot === undefined ? 0 : this.book.exclusive(sequence.slot);
  }

  /**
   * The best that the cache offers a waiting sequence: the longest prefix among finished and running sequences. `ahead`
   * are candidates that will be admitted before it.
   */
  match(sequence: Sequence, running: readonly Sequence[], ahead: readonly Sequence[]): Match {
    if (this.keptMax === 0 || sequence.scoresPrompt) return NOTHING;
    const most = sequence.known - 1; // one token at least is computed, for its logits
    const shareable = (length: number): number => sequence.wholeChunks(Math.min(most, length));
    let best = NOTHING;
    const consider = (source: SlotId, length: number): void => {
      if (length > best.shared) {
        best = { source, shared: length, sharedPinned: this.book.pinnedWithin(source, length), wait: false };
      }
    };
    for (const { slot, tokens, adapter } of this.kept) {
      if (adapter !== sequence.adapter) continue;
      const common = shareable(sequence.commonPrefix(tokens));
      if (this.backend.reuse !== "whole" || common === tokens.length) consider(slot, common);
    }
    if (this.sharing !== undefined) return this.matchState(this.sharing, sequence, { running, ahead }, best);
    if (this.backend.reuse !== "prefix") return best;
    let promised = 0;
    for (const other of [...running, ...ahead]) {
      if (other.adapter !== sequence.adapter) continue;
      const common = shareable(sequence.commonPrefix(other.firstTokens(other.known)));
      if (other.slot !== undefined) consider(other.slot, shareable(Math.min(common, other.computed)));
      promised = Math.max(promised, common);
    }
    return promised - best.shared >= PREFIX_TOKENS_MIN ? { ...best, wait: true } : best;
  }

  /**
   * Gives a sequence a slot, pins it, and shares a prefix of at most `sharedMax` tokens: what the step was planned with.
   * An admission just before may have used up what was found then, so it is looked for again.
   */
  admit(sequence: Sequence, running: readonly Sequence[], sharedMax: number): void {
    const { source, shared, checkpoint } = this.match(sequence, running, []);
    const length = Math.min(shared, sharedMax);
    const slot = this.takeSlot(source, length, sequence.positionOf(length), checkpoint);
    this.book.setPinned(slot, true);
    sequence.slot = slot;
    sequence.computed = this.book.length(slot);
  }

  /** Prepares the admission of a sequence that will share so many tokens: it may have to halt on its way. */
  prepare(sequence: Sequence, shared: number, running: readonly Sequence[]): void {
    this.sharing?.planBoundaries(sequence, shared, this.holders(sequence, running));
  }

  private takeSlot(
    source: SlotId | undefined,
    length: number,
    positions: number,
    checkpoint: Checkpoint | undefined,
  ): SlotId {
    if (checkpoint !== undefined && checkpoint.tokens.length === length)
      return this.restore(checkpoint, source, positions);
    if (checkpoint !== undefined || source === undefined || length === 0) return this.takeFreeSlot();
    return this.takePrefix(source, length, positions);
  }

  /** The longest checkpoint whose cells are there, if it is longer than what was found; or the promise of one. */
  private matchState(sharing: StateSharing, sequence: Sequence, around: Around, best: Match): Match {
    const holders = this.holders(sequence, around.running);
    const restorable = sharing.restorable(sequence, holders);
    let found = best;
    if (restorable !== undefined && restorable.checkpoint.tokens.length > best.shared) {
      const { source, checkpoint } = restorable;
      const shared = checkpoint.tokens.length;
      const sharedPinned = source === undefined ? 0 : this.book.pinnedWithin(source, shared);
      found = { source, shared, sharedPinned, wait: false, checkpoint };
    }
    const divergence = sharing.divergence(sequence, [...around.running, ...around.ahead]);
    if (divergence === undefined || divergence.at - found.shared < PREFIX_TOKENS_MIN) return found;
    return { ...found, wait: true, divergence };
  }

  /** What slots hold that a sequence could share. */
  private holders({ adapter }: Sequence, running: readonly Sequence[]): readonly Holder[] {
    const held: Holder[] = this.kept.filter((kept) => kept.adapter === adapter);
    for (const other of running)
      if (other.adapter === adapter && other.slot !== undefined)
        held.push({ slot: other.slot, tokens: other.firstTokens(other.computed) });
    return held;
  }

  /** A slot with a restored state and the cells before it, of which `source` has them; undefined: a state is all there is. */
  private restore(checkpoint: Checkpoint, source: SlotId | undefined, positions: number): SlotId {
    const { length } = checkpoint.tokens;
    const kept = this.kept.find(({ slot }) => slot === source);
    let target: SlotId;
    if (source === undefined) {
      target = this.takeFreeSlot();
      this.makeRoom(length);
      this.book.append(target, length);
    } else if (kept !== undefined && this.freeSlots.length === 0 && this.kept.length === 1) {
      this.kept = [];
      target = source;
      this.book.truncate(target, length);
    } else {
      if (kept !== undefined) this.kept = [...this.kept.filter((other) => other !== kept), kept];
      target = this.takeFreeSlot();
      this.backend.shareSlot(source, target, positions);
      this.book.share(source, target, length);
    }
    if (this.sharing?.restore(target, checkpoint, positions) !== true) {
      this.backend.cutSlot(target, 0);
      this.book.truncate(target, 0);
    }
    return target;
  }

  /** Makes sure that `count` cells are free, dropping kept prefixes. Running sequences must leave as many. */
  makeRoom(count: number): void {
    while (this.book.free < count && this.kept.length > 0) this.dropOldest();
  }

  /** Notes that `count` more tokens of a sequence are in the cache. */
  extend(sequence: Sequence, count: number): void {
    assert(sequence.slot !== undefined, "only a sequence with a slot computes");
    this.book.append(sequence.slot, count);
    sequence.computed += count;
    this.sharing?.passed(sequence);
  }

  /** Notes that `count` tokens are in the cache after those computed of a sequence, of which it does not know yet. */
  extendBeyond(sequence: Sequence, count: number): void {
    assert(sequence.slot !== undefined, "only a sequence with a slot computes");
    this.book.append(sequence.slot, count);
  }

  /** Drops what the cache has of a sequence beyond its computed tokens: wrong guesses, or what follows its end. */
  settle(sequence: Sequence): void {
    const { slot, computed } = sequence;
    if (slot === undefined || this.book.length(slot) === computed) return;
    assert(this.backend.cutSlot(slot, sequence.positionOf(computed)), "whoever guesses can be cut");
    this.book.truncate(slot, computed);
  }

  /** Takes a sequence's slot away. `keep`: what it computed may be of use to a later one. */
  release(sequence: Sequence, keep: boolean): void {
    const { slot, adapter } = sequence;
    if (slot === undefined) return;
    this.settle(sequence);
    const usable = sequence.wholeChunks(sequence.computed);
    const cut = usable === sequence.computed || (keep && this.cutBack(sequence, slot, usable));
    const tokens = sequence.firstTokens(cut ? usable : 0);
    sequence.slot = undefined;
    sequence.computed = 0;
    this.book.setPinned(slot, false);
    if (keep && this.keptMax > 0 && tokens.length >= PREFIX_TOKENS_MIN && !this.covers(tokens, adapter)) {
      this.dropCoveredBy(tokens, adapter);
      this.kept.push({ slot, adapter, tokens: tokens.slice() });
      if (this.kept.length > this.keptMax) this.dropOldest();
      this.dropShort();
    } else {
      this.clear(slot);
    }
  }

  /** Drops what is computed of a picture or recording that is not computed wholly. False: it can't be dropped alone. */
  private cutBack(sequence: Sequence, slot: SlotId, length: number): boolean {
    if (!this.backend.cutSlot(slot, sequence.positionOf(length))) return false;
    this.book.truncate(slot, length);
    return true;
  }

  /** Forgets the kept prefixes of an adapter that is going away. */
  dropAdapter(adapter: AdapterId): void {
    for (const kept of this.kept.filter((one) => one.adapter === adapter)) this.drop(kept);
    this.sharing?.checkpoints.dropAdapter(adapter);
  }

  /** Forgets all kept prefixes and checkpoints. */
  dropAll(): void {
    this.sharing?.checkpoints.dropAll();
    while (this.kept.length > 0) this.dropOldest();
  }

  private takeFreeSlot(): SlotId {
    if (this.freeSlots.length === 0) this.dropOldest();
    const slot = this.freeSlots.pop();
    assert(slot !== undefined, "admissions are limited by available slots");
    return slot;
  }

  /**
   * A slot that holds the first `shared` tokens of `source`, which take so many positions: the source itself if all of it is
   * wanted, else a share.
   */
  private takePrefix(source: SlotId, shared: number, positions: number): SlotId {
    const kept = this.kept.find(({ slot }) => slot === source);
    const wholly = kept !== undefined && kept.tokens.length === shared;
    const alone = this.freeSlots.length === 0 && this.kept.length === 1;
    if (kept !== undefined && (wholly || alone || this.backend.reuse !== "prefix")) {
      this.kept = this.kept.filter((other) => other !== kept);
      if (wholly || this.backend.cutSlot(source, positions)) {
        this.book.truncate(source, shared);
      } else {
        this.backend.cutSlot(source, 0); // it can't be cut after all: start over in it
        this.book.truncate(source, 0);
      }
      return source;
    }
    if (kept !== undefined) this.kept = [...this.kept.filter((other) => other !== kept), kept]; // just used
    const slot = this.takeFreeSlot();
    this.backend.shareSlot(source, slot, positions);
    this.book.share(source, slot, shared);
    return slot;
  }

  private covers(tokens: Int32Array, adapter: AdapterId): boolean {
    return this.kept.some((kept) => kept.adapter === adapter && startsWith(kept.tokens, tokens));
  }

  private dropCoveredBy(tokens: Int32Array, adapter: AdapterId): void {
    const covered = this.kept.filter((one) => one.adapter === adapter && startsWith(tokens, one.tokens));
    for (const kept of covered) this.drop(kept);
  }

  private dropShort(): void {
    const short = this.kept.filter(({ tokens }) => tokens.length < SHORT_PREFIX_TOKENS);
    let cells = short.reduce((sum, { tokens }) => sum + tokens.length, 0);
    for (const kept of short) {
      if (cells <= SHORT_PREFIX_CELLS_MAX) return;
      cells -= kept.tokens.length;
      this.drop(kept);
    }
  }

  private dropOldest(): void {
    const [oldest] = this.kept;
    if (oldest !== undefined) this.drop(oldest);
  }

  private drop(kept: Kept): void {
    this.kept = this.kept.filter((other) => other !== kept);
    this.clear(kept.slot);
  }

  private clear(slot: SlotId): void {
    this.backend.cutSlot(slot, 0);
    this.book.truncate(slot, 0);
    this.freeSlots.push(slot);
  }
}

function startsWith(tokens: Int32Array, prefix: Int32Array): boolean {
  if (prefix.length > tokens.length) return false;
  for (let i = 0; i < prefix.length; i++) if (tokens[i] !== prefix[i]) return false;
  return true;
}
