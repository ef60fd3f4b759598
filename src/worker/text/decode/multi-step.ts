// Multi-step decode: several steps in one native call. For tiny models a step takes a fraction of a millisecond, and the
// work between two steps costs as much. As many steps as fit a millisecond, and none where a decision is needed between two tokens.

import { assert } from "../../../core/assert.ts";
import type { DecodeOutcome } from "../backend.ts";
import type { EngineSequence } from "../choice.ts";
import type { PlannedRows } from "../scheduler.ts";
import { isNear, measured } from "../step-cost.ts";
import type { DecodeContext, DecodeMode, DecodeStep } from "./mode.ts";

/** Maximum steps of one call. A sequence that ends in the first wastes its rows of the others. */
const STEPS_MAX = 8;

export class MultiStepDecode implements DecodeMode {
  private readonly context: DecodeContext;
  private readonly maxMs: number;
  private readonly tokens: Int32Array; // [≤ STEPS_MAX][≤ maxSeqs], of the last call

  /** `maxMs`: how long the engine may go without reading messages, milliseconds; 0 disables this mode. */
  constructor(context: DecodeContext, maxMs: number) {
    const { reuse, maxSeqs } = context.backend;
    this.context = context;
    this.maxMs = reuse === "whole" ? 0 : maxMs; // tokens computed after an answer's end must be truncated
    this.tokens = new Int32Array(STEPS_MAX * maxSeqs);
  }

  decode({ rows, startMs, isDecodingOnly }: DecodeStep): DecodeOutcome | undefined {
    const { context, tokens } = this;
    const { backend, batch, meter } = context;
    const stepsMax = isDecodingOnly ? this.stepsFor(rows) : 1;
    if (stepsMax < 2) return undefined;
    batch.fill(rows);
    const { columns, count, samplers, drawn } = batch;
    const steps = backend.decodeSteps(columns, count, samplers, stepsMax, tokens);
    if (typeof steps === "string") return steps;
    for (const sequence of drawn) {
      context.kv.extend(sequence, 1);
      context.kv.extendBeyond(sequence, steps - 1);
    }
    const nowMs = context.now();
    const ms = (nowMs - startMs) / steps;
    context.cost = measured(context.cost, context.balance.stepped(nowMs - startMs) / steps, count, 0);
    for (let step = 0; step < steps; step++) {
      meter.stepped(ms, count, 0, count);
      drawn.forEach((sequence, i) => {
        const token = tokens[step * count + i];
        assert(token !== undefined, "each step samples a token of each sequence");
        if (step > 0 && sequence.slot !== undefined) sequence.computed++;
        context.takeToken(sequence, token, 0, nowMs);
      });
    }
    return "done";
  }

  /** Steps that these rows can take in one call. */
  private stepsFor(rows: readonly PlannedRows<EngineSequence>[]): number {
    const { cost, kv } = this.context;
    if (cost.decodeMs === 0 || cost.decodeMs * 2 > this.maxMs || !isNear(rows.length, cost.decodeRows))
      return 1;
    const perTime = Math.floor(this.maxMs / cost.decodeMs);
    let max = Math.min(STEPS_MAX, perTime, Math.floor(kv.freeCells / rows.length));
    for (const { sequence } of rows) {
      if (max < 2 || !isUnconstrained(sequence)) return 1;
      const { run, output, thinkingLimit } = sequence.owner;
      max = Math.min(max, run.tokenCap - sequence.generated);
      if (thinkingLimit !== undefined)
        max = Math.min(max, thinkingLimit.untilDue(output, sequence.generated));
    }
    return max;
  }
}

/** Whether the next tokens are sampled alike, without a grammar and without log probabilities. */
function isUnconstrained({ gap, generated, owner }: EngineSequence): boolean {
  const { guard, calls, run } = owner;
  const isFree = guard === undefined && calls === undefined;
  const isUnscored = run.request.logprobs === undefined && owner.fingerprint === undefined;
  return isFree && gap === 1 && generated > 0 && isUnscored;
}
