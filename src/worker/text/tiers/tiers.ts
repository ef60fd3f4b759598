// The tiers below the KV cache: copies of finished prefixes, as blocks in host memory and on disk. Evicted prefixes go to
// memory; with a disk, every finished prefix is written through, so that it survives the process. A waiting sequence's
// blocks are read from the disk before it is admitted, and restored from memory at its admission
// (docs/decisions/096). Checkpoints are written to the disk and read from it likewise; memory for them is that of
// state-sharing.ts. Assigns no slots and no cells: kv.ts does.

import { type AdapterId, BASE_MODEL } from "../../../core/adapter.ts";
import type { EngineStats } from "../../../core/telemetry.ts";
import type { CellBackend, SlotId, StateBackend } from "../backend.ts";
import { COMMON_PARTITION, type Partition } from "../partition.ts";
import type { Kept } from "../prefix-index.ts";
import type { Sequence, TokenPrefix } from "../sequence.ts";
import { TIER_READ_MS_MAX } from "../../shared/limits.ts";
import { BLOCK_TOKENS, type BlockKey, blockKeys, recentKey, rootKey } from "./block.ts";
import { COPY_RETRY_EVERY, COPY_SHARE, Cost } from "./cost.ts";
import type { DiskCounts, DiskTier } from "./disk-tier.ts";
import type { MemoryTier } from "./memory-tier.ts";
import { type RecentPrefix, RecentPrefixes } from "./recent-prefixes.ts";
import { StateFiles } from "./state-files.ts";

/** Bytes read ahead, by the I/O threads while a piece is restored, and the least and most blocks of them. */
const AHEAD_BYTES = 64 * 1024 * 1024;
const AHEAD_MIN = 4;
const AHEAD_MAX = 16;
/** Share of the memory tier that one sequence may fill from disk. */
const READ_SHARE = 0.5;
/** Tokens of the first piece, whose time is unknown, and the most of one. */
const FIRST_PIECE_TOKENS = 4 * BLOCK_TOKENS;
const PIECE_TOKENS_MAX = 4096;

/** Gets the state after a sequence's first `length` tokens. */
export type OnState = (length: number, state: Uint8Array) => void;

export interface TierDeps {
  /** What a key stands for besides tokens. */
  readonly identity: CellBackend["identity"] | StateBackend["identity"];
  /** Absent where states are all there is of a sequence. */
  readonly cells?: CellBackend | undefined;
  readonly memory: MemoryTier;
  readonly disk?: DiskTier | undefined;
  /** Whether the disk remembers the prefixes used last, for the next engine. */
  readonly remembers?: boolean;
  /** Cells are on a device, which computes some tokens as fast as they can be copied: copies are made only where they are cheap. */
  readonly isOnDevice?: boolean;
  /** Some of a sequence's blocks have been read: they can be restored, or, after the last ones, it may be admitted. */
  readonly onRead: () => void;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Bytes held, and counters since the start. */
export type TierCounts = Pick<EngineStats, Extract<keyof EngineStats, `tier${string}`>>;

export const NO_TIERS: TierCounts = {
  tierBytes: 0,
  tierTokens: 0,
  tierReadTokens: 0,
  tierWrittenBytes: 0,
  tierBadBlocks: 0,
  tierFailedWrites: 0,
};

const NO_DISK: DiskCounts = { writtenBytes: 0, badBlocks: 0, failedWrites: 0 };

/** A waiting sequence. */
interface Wanted {
  readonly keys: readonly BlockKey[];
  isReading: boolean;
  isDropped: boolean;
}

interface ReadOptions {
  /** The sequence's tokens but the last. */
  readonly tokens: Int32Array;
  /** Blocks that the sequence has in the cache. */
  readonly from: number;
  readonly disk: DiskTier;
  readonly onState: OnState | undefined;
}

export class CacheTiers {
  /** Computing a prompt token, milliseconds; 0 while unknown. */
  prefillTokenMs = 0;
  private readonly deps: TierDeps;
  private readonly roots = new Map<Partition, BlockKey>();
  private readonly wanted = new WeakMap<TokenPrefix, Wanted>();
  private readonly reads = new Map<BlockKey, Promise<Uint8Array | undefined>>();
  private readonly restoring = new Cost();
  private readonly reading = new Cost();
  private readonly copying = new Cost(COPY_RETRY_EVERY);
  private readonly recents: RecentPrefixes | undefined;
  private readonly states: StateFiles | undefined;
  private restoredTokens = 0;
  private readTokens = 0;
  private badBlocks = 0;

  constructor(deps: TierDeps) {
    this.deps = deps;
    const { disk, remembers = false } = deps;
    this.states = disk && new StateFiles(disk);
    if (disk !== undefined && remembers)
      this.recents = new RecentPrefixes(disk, recentKey(this.rootOf(COMMON_PARTITION)));
  }

  /** The prefixes that an earlier engine used last, latest first. */
  async recent(): Promise<readonly RecentPrefix[]> {
    return (await this.recents?.read()) ?? [];
  }

  counted(): TierCounts {
    const { memory, disk } = this.deps;
    const { writtenBytes, badBlocks, failedWrites } = disk?.counted() ?? NO_DISK;
    return {
      tierBytes: memory.bytes,
      tierTokens: this.restoredTokens,
      tierReadTokens: this.readTokens,
      tierWrittenBytes: writtenBytes,
      tierBadBlocks: this.badBlocks + badBlocks,
      tierFailedWrites: failedWrites,
    };
  }

  /**
   * Prepares the blocks of a new sequence, of which `shared` tokens need not be read: reads those that are on disk only. For memory
   * that cannot be truncated, `onState` gets the longest state on disk, and the blocks before it are read.
   */
  request(sequence: TokenPrefix, shared: () => number, onState?: OnState): void {
    const tokens = sequence.firstTokens(sequence.known - 1);
    const keys = this.keysOf(tokens, sequence.partition);
    if (keys.length === 0 || sequence.scoresPrompt || !this.restoring.isBelow(this.prefillTokenMs)) return;
    const { memory, disk } = this.deps;
    const wanted: Wanted = { keys, isReading: false, isDropped: false };
    this.wanted.set(sequence, wanted);
    memory.use(keys);
    const from = Math.floor(shared() / BLOCK_TOKENS); // from here on, what memory holds counts
    const isComplete =
      from === keys.length || (onState === undefined && this.heldFrom(keys, from) === keys.length);
    if (disk === undefined || isComplete || !this.reading.isBelow(this.prefillTokenMs)) return;
    wanted.isReading = true;
    void this.read(wanted, { tokens: tokens.slice(), from, disk, onState });
  }

  /** Writes the state after a sequence's computed tokens to disk. */
  writeState(sequence: Sequence, state: Uint8Array): void {
    const tokens = sequence.firstTokens(sequence.computed);
    this.states?.write(tokens, this.keysOf(tokens, sequence.partition), state);
  }

  /** A sequence is preempted: when it is admitted again, what the cache has lost of it by then is restored. */
  suspend(sequence: Sequence, computed: number): void {
    if (sequence.scoresPrompt || !this.restoring.isBelow(this.prefillTokenMs)) return;
    const keys = this.keysOf(sequence.firstTokens(computed), sequence.partition);
    this.wanted.set(sequence, { keys, isReading: false, isDropped: false });
  }

  /** Tokens that are restored in `ms` milliseconds: whole blocks, at least one. */
  pieceTokens(ms: number): number {
    const { tokenMs } = this.restoring;
    const tokens = tokenMs === 0 ? FIRST_PIECE_TOKENS : Math.min(ms / tokenMs, PIECE_TOKENS_MAX);
    return Math.max(1, Math.floor(tokens / BLOCK_TOKENS)) * BLOCK_TOKENS;
  }

  /** Whether a sequence's blocks are being read. */
  isReading(sequence: TokenPrefix): boolean {
    return this.wanted.get(sequence)?.isReading === true;
  }

  /** A sequence has ended. */
  release(sequence: TokenPrefix): void {
    const wanted = this.wanted.get(sequence);
    if (wanted !== undefined) wanted.isDropped = true;
    this.wanted.delete(sequence);
  }

  /** The end of a sequence's blocks in memory, from its first `from` tokens on, a multiple of BLOCK_TOKENS; in tokens. */
  restorable(sequence: TokenPrefix, from: number): number {
    const wanted = this.wanted.get(sequence);
    if (wanted === undefined) return 0;
    return this.heldFrom(wanted.keys, from / BLOCK_TOKENS) * BLOCK_TOKENS;
  }

  /** Restores the blocks of [from, to) into a slot that ends at `from`; returns where it ends then. */
  restore(sequence: TokenPrefix, slot: SlotId, from: number, to: number): number {
    const { memory, cells, now } = this.deps;
    if (cells === undefined) return from;
    const keys = this.wanted.get(sequence)?.keys ?? [];
    const startMs = now();
    let end = from;
    while (end + BLOCK_TOKENS <= to) {
      const key = keys[end / BLOCK_TOKENS];
      const copy = key === undefined ? undefined : memory.get(key);
      if (key === undefined || copy === undefined) break;
      if (!cells.restore(slot, copy, end, end + BLOCK_TOKENS)) {
        memory.delete(key);
        this.badBlocks++;
        break;
      }
      end += BLOCK_TOKENS;
    }
    this.restoring.add(now() - startMs, end - from);
    this.restoredTokens += end - from;
    memory.use(keys);
    return end;
  }

  /** A prefix is finished: the next engine restores it, if it is one of the last. */
  remember({ tokens, partition: { adapter, scope } }: Kept): void {
    if (adapter === BASE_MODEL) this.recents?.add({ scope, tokens });
  }

  /** Whether a finished prefix has blocks to copy. `isNext`: it will be evicted next; others are only written through to disk. */
  mayWrite(kept: Kept, isNext: boolean): boolean {
    const { disk, cells } = this.deps;
    if (cells === undefined || (disk === undefined ? !isNext : disk.isBusy)) return false;
    return kept.saved < this.keysIn(kept).length && this.mayCopy();
  }

  /** Copies the blocks of a finished prefix from token `from` on. */
  saveFrom(kept: Kept, from: number): void {
    const keys = this.keysIn(kept);
    for (let depth = Math.max(kept.saved, from / BLOCK_TOKENS); depth < keys.length; depth++)
      if (!this.mayCopy() || !this.copy(keys[depth], depth, kept.slot)) return;
  }

  private mayCopy(): boolean {
    if (this.deps.isOnDevice !== true) return true;
    return this.prefillTokenMs > 0 && this.copying.isBelow(COPY_SHARE * this.prefillTokenMs);
  }

  /** Copies the next block of a finished prefix. False: all are copied. */
  save(kept: Kept): boolean {
    const { memory } = this.deps;
    const keys = this.keysIn(kept);
    while (kept.saved < keys.length) {
      const depth = kept.saved++;
      const key = keys[depth];
      if (key === undefined || memory.has(key)) continue; // written when it came to memory
      if (this.copy(key, depth, kept.slot)) return true;
      kept.saved = keys.length;
    }
    return false;
  }

  /** Copies a block to memory and disk, unless memory has it. False: that has failed. */
  private copy(key: BlockKey | undefined, depth: number, slot: SlotId): boolean {
    const { memory, disk, cells, now } = this.deps;
    if (key === undefined || cells === undefined) return false;
    if (memory.has(key)) return true;
    const startMs = now();
    const copy = cells.save(slot, depth * BLOCK_TOKENS, (depth + 1) * BLOCK_TOKENS);
    this.copying.add(now() - startMs, BLOCK_TOKENS);
    if (copy === undefined) return false;
    memory.add(key, copy);
    disk?.write(key, depth, copy);
    return true;
  }

  /** An adapter was unloaded; another one may get its id. */
  forgetAdapter(adapter: AdapterId): void {
    for (const partition of this.roots.keys())
      if (partition.adapter === adapter) this.roots.delete(partition);
  }

  private async read(wanted: Wanted, { tokens, from, disk, onState }: ReadOptions): Promise<void> {
    const { cells, now, onRead } = this.deps;
    const startMs = now();
    let end = wanted.keys.length;
    if (onState !== undefined) {
      const { keys } = wanted;
      const found = await this.states?.find({ tokens, keys, from, isDropped: () => wanted.isDropped });
      if (found !== undefined) onState(found.length, found.state);
      end = found?.blocks ?? from;
    }
    const read = cells === undefined ? end - from : await this.readBlocks(wanted, from, end, disk);
    this.reading.add(now() - startMs, read * BLOCK_TOKENS);
    this.readTokens += read * BLOCK_TOKENS;
    wanted.isReading = false;
    onRead();
  }

  /** Reads blocks [from, end) that are not in memory; returns their number. */
  private async readBlocks(wanted: Wanted, from: number, end: number, disk: DiskTier): Promise<number> {
    const { memory, now, onRead } = this.deps;
    const startMs = now();
    const ahead: Promise<Uint8Array | undefined>[] = [];
    const first = this.heldFrom(wanted.keys, from);
    let most = AHEAD_MIN;
    let bytes = 0;
    let read = 0;
    for (const [i, key] of wanted.keys.slice(first, end).entries()) {
      for (let at = first + i + ahead.length; at < end && ahead.length < most; at++)
        ahead.push(this.readBlock(wanted.keys[at] ?? key, at, disk));
      const copy = await ahead.shift();
      bytes += copy?.length ?? 0;
      if (copy === undefined || bytes > memory.capacity * READ_SHARE) break;
      if (!memory.has(key)) {
        memory.add(key, copy);
        read++;
      }
      most = Math.max(AHEAD_MIN, Math.min(AHEAD_MAX, Math.floor(AHEAD_BYTES / copy.length)));
      onRead();
      if (wanted.isDropped || now() - startMs >= TIER_READ_MS_MAX) break;
    }
    return read;
  }

  private async readBlock(key: BlockKey, depth: number, disk: DiskTier): Promise<Uint8Array | undefined> {
    const held = this.deps.memory.get(key);
    if (held !== undefined) return held;
    const pending = this.reads.get(key) ?? disk.read(key, depth);
    this.reads.set(key, pending);
    try {
      return await pending;
    } finally {
      this.reads.delete(key);
    }
  }

  private keysIn(kept: Kept): readonly BlockKey[] {
    return (kept.keys ??= this.keysOf(kept.tokens, kept.partition));
  }

  private keysOf(tokens: Int32Array, partition: Partition): readonly BlockKey[] {
    return blockKeys(this.rootOf(partition), tokens);
  }

  private rootOf(partition: Partition): BlockKey {
    let root = this.roots.get(partition);
    if (root === undefined) {
      root = rootKey(JSON.stringify([this.deps.identity(partition.adapter), partition.scope]));
      this.roots.set(partition, root);
    }
    return root;
  }

  /** The first block from `from` on that is not in memory. */
  private heldFrom(keys: readonly BlockKey[], from: number): number {
    const missing = keys.findIndex((key, i) => i >= from && !this.deps.memory.has(key));
    return missing < 0 ? keys.length : missing;
  }
}
