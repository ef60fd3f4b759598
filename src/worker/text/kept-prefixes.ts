// The list of finished prefixes that are kept in slots, least recently used first. Only a list: kv.ts clears the slots.

import type { AdapterId } from "../../core/adapter.ts";
import type { SlotId } from "./backend.ts";
import type { Partition } from "./partition.ts";
import type { Holder } from "./state-sharing.ts";
import { BLOCK_TOKENS } from "./tiers/block.ts";
import type { BlockRun } from "./tiers/tiers.ts";

/**
 * Attention reads every kept cell for every token, also of other sequences: 3,700 kept cells cost a 0.6B model on two
 * cores a tenth of its speed. A long prefix is worth that; of shorter ones, which are quickly recomputed, only the latest
 * are kept.
 */
const SHORT_PREFIX_TOKENS = 512;
const SHORT_PREFIX_CELLS_MAX = 1024;

/** A finished prefix, kept in its slot. */
export interface Kept extends Holder {
  readonly partition: Partition;
  /** Its copies; undefined without tiers. */
  readonly run: BlockRun | undefined;
}

export class KeptPrefixes {
  private list: readonly Kept[] = [];

  /** Least recently used first; a snapshot. */
  get all(): readonly Kept[] {
    return this.list;
  }

  get count(): number {
    return this.list.length;
  }

  /** The prefix in a slot. */
  find(slot: SlotId | undefined): Kept | undefined {
    return this.list.find((kept) => kept.slot === slot);
  }

  within(partition: Partition): readonly Kept[] {
    return this.list.filter((kept) => kept.partition === partition);
  }

  ofAdapter(adapter: AdapterId): readonly Kept[] {
    return this.list.filter(({ partition }) => partition.adapter === adapter);
  }

  add(kept: Kept, isOldest = false): void {
    this.list = isOldest ? [kept, ...this.list] : [...this.list, kept];
  }

  remove(kept: Kept): void {
    this.list = this.list.filter((other) => other !== kept);
  }

  /** Its slot was cut to its first `length` tokens, a multiple of a block. */
  shorten(kept: Kept, length: number): void {
    const { run } = kept;
    const blocks = length / BLOCK_TOKENS;
    const shorter: Kept = {
      ...kept,
      tokens: kept.tokens.subarray(0, length),
      run: run && {
        ...run,
        tokens: run.tokens.subarray(0, length),
        keys: run.keys?.slice(0, blocks),
        saved: Math.min(run.saved, blocks),
      },
    };
    this.list = this.list.map((other) => (other === kept ? shorter : other));
  }

  /** It has just been used. */
  use(kept: Kept): void {
    this.remove(kept);
    this.add(kept);
  }

  /** Whether a prefix of a partition begins with these tokens. */
  covers(tokens: Int32Array, partition: Partition): boolean {
    return this.within(partition).some((kept) => startsWith(kept.tokens, tokens));
  }

  /** The prefixes of a partition that these tokens begin with. */
  coveredBy(tokens: Int32Array, partition: Partition): readonly Kept[] {
    return this.within(partition).filter((kept) => startsWith(tokens, kept.tokens));
  }

  /** The short prefixes that are too many, least recently used first. */
  excessShort(): readonly Kept[] {
    const short = this.list.filter(({ tokens }) => tokens.length < SHORT_PREFIX_TOKENS);
    let cells = short.reduce((sum, { tokens }) => sum + tokens.length, 0);
    return short.filter(({ tokens }) => {
      const isExcess = cells > SHORT_PREFIX_CELLS_MAX;
      if (isExcess) cells -= tokens.length;
      return isExcess;
    });
  }
}

function startsWith(tokens: Int32Array, prefix: Int32Array): boolean {
  if (prefix.length > tokens.length) return false;
  for (let i = 0; i < prefix.length; i++) if (tokens[i] !== prefix[i]) return false;
  return true;
}
