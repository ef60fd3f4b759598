// Steps that need nobody between them are done in one call: tiny models take a fraction of a millisecond for one, and what
// lies between two costs as much (docs/decisions/071).

import type { Backend } from "./backend.ts";
import type { Batch } from "./batch.ts";
import type { EngineSequence } from "./choice.ts";
import type { KvCache } from "./kv.ts";
import { isNear, type PlannedRows, type StepCost } from "./scheduler.ts";

/** Steps of one call at most: what ends in its first is computed on in vain. */
const STEPS_MAX = 8;

/** What the steps of one call have drawn. */
export interface StepsDone {
  readonly steps: number;
  /** [steps][sequences], until the next call. */
  readonly tokens: Int32Array;
}

export class StepsAhead {
  private readonly backend: Backend;
  private readonly ms: number;
  private readonly tokens: Int32Array; // [STEPS_MAX][maxSeqs] at most

  /** `ms`: how long nobody need be heard. */
  constructor(backend: Backend, ms: number) {
    this.backend = backend;
    this.ms = backend.reuse === "whole" ? 0 : ms; // what is computed in vain must be cut away again
    this.tokens = new Int32Array(STEPS_MAX * backend.maxSeqs);
  }

  /** How many steps these rows, which are all there is to do and for which nothing is guessed, may have at once. */
  count(rows: readonly PlannedRows<EngineSequence>[], cost: StepCost, freeCells: number): number {
    if (cost.decodeMs === 0 || cost.decodeMs * 2 > this.ms || !isNear(rows.length, cost.decodeRows)) return 1;
    let most = Math.min(STEPS_MAX, Math.floor(this.ms / cost.decodeMs), Math.floor(freeCells / rows.length));
    for (const { sequence } of rows) {
      if (most < 2 || !isPlain(sequence)) return 1;
      most = Math.min(most, sequence.owner.run.tokenCap - sequence.generated);
    }
    return most;
  }

  /**
   * Does up to `steps` steps for the batch's sequences, each of which has one row. The cache then has their tokens, of which
   * they know nothing yet: they must be taken in, step by step.
   */
  compute(steps: number, batch: Batch<EngineSequence>, kv: KvCache): StepsDone | "full" | "failed" {
    const { columns, count, samplers, drawn } = batch;
    const done = this.backend.decodeSteps(columns, count, samplers, steps, this.tokens);
    if (typeof done === "string") return done;
    for (const sequence of drawn) {
      kv.extend(sequence, 1);
      kv.extendBeyond(sequence, done - 1);
    }
    return { steps: done, tokens: this.tokens };
  }
}

/** Whether a token of the sequence and the next are drawn alike, and nothing is asked about them but what they are. */
function isPlain({ gap, generated, owner }: EngineSequence): boolean {
  const { guard, calls, run } = owner;
  const isFree = guard === undefined && calls === undefined;
  return isFree && gap === 1 && generated > 0 && run.request.logprobs === undefined;
}
