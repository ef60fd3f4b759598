// Slots and cells of the KV cache: which are free, which hold a finished prefix, and their eviction. Copies what is evicted to
// the tiers. Knows no sequences: kv.ts gives slots to them.

import type { Backend, SlotId } from "./backend.ts";
import { CellBook } from "./cells.ts";
import { type Kept, KeptPrefixes } from "./kept-prefixes.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import type { CacheTiers } from "./tiers/tiers.ts";

/** A kept prefix that has become shorter than this is dropped, tokens. */
const KEPT_TOKENS_MIN = 2 * BLOCK_TOKENS;

export class SlotPool {
  readonly book: CellBook;
  readonly kept = new KeptPrefixes();
  readonly keptMax: number;
  /** Holds what is being restored for a waiting sequence. Dropped when nothing else is left to evict. */
  restoring: SlotId | undefined;
  private readonly backend: Backend;
  private readonly tiers: CacheTiers | undefined;
  private readonly freeSlots: SlotId[];

  /** `keptMax`: finished prefixes to keep. */
  constructor(backend: Backend, keptMax: number, tiers: CacheTiers | undefined) {
    this.backend = backend;
    this.tiers = tiers;
    this.book = new CellBook(backend.cells, backend.slots);
    this.keptMax = Math.min(keptMax, backend.slots);
    // Highest first, so that pop() hands out slot 0 first.
    this.freeSlots = Array.from({ length: backend.slots }, (_, i) => (backend.slots - 1 - i) as SlotId);
  }

  /** Slots without a running sequence. */
  get available(): number {
    return this.freeSlots.length + this.kept.count + (this.restoring === undefined ? 0 : 1);
  }

  /** Slots without anything. */
  get free(): number {
    return this.freeSlots.length;
  }

  /** An empty slot; undefined where sequences run in all. */
  take(): SlotId | undefined {
    if (this.freeSlots.length === 0) this.evictOldest();
    if (this.freeSlots.length === 0) this.dropRestoring();
    return this.freeSlots.pop();
  }

  /** Keeps a finished prefix. `isOldest`: it has been used less recently than all others. */
  keep(kept: Kept, isOldest = false): void {
    this.kept.add(kept, isOldest);
  }

  /** Evicts the kept prefixes that are too many, those used least recently, except that of a slot. */
  trim(source: SlotId | undefined): void {
    const others = this.kept.all.filter(({ slot }) => slot !== source);
    const excess = others.slice(0, Math.max(0, this.kept.count - this.keptMax));
    for (const kept of excess) this.evict(kept);
    for (const short of this.kept.excessShort()) if (short.slot !== source) this.evict(short);
  }

  /** Evicts kept prefixes until `count` cells are free. Running sequences must leave that many. */
  makeRoom(count: number): void {
    while (this.book.free < count && this.kept.count > 0) this.shrinkOldest(count - this.book.free);
    if (this.book.free < count) this.dropRestoring();
  }

  evictOldest(): void {
    const [oldest] = this.kept.all;
    if (oldest !== undefined) this.evict(oldest);
  }

  /** Drops a kept prefix, once the tiers have a copy where one pays. */
  evict(kept: Kept): void {
    if (kept.run !== undefined) this.tiers?.saveFrom(kept.run, kept.slot, 0);
    this.drop(kept);
  }

  drop(kept: Kept): void {
    this.kept.remove(kept);
    this.clear(kept.slot);
  }

  dropRestoring(): void {
    if (this.restoring !== undefined) this.clear(this.restoring);
    this.restoring = undefined;
  }

  clear(slot: SlotId): void {
    this.backend.cutSlot(slot, 0);
    this.book.truncate(slot, 0);
    this.freeSlots.push(slot);
  }

  /**
   * Evicts the end of the oldest prefix, `count` cells or some more; all of it where only whole prefixes can be used. A copy of a
   * whole long prefix would delay all streams.
   */
  private shrinkOldest(count: number): void {
    const [oldest] = this.kept.all;
    if (oldest === undefined) return;
    const { slot, tokens, run } = oldest;
    const length = Math.floor((tokens.length - count) / BLOCK_TOKENS) * BLOCK_TOKENS;
    const isCuttable = run !== undefined && this.backend.reuse === "prefix" && !tokens.some(isMedia);
    if (!isCuttable || length < KEPT_TOKENS_MIN) return this.evict(oldest);
    this.tiers?.saveFrom(run, slot, length);
    if (!this.backend.cutSlot(slot, length)) return this.drop(oldest);
    this.book.truncate(slot, length);
    this.kept.shorten(oldest, length);
  }
}

/** Tokens of images and audio are below 0; their positions are not those of tokens. */
function isMedia(token: number): boolean {
  return token < 0;
}
