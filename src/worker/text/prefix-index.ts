// Where the first tokens of a sequence are: one record a prefix, with the slot that has its cells, the keys of its copies in memory and
// on disk, or its saved state. Answers questions and keeps lists; slot-pool.ts and state-sharing.ts decide what is evicted, the tiers
// copy and read.
//
// Prefixes are found by comparing tokens. There are a few dozen slots and a comparison ends at the first difference, so a search
// takes microseconds. A tree with a node a block would change at each append, cut, preemption and abort, and slots end between blocks.

import type { AdapterId } from "../../core/adapter.ts";
import type { Backend, SlotId } from "./backend.ts";
import type { CellBook } from "./cells.ts";
import type { Partition } from "./partition.ts";
import type { Sequence, TokenPrefix } from "./sequence.ts";
import { BLOCK_TOKENS, type BlockKey } from "./tiers/block.ts";
import type { CacheTiers } from "./tiers/tiers.ts";

/** Minimum length of a prefix that is worth keeping or waiting for, tokens. */
export const PREFIX_TOKENS_MIN = 16;

/** Tokens of a partition of which something is held. */
interface Prefix {
  readonly partition: Partition;
  readonly tokens: Int32Array;
}

/** The cells of a finished prefix, in a slot. */
export interface Kept extends Prefix {
  readonly slot: SlotId;
  tokens: Int32Array;
  /** Of its blocks; undefined until they are needed. */
  keys: readonly BlockKey[] | undefined;
  /** Blocks that need no copy any more. */
  saved: number;
}

/** A saved state and the tokens that led to it. */
export interface Checkpoint extends Prefix {
  readonly state: Uint8Array;
  /** Last save or restore, in ticks. */
  usedAt: number;
}

/** A sequence that computes the prefix of another one, and the position where the two diverge: its state is saved there. */
interface Divergence {
  readonly from: Sequence;
  readonly at: number;
}

/** The prefix hit of a sequence. */
export interface Match {
  /** Slot to share or to take over; undefined without a hit. */
  readonly source: SlotId | undefined;
  readonly shared: number;
  readonly sharedPinned: number;
  /** Those of the shared tokens that come from the slot; the rest is restored from a tier. */
  readonly pooled: number;
  /** A running sequence is computing a longer prefix: waiting for it is better than computing it twice. */
  readonly wait: boolean;
  /** The state to restore; undefined where only cells are shared. */
  readonly checkpoint?: Checkpoint;
  /** The sequence that computes the awaited prefix, and where its state must be saved. */
  readonly divergence?: Divergence;
}

/** The slot that has most of a sequence's first tokens, and how many. */
interface Common {
  readonly slot: SlotId | undefined;
  readonly common: number;
}

/** The other sequences at a search. */
interface Around {
  readonly running: readonly Sequence[];
  readonly ahead: readonly Sequence[];
}

const NO_HIT: Match = { source: undefined, shared: 0, sharedPinned: 0, pooled: 0, wait: false };

interface IndexDeps {
  readonly reuse: Backend["reuse"];
  readonly book: CellBook;
  readonly tiers: CacheTiers | undefined;
  /** Finished prefixes to keep; 0 disables sharing. */
  readonly keptMax: number;
  /** Present where states are saved: whether they are all there is of a sequence, and at multiples of how many tokens. */
  readonly states: { readonly alone: boolean; readonly everyTokens: number } | undefined;
}

export class PrefixIndex {
  readonly keptMax: number;
  private readonly deps: IndexDeps;
  private list: readonly Kept[] = [];
  private saved: readonly Checkpoint[] = [];

  constructor(deps: IndexDeps) {
    this.deps = deps;
    this.keptMax = deps.keptMax;
  }

  /** Finished prefixes, least recently used first; a snapshot. */
  get kept(): readonly Kept[] {
    return this.list;
  }

  /** Saved states, oldest first; a snapshot. */
  get checkpoints(): readonly Checkpoint[] {
    return this.saved;
  }

  /** The finished prefix in a slot. */
  inSlot(slot: SlotId | undefined): Kept | undefined {
    return this.list.find((kept) => kept.slot === slot);
  }

  /** Finished prefixes of a partition. */
  keptIn(partition: Partition): readonly Kept[] {
    return this.list.filter((kept) => kept.partition === partition);
  }

  /** Keeps a finished prefix, or marks it as used just now. `isOldest`: it has been used less recently than all others. */
  keep(kept: Kept, isOldest = false): void {
    const others = this.list.filter((other) => other !== kept);
    this.list = isOldest ? [kept, ...others] : [...others, kept];
  }

  /** The slot of a prefix was cut to its first `length` tokens, a multiple of a block. */
  cut(kept: Kept, length: number): void {
    const blocks = length / BLOCK_TOKENS;
    kept.tokens = kept.tokens.subarray(0, length);
    kept.keys = kept.keys?.slice(0, blocks);
    kept.saved = Math.min(kept.saved, blocks);
  }

  remove(kept: Kept): void {
    this.list = this.list.filter((other) => other !== kept);
  }

  /** Whether a finished prefix of a partition begins with these tokens. */
  covers(tokens: Int32Array, partition: Partition): boolean {
    return this.keptIn(partition).some((kept) => startsWith(kept.tokens, tokens));
  }

  addCheckpoint(checkpoint: Checkpoint): void {
    this.saved = [...this.saved, checkpoint];
  }

  removeCheckpoint(checkpoint: Checkpoint): void {
    this.saved = this.saved.filter((other) => other !== checkpoint);
  }

  /** The longest checkpoint of at most `max` tokens that a sequence begins with. */
  checkpointOf(sequence: TokenPrefix, max: number): Checkpoint | undefined {
    let best: Checkpoint | undefined;
    for (const checkpoint of this.saved) {
      const { length } = checkpoint.tokens;
      if (length <= max && length > (best?.tokens.length ?? 0) && commonWith(sequence, checkpoint) === length)
        best = checkpoint;
    }
    return best;
  }

  /** All that is held for an adapter. */
  ofAdapter(adapter: AdapterId): {
    readonly kept: readonly Kept[];
    readonly checkpoints: readonly Checkpoint[];
  } {
    const isOf = ({ partition }: Prefix): boolean => partition.adapter === adapter;
    return { kept: this.list.filter(isOf), checkpoints: this.saved.filter(isOf) };
  }

  /**
   * The longest prefix hit of a waiting sequence among finished and running sequences. `ahead`: candidates that will be
   * admitted before it.
   */
  find(sequence: Sequence, running: readonly Sequence[], ahead: readonly Sequence[]): Match {
    if (this.keptMax === 0 || sequence.scoresPrompt) return NO_HIT;
    const { reuse, states } = this.deps;
    const max = sequence.known - 1; // at least one token is computed, for its logits
    const shareable = (length: number): number => sequence.wholeChunks(Math.min(max, length));
    let best = NO_HIT;
    const consider = (source: SlotId, length: number): void => {
      if (length > best.shared) best = this.hitIn(source, length, length);
    };
    for (const { slot, tokens } of this.keptIn(sequence.partition)) {
      const common = shareable(sequence.commonPrefix(tokens));
      if (reuse !== "whole" || common === tokens.length) consider(slot, common);
    }
    if (states !== undefined) return this.findState(sequence, { running, ahead }, best);
    if (reuse !== "prefix") return best;
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

  /** How many of a sequence's first tokens others have computed: those of cells, or of states too. */
  commonOf(sequence: Sequence, running: readonly Sequence[]): number {
    const inStates = this.saved.reduce((most, state) => Math.max(most, commonWith(sequence, state)), 0);
    return Math.max(this.longestSlot(sequence, running).common, inStates);
  }

  /** The last position of at most `at` tokens where a sequence's state can be saved. */
  savable(sequence: Sequence, at: number): number {
    const whole = sequence.wholeChunks(at);
    return sequence.wholeChunks(whole - (whole % (this.deps.states?.everyTokens ?? 1)));
  }

  private hitIn(source: SlotId | undefined, pooled: number, shared: number): Match {
    const sharedPinned = source === undefined ? 0 : this.deps.book.pinnedWithin(source, pooled);
    return { source, shared, sharedPinned, pooled, wait: false };
  }

  /** A prefix hit, lengthened by what the tiers hold in memory. */
  private withBlocks(sequence: Sequence, best: Match): Match {
    const pooled = best.shared - (best.shared % BLOCK_TOKENS);
    const end = this.deps.tiers?.restorable(sequence, pooled) ?? 0;
    return end - best.shared < PREFIX_TOKENS_MIN ? best : this.hitIn(best.source, pooled, end);
  }

  /** The longest checkpoint with its cells, if it is longer than the hit so far; or one worth waiting for. */
  private findState(sequence: Sequence, around: Around, best: Match): Match {
    const hit = this.restorable(sequence, around.running);
    const found = hit !== undefined && hit.shared > best.shared ? hit : best;
    const divergence = this.divergence(sequence, [...around.running, ...around.ahead]);
    if (divergence === undefined || divergence.at - found.shared < PREFIX_TOKENS_MIN) return found;
    return { ...found, wait: true, divergence };
  }

  /** The longest checkpoint that a sequence can restore: its cells lie in one slot, or there and in a tier. */
  private restorable(sequence: Sequence, running: readonly Sequence[]): Match | undefined {
    const { states, tiers } = this.deps;
    const max = sequence.known - 1;
    const { slot, common } =
      states?.alone === true ? { slot: undefined, common: max } : this.longestSlot(sequence, running);
    const whole = common - (common % (states?.everyTokens ?? 1));
    const held = states?.alone === true ? max : Math.max(common, tiers?.restorable(sequence, whole) ?? 0);
    const checkpoint = this.checkpointOf(sequence, Math.min(max, held));
    if (checkpoint === undefined) return undefined;
    const { length } = checkpoint.tokens;
    const pooled = slot === undefined ? 0 : length > common ? whole : length;
    return { ...this.hitIn(pooled === 0 ? undefined : slot, pooled, length), checkpoint };
  }

  /** Among the sequences that compute another one's prefix, the one that shares most with it and has not passed that position. */
  private divergence(sequence: Sequence, others: readonly Sequence[]): Divergence | undefined {
    let best: Divergence | undefined;
    for (const from of others) {
      if (from.partition !== sequence.partition) continue;
      const prompt = from.firstTokens(from.promptTokens); // an answer is not worth following token by token
      const common = Math.min(sequence.known - 1, sequence.commonPrefix(prompt));
      const whole = this.savable(sequence, common);
      const at = from.boundaryWithin(whole - PREFIX_TOKENS_MIN + 1, whole) ?? whole;
      if (from.computed < at && at > (best?.at ?? 0)) best = { from, at };
    }
    return best;
  }

  /** The slot of a finished or running sequence with the most of a sequence's first tokens. */
  private longestSlot(sequence: Sequence, running: readonly Sequence[]): Common {
    let best: Common = { slot: undefined, common: 0 };
    const consider = (slot: SlotId, tokens: Int32Array): void => {
      const common = sequence.commonPrefix(tokens);
      if (common > best.common) best = { slot, common };
    };
    for (const { slot, tokens } of this.keptIn(sequence.partition)) consider(slot, tokens);
    for (const other of running)
      if (other.partition === sequence.partition && other.slot !== undefined)
        consider(other.slot, other.firstTokens(other.computed));
    return best;
  }
}

function commonWith(sequence: TokenPrefix, { partition, tokens }: Prefix): number {
  return partition === sequence.partition ? sequence.commonPrefix(tokens) : 0;
}

/** Whether tokens begin with others. */
export function startsWith(tokens: Int32Array, prefix: Int32Array): boolean {
  return prefix.length <= tokens.length && prefix.every((token, i) => token === tokens[i]);
}
