// Slots and cells of the KV cache: which are free, and which finished prefixes are evicted for them. Copies what is evicted to the
// tiers. kv.ts assigns slots to sequences.

import type { Backend, SlotId } from "./backend.ts";
import type { CellBook } from "./cells.ts";
import type { Kept, PrefixIndex } from "./prefix-index.ts";
import type { Sequence } from "./sequence.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import type { CacheTiers } from "./tiers/tiers.ts";

/** A kept prefix that has become shorter than this is dropped, tokens. */
const KEPT_TOKENS_MIN = 2 * BLOCK_TOKENS;

/**
 * Attention reads every kept cell for every token, also of other sequences: 3,700 kept cells cost a 0.6B model on two
 * cores a tenth of its speed. A long prefix is worth that; of shorter ones, which are quickly recomputed, only the latest
 * are kept.
 */
const SHORT_PREFIX_TOKENS = 512;
const SHORT_PREFIX_CELLS_MAX = 1024;

export interface SlotPoolDeps {
  readonly backend: Backend;
  readonly book: CellBook;
  readonly index: PrefixIndex;
  readonly tiers: CacheTiers | undefined;
}

export class SlotPool {
  /** Holds what is being restored for a waiting sequence. Dropped when nothing else is left to evict. */
  restoring: SlotId | undefined;
  private readonly deps: SlotPoolDeps;
  private readonly freeSlots: SlotId[];

  constructor(deps: SlotPoolDeps) {
    this.deps = deps;
    const { slots } = deps.backend;
    // Highest first, so that pop() hands out slot 0 first.
    this.freeSlots = Array.from({ length: slots }, (_, i) => (slots - 1 - i) as SlotId);
  }

  /** Slots without a running sequence. */
  get available(): number {
    return this.freeSlots.length + this.deps.index.kept.length + (this.restoring === undefined ? 0 : 1);
  }

  /** Slots without anything. */
  get free(): number {
    return this.freeSlots.length;
  }

  /** Whether a prefix, or any if undefined, has the last slot that no sequence runs in. */
  isLast(kept: Kept | undefined): boolean {
    return this.free === 0 && this.deps.index.kept.length <= (kept === undefined ? 0 : 1);
  }

  /** An empty slot; undefined where sequences run in all. */
  take(): SlotId | undefined {
    const [oldest] = this.deps.index.kept;
    if (this.free === 0 && oldest !== undefined) this.evict(oldest);
    if (this.free === 0) this.dropRestoring();
    return this.freeSlots.pop();
  }

  /** Makes an empty slot share the first `length` tokens of another one, which are a sequence's. */
  share(source: SlotId, target: SlotId, sequence: Sequence, length: number): void {
    this.deps.backend.shareSlot(source, target, sequence.positionOf(length));
    this.deps.book.share(source, target, length);
  }

  /** Evicts the kept prefixes that are too many, those used least recently, except that of a slot. */
  trim(source: SlotId | undefined): void {
    const { index } = this.deps;
    const excess = Math.max(0, index.kept.length - index.keptMax);
    for (const kept of index.kept.filter(({ slot }) => slot !== source).slice(0, excess)) this.evict(kept);
    for (const short of excessShort(index.kept)) if (short.slot !== source) this.evict(short);
  }

  /** Evicts kept prefixes until `count` cells are free. Running sequences must leave that many. */
  makeRoom(count: number): void {
    const { book, index } = this.deps;
    for (let [oldest] = index.kept; book.free < count && oldest !== undefined; [oldest] = index.kept)
      this.shrink(oldest, count - book.free);
    if (book.free < count) this.dropRestoring();
  }

  /** Drops a kept prefix. */
  drop(kept: Kept): void {
    this.deps.index.remove(kept);
    this.clear(kept.slot);
  }

  dropRestoring(): void {
    if (this.restoring !== undefined) this.clear(this.restoring);
    this.restoring = undefined;
  }

  /** Frees a slot that no record has. */
  clear(slot: SlotId): void {
    this.empty(slot);
    this.freeSlots.push(slot);
  }

  /** Drops the cells of a slot. */
  empty(slot: SlotId): void {
    this.deps.backend.cutSlot(slot, 0);
    this.deps.book.truncate(slot, 0);
  }

  /** Drops a prefix once the tiers have a copy where one pays. */
  private evict(kept: Kept): void {
    this.deps.tiers?.saveFrom(kept, 0);
    this.drop(kept);
  }

  /**
   * Evicts the end of a prefix, `count` cells or some more; all of it where only whole prefixes can be used. A copy of a
   * whole long prefix would delay all streams.
   */
  private shrink(kept: Kept, count: number): void {
    const { backend, book, index, tiers } = this.deps;
    const length = Math.floor((kept.tokens.length - count) / BLOCK_TOKENS) * BLOCK_TOKENS;
    const isCuttable = tiers !== undefined && backend.reuse === "prefix" && !kept.tokens.some(isMedia);
    if (!isCuttable || length < KEPT_TOKENS_MIN) return this.evict(kept);
    tiers.saveFrom(kept, length);
    if (!backend.cutSlot(kept.slot, length)) return this.drop(kept);
    book.truncate(kept.slot, length);
    index.cut(kept, length);
  }
}

/** The short prefixes that are too many, least recently used first. */
function excessShort(all: readonly Kept[]): readonly Kept[] {
  const short = all.filter(({ tokens }) => tokens.length < SHORT_PREFIX_TOKENS);
  let cells = short.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return short.filter(({ tokens }) => {
    const isExcess = cells > SHORT_PREFIX_CELLS_MAX;
    if (isExcess) cells -= tokens.length;
    return isExcess;
  });
}

/** Tokens of images and audio are below 0; their positions are not those of tokens. */
function isMedia(token: number): boolean {
  return token < 0;
}
