// Restores the blocks of one waiting sequence at a time into a slot of its own, a piece in each step, so that other answers go on.
// What is restored is kept like a finished prefix; the sequence finds it there when it is admitted. Prefixes that an earlier engine
// used last are restored likewise, before a sequence asks for them.

import type { SlotId } from "./backend.ts";
import type { CellBook } from "./cells.ts";
import type { Partition } from "./partition.ts";
import type { Checkpoint, Match, PrefixIndex } from "./prefix-index.ts";
import type { Sequence, TokenPrefix } from "./sequence.ts";
import type { SlotPool } from "./slot-pool.ts";
import type { StateSharing } from "./state-sharing.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import type { RecentPrefix } from "./tiers/recent-prefixes.ts";
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
  readonly book: CellBook;
  readonly index: PrefixIndex;
  readonly tiers: CacheTiers;
  /** Present where there are states. */
  readonly sharing: StateSharing | undefined;
  /** Whether cells can be copied; otherwise states are all there is of a sequence. */
  readonly hasCells: boolean;
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
  /** Prefixes that an earlier engine used last, latest first, and the one whose state is being read. */
  private recalls: readonly TokenPrefix[] = [];
  private recalling: TokenPrefix | undefined;

  constructor(deps: RestoringDeps) {
    this.deps = deps;
  }

  /** Reads which prefixes an earlier engine used last. `partitionOf`: that of a scope. */
  async readRecalls(partitionOf: (scope: string) => Partition): Promise<void> {
    const prefixes = await this.deps.tiers.recent();
    this.recalls = prefixes.map((prefix) => prefixOf(prefix, partitionOf(prefix.scope)));
    this.recallNext();
  }

  /**
   * Begins with the next of these prefixes, if nothing else is restored or read for them: with all of it where only cells are shared. Of
   * models with states, the last state and the blocks before it are read into memory, from where the next turn restores them.
   */
  recallNext(): void {
    const { tiers, index, sharing, hasCells } = this.deps;
    if (this.isActive || (this.recalling !== undefined && tiers.isReading(this.recalling))) return;
    const [next, ...others] = this.recalls;
    if (next === undefined) return;
    this.recalls = others;
    if (index.covers(next.firstTokens(next.known - 1), next.partition)) return;
    if (sharing !== undefined) {
      this.recalling = next;
      tiers.request(
        next,
        () => 0,
        (at, state) => sharing.add(next, at, state),
      );
    } else if (hasCells && this.recall(next)) tiers.request(next, () => 0);
  }

  /** Whether a sequence is being restored. */
  has(sequence: Sequence): boolean {
    return this.active?.sequence === sequence;
  }

  /** Whether anything is being restored. */
  get isActive(): boolean {
    return this.active !== undefined;
  }

  /**
   * Before a waiting sequence's hit is restored: ends what is restored for none, unless this sequence begins with more of it. True: it
   * has ended, and may be a part of the hit now.
   */
  interrupt(sequence: Sequence, { shared, pooled }: Match): boolean {
    const { active } = this;
    if (active === undefined || active.sequence !== undefined || shared - pooled < TOKENS_MIN) return false;
    const { wanting, slot } = active;
    const isOf = wanting.partition === sequence.partition;
    const common = isOf ? sequence.commonPrefix(wanting.firstTokens(wanting.known - 1)) : 0;
    const restored = this.deps.book.length(slot);
    if (common - restored >= BLOCK_TOKENS) {
      this.current = { ...active, isAwaited: true };
      return false;
    }
    this.finish(active, restored);
    return true;
  }

  /** Begins to restore a waiting sequence's hit if that is long. `cells`: all that it needs to be admitted. */
  begin(sequence: Sequence, match: Match, cells: number, isAlone: boolean): RestoreState {
    const { shared, pooled, source, checkpoint } = match;
    const { pool, book, index, hasCells } = this.deps;
    if (!hasCells || shared - pooled < TOKENS_MIN) return "now";
    if (this.active !== undefined) return "later";
    const kept = index.inSlot(source);
    if (kept !== undefined) index.keep(kept);
    if (pool.isLast(kept)) return "now"; // the slot that it shares is the only one
    if (book.available < cells) return isAlone ? "now" : "full";
    const slot = pool.take();
    if (slot === undefined) return "now";
    if (source !== undefined && pooled > 0) pool.share(source, slot, sequence, pooled);
    this.start({ wanting: sequence, sequence, isAwaited: true, slot, checkpoint });
    return "later";
  }

  /** Restores the next piece. False: it is still being read, or nothing is restored, or none waits for it and others run. */
  step(isAlone: boolean): boolean {
    const { active } = this;
    if (active === undefined || (!isAlone && !active.isAwaited)) return false;
    const { pool, book, tiers } = this.deps;
    const { wanting, sequence, slot, checkpoint } = active;
    const from = book.length(slot);
    const { length: to } = checkpoint?.tokens ?? { length: Infinity };
    const held = Math.max(from, Math.min(to, tiers.restorable(wanting, from))); // more, while blocks are read
    const end = Math.min(held, from + tiers.pieceTokens(isAlone ? PIECE_ALONE_MS : PIECE_MS));
    if (end === from && tiers.isReading(wanting)) return false;
    if (sequence !== undefined) pool.makeRoom(end - from);
    if (this.active === undefined) return true;
    const restored = tiers.restore(wanting, slot, from, Math.min(end, from + book.free));
    book.append(slot, restored - from);
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

  /** Begins to restore a prefix that no sequence waits for, if it fits beside what is kept. False: it does not. */
  private recall(wanting: TokenPrefix): boolean {
    const { pool, book, index } = this.deps;
    if (pool.free === 0 || index.kept.length >= index.keptMax || book.free < wanting.known) return false;
    const slot = pool.take();
    if (slot === undefined) return false;
    this.start({ wanting, sequence: undefined, isAwaited: false, slot, checkpoint: undefined });
    return true;
  }

  private start(current: Current): void {
    this.current = current;
    this.deps.pool.restoring = current.slot;
  }

  private finish({ wanting, sequence, slot, checkpoint }: Current, length: number): void {
    const { pool, index, tiers, sharing } = this.deps;
    const isComplete =
      checkpoint === undefined || sequence === undefined
        ? length > 0
        : length === checkpoint.tokens.length &&
          sharing?.restore(slot, checkpoint, sequence.positionOf(length)) === true;
    const tokens = wanting.firstTokens(length).slice();
    pool.restoring = undefined;
    this.current = undefined;
    tiers.release(wanting); // if it is evicted before the admission, it is computed
    if (!isComplete) return pool.clear(slot);
    index.keep(
      { slot, partition: wanting.partition, tokens, keys: undefined, saved: 0 },
      sequence === undefined,
    );
  }
}

function prefixOf({ tokens }: RecentPrefix, partition: Partition): TokenPrefix {
  return {
    partition,
    known: tokens.length + 1,
    scoresPrompt: false,
    firstTokens: (count) => tokens.subarray(0, count),
    commonPrefix: (other) => {
      const end = Math.min(tokens.length, other.length);
      const at = tokens.findIndex((token, i) => i >= end || token !== other[i]);
      return at < 0 ? end : at;
    },
  };
}
