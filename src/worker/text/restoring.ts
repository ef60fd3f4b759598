// Restores the blocks of one waiting sequence at a time into a slot of its own, a piece in each step, so that other answers go on.
// What is restored is kept like a finished prefix; the sequence finds it there when it is admitted. Prefixes that an earlier engine
// used last are restored likewise, before a sequence asks for them.

import type { SlotId } from "./backend.ts";
import type { Checkpoint } from "./checkpoints.ts";
import type { Match } from "./prefix-hits.ts";
import type { Sequence, TokenPrefix } from "./sequence.ts";
import type { SlotPool } from "./slot-pool.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import type { CacheTiers } from "./tiers/tiers.ts";

/** Longest piece beside running sequences, and without any, milliseconds. */
const PIECE_MS = 8;
const PIECE_ALONE_MS = 50;
/** Fewer tokens are restored at once, at the admission. */
const TOKENS_MIN = 256;

/**
 * later: it is being restored, or will be once another one is. full: running sequences leave no room; none may overtake it.
 * now: it can be admitted as it is.
 */
export type RestoreState = "later" | "full" | "now";

export interface RestoringDeps {
  readonly pool: SlotPool;
  readonly tiers: CacheTiers;
  /** Makes an empty slot share the first tokens of another one. */
  readonly share: (source: SlotId, target: SlotId, sequence: Sequence, length: number) => void;
  /** Restores a state into a slot that has the cells before it. False: the slot must be cleared. */
  readonly restoreState: (slot: SlotId, checkpoint: Checkpoint, sequence: Sequence) => boolean;
}

interface Current {
  readonly wanting: TokenPrefix;
  /** Undefined where it was begun for none. */
  readonly sequence: Sequence | undefined;
  /** Whether a sequence waits for it. */
  readonly isAwaited: boolean;
  readonly slot: SlotId;
  /** The state that the blocks lead to, where there are states. */
  readonly checkpoint: Checkpoint | undefined;
}

export class Restoring {
  private readonly deps: RestoringDeps;
  private current: Current | undefined;

  constructor(deps: RestoringDeps) {
    this.deps = deps;
  }

  /** Whether a sequence is being restored. */
  has(sequence: Sequence): boolean {
    return this.active?.sequence === sequence;
  }

  /** Whether anything is being restored. */
  get isActive(): boolean {
    return this.active !== undefined;
  }

  /** Begins to restore a prefix that no sequence waits for, if it fits beside what is kept. False: it does not. */
  recall(prefix: TokenPrefix): boolean {
    const { pool } = this.deps;
    if (pool.free === 0 || pool.kept.count >= pool.keptMax || pool.book.free < prefix.known) return false;
    const slot = pool.take();
    if (slot === undefined) return false;
    pool.restoring = slot;
    this.current = { wanting: prefix, sequence: undefined, isAwaited: false, slot, checkpoint: undefined };
    return true;
  }

  /**
   * Before a waiting sequence's hit is restored: ends what is restored for none, unless this sequence begins with more of it. True: it
   * has ended, and may be a part of the hit now.
   */
  interrupt(sequence: Sequence, { shared, pooled = shared }: Match): boolean {
    const { active } = this;
    if (active === undefined || active.sequence !== undefined || shared - pooled < TOKENS_MIN) return false;
    const { wanting, slot } = active;
    const isOf = wanting.partition === sequence.partition;
    const common = isOf ? sequence.commonPrefix(wanting.firstTokens(wanting.known - 1)) : 0;
    const restored = this.deps.pool.book.length(slot);
    if (common - restored >= BLOCK_TOKENS) {
      this.current = { ...active, isAwaited: true };
      return false;
    }
    this.finish(active, restored);
    return true;
  }

  /** Begins to restore a waiting sequence's hit if that is long. `cells`: all that it needs to be admitted. */
  begin(sequence: Sequence, match: Match, cells: number, isAlone: boolean): RestoreState {
    const { shared, pooled = shared, source, checkpoint } = match;
    const { pool, share } = this.deps;
    if (shared - pooled < TOKENS_MIN) return "now";
    if (this.active !== undefined) return "later";
    const kept = pool.kept.find(source);
    if (kept !== undefined) pool.kept.use(kept);
    const isLast = pool.free === 0 && pool.kept.count <= (kept === undefined ? 0 : 1);
    if (isLast) return "now"; // the slot that it shares is the only one
    if (pool.book.available < cells) return isAlone ? "now" : "full";
    const slot = pool.take();
    if (slot === undefined) return "now";
    if (source !== undefined && pooled > 0) share(source, slot, sequence, pooled);
    pool.restoring = slot;
    this.current = { wanting: sequence, sequence, isAwaited: true, slot, checkpoint };
    return "later";
  }

  /** Restores the next piece. False: it is still being read, or nothing is restored, or none waits for it and others run. */
  step(isAlone: boolean): boolean {
    const { active } = this;
    if (active === undefined || (!isAlone && !active.isAwaited)) return false;
    const { pool, tiers } = this.deps;
    const { wanting, sequence, slot, checkpoint } = active;
    const from = pool.book.length(slot);
    const { length: to } = checkpoint?.tokens ?? { length: Infinity };
    const held = Math.max(from, Math.min(to, tiers.restorable(wanting, from))); // more, while blocks are read
    const end = Math.min(held, from + tiers.pieceTokens(isAlone ? PIECE_ALONE_MS : PIECE_MS));
    if (end === from && tiers.isReading(wanting)) return false;
    if (sequence !== undefined) pool.makeRoom(end - from);
    if (this.active === undefined) return true;
    const restored = tiers.restore(wanting, slot, from, Math.min(end, from + pool.book.free));
    pool.book.append(slot, restored - from);
    if (restored < end || (end === held && !tiers.isReading(wanting))) this.finish(active, restored);
    return true;
  }

  /** A sequence has ended, or been admitted. */
  release(sequence: Sequence): void {
    if (this.has(sequence)) this.deps.pool.dropRestoring();
  }

  /** Undefined also if its slot was needed by others. */
  private get active(): Current | undefined {
    if (this.current?.slot !== this.deps.pool.restoring) this.current = undefined;
    return this.current;
  }

  private finish({ wanting, sequence, slot, checkpoint }: Current, length: number): void {
    const { pool, tiers, restoreState } = this.deps;
    const isComplete =
      checkpoint === undefined || sequence === undefined
        ? length > 0
        : length === checkpoint.tokens.length && restoreState(slot, checkpoint, sequence);
    const tokens = wanting.firstTokens(length).slice();
    const { partition } = wanting;
    pool.restoring = undefined;
    this.current = undefined;
    tiers.release(wanting); // if it is evicted before the admission, it is computed
    if (!isComplete) return pool.clear(slot);
    pool.keep({ slot, partition, tokens, run: tiers.runOf(tokens, partition) }, sequence === undefined);
  }
}
