// One continuation being generated: known tokens, how many of them are computed, and what became of it.

import type { SamplerHandle, SlotId } from "./backend.ts";

/** Room that a token buffer grows by at least. */
const GROWTH = 256;

/**
 * A sequence's tokens and progress. "Known" tokens are the prompt and everything drawn so far; "computed" ones are in the
 * KV cache. A step tries to close the gap; nothing distinguishes prefill from decode but the width of the gap.
 */
export class Sequence<Owner = unknown> {
  readonly owner: Owner;
  readonly sampler: SamplerHandle;
  readonly promptTokens: number;
  /** Slot that holds the computed cells; undefined while the sequence waits. */
  slot: SlotId | undefined;
  computed = 0;
  private buffer: Int32Array; // [≥ known]
  private count: number;

  constructor(owner: Owner, prompt: Int32Array, sampler: SamplerHandle) {
    this.owner = owner;
    this.sampler = sampler;
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

  append(token: number): void {
    if (this.count === this.buffer.length) {
      const larger = new Int32Array(this.count + Math.max(GROWTH, this.count >> 1));
      larger.set(this.buffer);
      this.buffer = larger;
    }
    this.buffer[this.count++] = token;
  }

  /** Copies known tokens [from, from + count) to target[at …]. */
  copyTokens(from: number, count: number, target: Int32Array, at: number): void {
    for (let i = 0; i < count; i++) target[at + i] = this.buffer[from + i] ?? 0;
  }
}
