// One continuation being generated: known tokens, how many of them are computed, and what became of it.

import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";
import type { SamplerHandle, SlotId } from "./backend.ts";
import type { MediaChunk } from "./media-backend.ts";
import { chunkAt, positionOf, wholeChunks } from "./media-layout.ts";
import { FREE_ROWS, type RowLimits } from "./scheduler.ts";

/** Room that a token buffer grows by at least. */
const GROWTH = 256;
/** Places at which a sequence halts, at most: each costs a pass that ends there. */
const BOUNDARIES_MAX = 8;
/** Rows of a step whose logits are all kept. */
const SCORED_ROWS: RowLimits = { ...FREE_ROWS, most: 32 };

const NO_MEDIA: readonly MediaChunk[] = [];
const NO_DRAFT: Int32Array = new Int32Array();

export interface SequenceOptions {
  readonly adapter?: AdapterId;
  readonly scoresPrompt?: boolean;
  readonly media?: readonly MediaChunk[];
}

/**
 * A sequence's tokens and progress. "Known" tokens are the prompt and everything drawn so far; "computed" ones are in the
 * KV cache. A step tries to close the gap; nothing distinguishes prefill from decode but the width of the gap.
 */
export class Sequence<Owner = unknown> {
  readonly owner: Owner;
  readonly sampler: SamplerHandle;
  /** What its rows go through. Cells computed through different adapters have nothing in common. */
  readonly adapter: AdapterId;
  readonly promptTokens: number;
  /** Logits are wanted at every prompt token, so none may come from the cache. */
  readonly scoresPrompt: boolean;
  /** The pictures and recordings among the prompt's tokens. The last token is never one of theirs. */
  readonly media: readonly MediaChunk[];
  /** Slot that holds the computed cells; undefined while the sequence waits. */
  slot: SlotId | undefined;
  computed = 0;
  /** Tokens guessed to follow the known ones, computed with them in this step. */
  draft = NO_DRAFT;
  /** Tokens computed when its state was last saved, or when it was admitted. */
  savedAt = 0;
  /** Token counts at which a pass ends, so that the state there can be saved: planned, and asked for by others. */
  private planned: readonly number[] = [];
  private asked: readonly number[] = [];
  private halts: readonly number[] = []; // both, ascending
  private buffer: Int32Array; // [≥ known]
  private count: number;

  constructor(
    owner: Owner,
    prompt: Int32Array,
    sampler: SamplerHandle,
    { adapter = BASE_MODEL, scoresPrompt = false, media = NO_MEDIA }: SequenceOptions = {},
  ) {
    this.owner = owner;
    this.scoresPrompt = scoresPrompt;
    this.media = media;
    this.sampler = sampler;
    this.adapter = adapter;
    this.promptTokens = prompt.length;
    this.buffer = new Int32Array(prompt.length + GROWTH);
    this.buffer.set(prompt);
    this.count = prompt.length;
  }

  /** Prompt and generated tokens. */
  get known(): number {
    return this.count;
  }

  /** Tokens drawn so far. */
  get generated(): number {
    return this.count - this.promptTokens;
  }

  /** Tokens that must be computed before the next one can be drawn. */
  get gap(): number {
    return this.count - this.computed;
  }

  /**
   * What one step may take from a token on: few where each token needs logits, as a row of logits takes vocabulary × 4
   * bytes; and text and media go separate.
   */
  rowsFrom(token: number): RowLimits {
    const limits = this.freeRowsFrom(token);
    const halt = this.halts.find((at) => at > token);
    return halt === undefined || limits.separate
      ? limits
      : { ...limits, most: Math.min(limits.most, halt - token) };
  }

  /** Ends passes where so many tokens are computed, instead of where it was planned before. */
  planBoundaries(counts: readonly number[]): void {
    this.planned = counts;
    this.halts = [...this.planned, ...this.asked].toSorted((a, b) => a - b);
  }

  /** Ends a pass where `count` tokens are computed, for others. */
  addBoundary(count: number): void {
    if (count <= this.computed || this.halts.includes(count)) return;
    this.asked = [...this.asked.slice(1 - BOUNDARIES_MAX), count];
    this.planBoundaries(this.planned);
  }

  /** The last place in [from, to] at which it is still going to halt. */
  boundaryWithin(from: number, to: number): number | undefined {
    return this.halts.findLast((at) => at >= from && at <= to && at > this.computed);
  }

  /** Whether it halts where it is now. */
  get isAtBoundary(): boolean {
    return this.halts.includes(this.computed);
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

  /** The chunk whose tokens are computed next; undefined while it is text's turn. */
  get chunk(): MediaChunk | undefined {
    return this.media.length === 0 ? undefined : chunkAt(this.media, this.computed);
  }

  /** The longest beginning of at most `count` tokens that cuts no picture or recording in two. */
  wholeChunks(count: number): number {
    return this.media.length === 0 ? count : wholeChunks(this.media, count);
  }

  /** Position in the KV cache of a token of text, or of a chunk's first. */
  positionOf(token: number): number {
    return this.media.length === 0 ? token : positionOf(this.media, token);
  }

  /** Token at a known place. */
  tokenAt(position: number): number {
    return this.buffer[position] ?? -1;
  }

  append(token: number): void {
    if (this.count === this.buffer.length) {
      const larger = new Int32Array(this.count + Math.max(GROWTH, this.count >> 1));
      larger.set(this.buffer);
      this.buffer = larger;
    }
    this.buffer[this.count++] = token;
  }

  /** Known tokens at the beginning that are the same as `other`'s. */
  commonPrefix(other: Int32Array): number {
    const n = Math.min(this.count, other.length);
    let i = 0;
    while (i < n && this.buffer[i] === other[i]) i++;
    return i;
  }

  /** The first `count` known tokens; a view, valid until the next append. */
  firstTokens(count: number): Int32Array {
    return this.buffer.subarray(0, count);
  }

  /** Copies known tokens [from, from + count) to target[at …]. */
  copyTokens(from: number, count: number, target: Int32Array, at: number): void {
    for (let i = 0; i < count; i++) target[at + i] = this.buffer[from + i] ?? 0;
  }
}
