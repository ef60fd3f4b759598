// A sequence: its known tokens, how many of them are computed, and its boundaries.
// All tokens of a media chunk have one negative id, allotted to the hash of its content, so that prefixes are still lists of numbers.

import type { AdapterId } from "../../core/adapter.ts";
import { assert, itemAt } from "../../core/assert.ts";
import type { SamplerHandle, SlotId } from "./backend.ts";
import type { MediaChunk } from "./media-backend.ts";
import { chunkAt, positionOf, wholeChunks } from "./media-layout.ts";
import { COMMON_PARTITION, type Partition } from "./partition.ts";
import { FREE_ROWS, type RowLimits } from "./scheduler.ts";

/** Minimum growth of a token buffer. */
const GROWTH = 256;
/** Maximum boundaries that other sequences request: each costs a pass that ends there. */
const BOUNDARIES_MAX = 8;
/** Rows of a step that keeps the logits of each. */
const SCORED_ROWS: RowLimits = { ...FREE_ROWS, most: 32 };

const NO_MEDIA: readonly MediaChunk[] = [];
export const NO_DRAFT: Int32Array = new Int32Array();

/** What tiers need of a sequence; also of a prefix that an earlier engine used, and that is restored for none yet. */
export type TokenPrefix = Pick<
  Sequence,
  "known" | "partition" | "scoresPrompt" | "firstTokens" | "commonPrefix"
>;

export interface SequenceOptions {
  readonly partition?: Partition;
  readonly scoresPrompt?: boolean;
  readonly lastApart?: boolean;
  readonly media?: readonly MediaChunk[];
}

/**
 * A sequence's tokens and progress. "Known" tokens are the prompt and all sampled tokens; "computed" ones are in the KV
 * cache. A step closes the gap between the two; prefill and decode differ only in its width.
 */
export class Sequence<Owner = unknown> {
  readonly owner: Owner;
  readonly sampler: SamplerHandle;
  /** Its cells are shared within it alone. */
  readonly partition: Partition;
  readonly promptTokens: number;
  /** Prompt tokens whose probabilities are known. */
  scored: number;
  /**
   * The prompt's last token is computed in a step of its own, as after a prefix hit: in a wider pass, kernels round differently, and
   * a seed would stand for another answer.
   */
  readonly lastApart: boolean;
  /** The media chunks among the prompt's tokens. The last token is never part of one. */
  readonly media: readonly MediaChunk[];
  /** Slot that holds the computed cells; undefined while the sequence waits. */
  slot: SlotId | undefined;
  computed = 0;
  /** Draft tokens after the known ones, computed with them in this step. */
  draft = NO_DRAFT;
  /** Boundaries, as computed tokens: own ones, and those that other sequences need. */
  private own: readonly number[] = [];
  private requested: readonly number[] = [];
  private boundaries: readonly number[] = []; // both, ascending
  private buffer: Int32Array; // [≥ known]
  private count: number;

  constructor(
    owner: Owner,
    prompt: Int32Array,
    sampler: SamplerHandle,
    {
      partition = COMMON_PARTITION,
      scoresPrompt = false,
      lastApart = false,
      media = NO_MEDIA,
    }: SequenceOptions = {},
  ) {
    this.owner = owner;
    this.scored = scoresPrompt ? 0 : prompt.length;
    this.lastApart = lastApart;
    this.media = media;
    this.sampler = sampler;
    this.partition = partition;
    this.promptTokens = prompt.length;
    this.buffer = new Int32Array(prompt.length + GROWTH);
    this.buffer.set(prompt);
    this.count = prompt.length;
  }

  /** Prompt tokens still need logits, so none may come from the cache. A preempted sequence scores no token twice. */
  get scoresPrompt(): boolean {
    return this.scored < this.promptTokens;
  }

  /** Adapter of its passes. */
  get adapter(): AdapterId {
    return this.partition.adapter;
  }

  /** Prompt and generated tokens. */
  get known(): number {
    return this.count;
  }

  /** Tokens sampled so far. */
  get generated(): number {
    return this.count - this.promptTokens;
  }

  /** Tokens to compute before the next one can be sampled. */
  get gap(): number {
    return this.count - this.computed;
  }

  /**
   * Limits of a step from a token on: few rows where each needs logits, because a row of logits has vocabulary × 4 bytes;
   * media rows are separate from text rows.
   */
  rowsFrom(token: number): RowLimits {
    const limits = this.freeRowsFrom(token);
    const next = this.boundaries.find((at) => at > token);
    const last = this.promptTokens - 1;
    const boundary = this.lastApart && token < last ? Math.min(next ?? last, last) : next;
    return boundary === undefined || limits.separate
      ? limits
      : { ...limits, most: Math.min(limits.most, boundary - token) };
  }

  /** Replaces its own boundaries. */
  planBoundaries(counts: readonly number[]): void {
    this.own = counts;
    this.boundaries = [...this.own, ...this.requested].toSorted((a, b) => a - b);
  }

  /** Adds a boundary for another sequence. */
  addBoundary(count: number): void {
    if (count <= this.computed || this.boundaries.includes(count)) return;
    this.requested = [...this.requested.slice(1 - BOUNDARIES_MAX), count];
    this.planBoundaries(this.own);
  }

  /** The last boundary in [from, to] that it has not reached. */
  boundaryWithin(from: number, to: number): number | undefined {
    return this.boundaries.findLast((at) => at >= from && at <= to && at > this.computed);
  }

  /** Whether its computed tokens end at a boundary. */
  get isAtBoundary(): boolean {
    return this.boundaries.includes(this.computed);
  }

  private freeRowsFrom(token: number): RowLimits {
    if (this.scoresPrompt && token < this.promptTokens) return SCORED_ROWS;
    if (this.media.length === 0) return FREE_ROWS;
    const chunk = chunkAt(this.media, token);
    if (chunk !== undefined) {
      const most = chunk.at + chunk.tokens - token;
      return { least: chunk.whole ? most : 1, most, separate: true };
    }
    const next = this.media.find(({ at }) => at > token);
    return next === undefined ? FREE_ROWS : { ...FREE_ROWS, most: next.at - token };
  }

  /** The chunk whose tokens are computed next; undefined for text. */
  get chunk(): MediaChunk | undefined {
    return this.media.length === 0 ? undefined : chunkAt(this.media, this.computed);
  }

  /** The longest prefix of at most `count` tokens that splits no media chunk. */
  wholeChunks(count: number): number {
    return this.media.length === 0 ? count : wholeChunks(this.media, count);
  }

  /** Position in the KV cache of a token of text, or of a chunk's first. */
  positionOf(token: number): number {
    return this.media.length === 0 ? token : positionOf(this.media, token);
  }

  /** A known token. */
  tokenAt(position: number): number {
    assert(position < this.count, "only known tokens are read");
    return itemAt(this.buffer, position);
  }

  append(token: number): void {
    if (this.count === this.buffer.length) {
      const larger = new Int32Array(this.count + Math.max(GROWTH, this.count >> 1));
      larger.set(this.buffer);
      this.buffer = larger;
    }
    this.buffer[this.count++] = token;
  }

  /** Length of the common prefix of its known tokens and `other`. */
  commonPrefix(other: Int32Array): number {
    const n = Math.min(this.count, other.length);
    let i = 0;
    while (i < n && this.buffer[i] === other[i]) i++;
    return i;
  }

  /** The first `count` known tokens: a view, valid until the next append. */
  firstTokens(count: number): Int32Array {
    return this.buffer.subarray(0, count);
  }

  /** Copies known tokens [from, from + count) to target[at …]. */
  copyTokens(from: number, count: number, target: Int32Array, at: number): void {
    target.set(this.buffer.subarray(from, from + count), at);
  }
}
