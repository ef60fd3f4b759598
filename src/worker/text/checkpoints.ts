// Checkpoints: saved states of memory that cannot be truncated, by the tokens that led to them. Bounded by bytes, evicted by
// value. Knows nothing of slots and cells: kv.ts finds the cells that belong to a state.

import { itemAt } from "../../core/assert.ts";
import type { AdapterId } from "../../core/adapter.ts";
import { CHECKPOINTS_MAX } from "../shared/limits.ts";
import type { Partition } from "./partition.ts";
import type { Sequence, TokenPrefix } from "./sequence.ts";

/** A saved state and the tokens that led to it. */
export interface Checkpoint {
  readonly partition: Partition;
  readonly tokens: Int32Array;
  readonly state: Uint8Array;
  /** Last save or restore, in ticks of the store's clock. */
  usedAt: number;
}

/** Checkpoints held and restored. */
export interface CheckpointCounts {
  readonly checkpoints: number;
  readonly checkpointBytes: number;
  readonly checkpointsRestored: number;
}

export const NO_CHECKPOINTS: CheckpointCounts = {
  checkpoints: 0,
  checkpointBytes: 0,
  checkpointsRestored: 0,
};

/** Tokens at the end of a prompt that may open the answer: `<|im_start|>assistant\n<think>\n\n</think>\n\n` has nine. */
const OPENING_TOKENS_MAX = 10;
/** Without markup, the last tokens of a prompt are left out: continued text may be tokenized differently there. */
const OPEN_TOKENS = 4;

/**
 * How many tokens of a prompt the next turn most likely begins with: all before the markup that opens the answer, because
 * templates render a past answer differently; nearly all in a prompt without markup.
 */
export function lastBoundary(prompt: Int32Array, isMarkup: (token: number) => boolean): number {
  const end = prompt.length;
  for (let at = Math.max(1, end - OPENING_TOKENS_MAX); at < end; at++)
    if (isMarkup(itemAt(prompt, at))) return at;
  return Math.max(1, end - OPEN_TOKENS);
}

export class Checkpoints {
  private readonly bytesMax: number;
  private held: Checkpoint[] = [];
  private bytes = 0;
  private clock = 0; // ticks with each save or restore
  private restored = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  counted(): CheckpointCounts {
    return {
      checkpoints: this.held.length,
      checkpointBytes: this.bytes,
      checkpointsRestored: this.restored,
    };
  }

  /** The longest checkpoint of at most `max` tokens that is a prefix of a sequence. */
  find(sequence: Sequence, max: number): Checkpoint | undefined {
    let best: Checkpoint | undefined;
    for (const checkpoint of this.held) {
      const { length } = checkpoint.tokens;
      if (length <= max && length > (best?.tokens.length ?? 0) && begins(sequence, checkpoint))
        best = checkpoint;
    }
    return best;
  }

  /** The longest common prefix of a sequence and any checkpoint, in tokens. */
  commonPrefix(sequence: Sequence): number {
    return this.held.reduce(
      (longest, { partition, tokens }) =>
        partition === sequence.partition ? Math.max(longest, sequence.commonPrefix(tokens)) : longest,
      0,
    );
  }

  /** Whether a checkpoint of exactly a sequence's first `length` tokens exists. */
  has(sequence: TokenPrefix, length: number): boolean {
    return this.held.some(
      (checkpoint) => checkpoint.tokens.length === length && begins(sequence, checkpoint),
    );
  }

  /** Adds the state after a sequence's first `length` tokens. */
  add(sequence: TokenPrefix, length: number, state: Uint8Array): void {
    const tokens = sequence.firstTokens(length).slice();
    const checkpoint: Checkpoint = { partition: sequence.partition, tokens, state, usedAt: ++this.clock };
    const size = sizeOf(checkpoint);
    if (size > this.bytesMax) return;
    while (this.bytes + size > this.bytesMax || this.held.length >= CHECKPOINTS_MAX) this.dropLeast();
    this.held.push(checkpoint);
    this.bytes += size;
  }

  /** A checkpoint was restored. */
  used(checkpoint: Checkpoint): void {
    this.restored++;
    checkpoint.usedAt = ++this.clock;
  }

  drop(checkpoint: Checkpoint): void {
    this.held = this.held.filter((other) => other !== checkpoint);
    this.bytes -= sizeOf(checkpoint);
  }

  dropAdapter(adapter: AdapterId): void {
    for (const checkpoint of this.held.filter(({ partition }) => partition.adapter === adapter))
      this.drop(checkpoint);
  }

  dropAll(): void {
    this.held = [];
    this.bytes = 0;
  }

  /** Evicts the least valuable checkpoint: tokens to recompute without it, per byte and tick since its last use. */
  private dropLeast(): void {
    const value = (checkpoint: Checkpoint): number =>
      this.gain(checkpoint) / (sizeOf(checkpoint) * (1 + this.clock - checkpoint.usedAt));
    const valued = this.held.map((checkpoint) => ({ checkpoint, value: value(checkpoint) }));
    const [first, ...others] = valued;
    if (first === undefined) return;
    this.drop(others.reduce((least, one) => (one.value < least.value ? one : least), first).checkpoint);
  }

  /** Tokens that a checkpoint saves beyond the longest shorter one on the way to it. */
  private gain({ partition, tokens }: Checkpoint): number {
    const before = this.held.reduce(
      (most, other) =>
        other.partition === partition &&
        other.tokens.length < tokens.length &&
        isBeginning(other.tokens, tokens)
          ? Math.max(most, other.tokens.length)
          : most,
      0,
    );
    return tokens.length - before;
  }
}

function sizeOf({ tokens, state }: Checkpoint): number {
  return tokens.byteLength + state.byteLength;
}

function begins(sequence: TokenPrefix, { partition, tokens }: Checkpoint): boolean {
  return partition === sequence.partition && sequence.commonPrefix(tokens) === tokens.length;
}

function isBeginning(tokens: Int32Array, whole: Int32Array): boolean {
  return tokens.every((token, i) => token === whole[i]);
}
