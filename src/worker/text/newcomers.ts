// Newcomers: short prompts that were waiting when the answers beside them began. Of requests that arrive together, the last would
// otherwise wait for its first token while the first ones get theirs at full speed. Records arrivals and first tokens.
// Rejected: prompts always first, which stops answers for each later prompt; shortest prompt first, which starves long ones.

import type { StepCost } from "./step-cost.ts";

/** Answers yield to newcomers no longer than this after their first token, milliseconds. */
const YIELD_MS_MAX = 10_000;
/** A prompt that takes longer is no newcomer, milliseconds. While costs are unknown: one that exceeds a micro-batch. */
const PROMPT_MS_MAX = 2000;

/** The part of a sequence that this file reads. */
interface Progress {
  /** Tokens sampled so far. */
  readonly generated: number;
}

/** A sequence with tokens to compute before the next one can be sampled. */
export interface Prefilling<S> {
  readonly sequence: S;
  readonly gap: number;
}

/** Positions in the common order of arrivals and first tokens. */
interface Record {
  readonly arrived: number;
  began: number;
  beganMs: number;
}

/** Sequences of the next step. */
export interface StepSequences<S> {
  /** Each waits for a token. */
  readonly decoding: readonly S[];
  /** In the order in which they are served. */
  readonly prefilling: readonly Prefilling<S>[];
  readonly cost: StepCost;
  /** Tokens of a micro-batch. */
  readonly ubatch: number;
  readonly nowMs: number;
}

/** How newcomers change the load of a step. */
export interface Yielding {
  /** Decoding sequences that do not yield to the first prompt. */
  readonly decoding: number;
  /** Tokens of the first prompts to which all decoding sequences yield. */
  readonly tokens: number;
}

export class Newcomers<S extends Progress & object> {
  private readonly records = new WeakMap<S, Record>();
  private count = 0;

  /** A sequence arrived. */
  add(sequence: S): void {
    this.records.set(sequence, { arrived: this.count++, began: 0, beganMs: 0 });
  }

  /** Prompt tokens that go before answers, and how many answers do not yield to further ones. */
  priority(step: StepSequences<S>): Yielding {
    const { decoding, prefilling, nowMs } = step;
    for (const sequence of decoding) this.begin(sequence, nowMs);
    let tokens = 0;
    for (const [index, prompt] of prefilling.entries()) {
      const steady = this.isNewcomer(prompt, step)
        ? decoding.filter((answer) => !this.yields(answer, prompt.sequence, nowMs)).length
        : decoding.length;
      if (steady > 0) return { decoding: index === 0 ? steady : decoding.length, tokens };
      tokens += prompt.gap;
    }
    return { decoding: decoding.length, tokens };
  }

  private begin(sequence: S, nowMs: number): void {
    const record = this.records.get(sequence);
    if (record === undefined || record.began > 0) return;
    record.began = this.count++;
    record.beganMs = nowMs;
  }

  private isNewcomer({ sequence, gap }: Prefilling<S>, { cost, ubatch }: StepSequences<S>): boolean {
    const { prefillTokenMs } = cost;
    const isShort = prefillTokenMs > 0 ? gap * prefillTokenMs <= PROMPT_MS_MAX : gap <= ubatch;
    return isShort && sequence.generated === 0;
  }

  private yields(answer: S, prompt: S, nowMs: number): boolean {
    const began = this.records.get(answer);
    const arrived = this.records.get(prompt)?.arrived ?? 0;
    return began !== undefined && arrived < began.began && nowMs - began.beganMs <= YIELD_MS_MAX;
  }
}
