// Plain decode: one pass over prefill and decode rows, one token for each sequence that has its prompt computed. Suits
// every step.

import { assert } from "../../../core/assert.ts";
import type { DecodeOutcome } from "../backend.ts";
import { measured } from "../step-cost.ts";
import type { DecodeContext, DecodeMode, DecodeStep } from "./mode.ts";
import { tokenPass } from "./token-pass.ts";

export class PlainDecode implements DecodeMode {
  private readonly context: DecodeContext;

  constructor(context: DecodeContext) {
    this.context = context;
  }

  decode({ rows, startMs }: DecodeStep): DecodeOutcome {
    const { context } = this;
    const result = tokenPass(context, rows);
    if (typeof result === "string") return result;
    const { prefillTokens, continued } = result;
    const { count, drawn, batchRows, tokens } = context.batch;
    const nowMs = context.now();
    const ms = nowMs - startMs;
    const ownMs = context.balance.stepped(ms);
    const stepMs = prefillTokens === 0 ? ownMs : ms; // what a step without a draft model takes
    context.cost = measured(context.cost, stepMs, count - prefillTokens, prefillTokens);
    context.meter.stepped(ms, count, count - continued, drawn.length);
    drawn.forEach((sequence, i) => {
      const token = tokens[i];
      const row = batchRows[i];
      assert(token !== undefined && row !== undefined, "the batch has a row for each sampled sequence");
      context.takeToken(sequence, token, row, nowMs);
    });
    return "done";
  }
}
