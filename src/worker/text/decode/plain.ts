// Plain decode: one pass over prefill and decode rows, one token for each sequence that has its prompt computed. Suits
// every step.
//
// Where a device computes, a pass goes on after the call that begins it. The engine returns to its messages meanwhile, and a step
// begins with the end of the pass before: its tokens are drawn and appended, the next pass begins, and only then their texts are passed on.

import { assert, itemAt } from "../../../core/assert.ts";
import type { DecodeOutcome } from "../backend.ts";
import type { EngineSequence } from "../choice.ts";
import { measured } from "../step-cost.ts";
import type { DecodeContext, DecodeMode, DecodeStep } from "./mode.ts";
import { beginPass, samplePass, type TokenPassResult } from "./token-pass.ts";

/** A pass whose tokens are not drawn yet. */
interface Pass extends TokenPassResult {
  /** When its step began, monotonic milliseconds. */
  readonly startMs: number;
}

/** A token that its sequence has, and its answer does not yet. */
interface Untold {
  readonly sequence: EngineSequence;
  readonly token: number;
  readonly drawnMs: number;
}

export class PlainDecode implements DecodeMode {
  private readonly context: DecodeContext;
  private readonly goesOn: boolean;
  /** Where memory cannot be truncated, a prefix that is kept must not have the token that ended an answer. */
  private readonly textsWait: boolean;
  private pass: Pass | undefined;
  /** Whether nothing was drawn from the pass before, so that the next one waits for it. */
  private isQueued = false;
  private untold: Untold[] = [];

  constructor(context: DecodeContext) {
    this.context = context;
    const { goesOn, reuse } = context.backend;
    this.goesOn = goesOn === true;
    this.textsWait = this.goesOn && reuse !== "whole";
  }

  decode({ rows, startMs }: DecodeStep): DecodeOutcome {
    assert(this.pass === undefined, "a pass ends before the next one begins");
    const begun = beginPass(this.context, rows, this.goesOn ? () => this.tell() : undefined);
    if (typeof begun === "string") {
      this.tell();
      return begun;
    }
    this.pass = { ...begun, startMs };
    if (!this.goesOn) this.end();
    return "done";
  }

  /** Waits for the pass that goes on, if one does, and takes its tokens. */
  end(): void {
    const { context, pass } = this;
    if (pass === undefined) return;
    this.pass = undefined;
    const { batch } = context;
    // A sequence may have ended since, or have got tokens that are no longer drawn.
    if (this.goesOn) batch.dropDrawn(({ slot, gap }) => slot === undefined || gap > 0);
    samplePass(context);
    const nowMs = context.now();
    const ms = nowMs - pass.startMs;
    const ownMs = context.balance.stepped(ms);
    context.looks.stepped(ms);
    const { prefillTokens, continued } = pass;
    const stepMs = prefillTokens === 0 ? ownMs : ms; // what a step without a draft model takes
    const isQueued = this.goesOn && batch.drawn.length === 0;
    // The time of a pass that is waited for alone, or that of the one before by this one.
    if (!this.goesOn || isQueued === this.isQueued)
      context.cost = measured(context.cost, stepMs, batch.count - prefillTokens, prefillTokens);
    this.isQueued = isQueued;
    context.meter.stepped(ms, batch.count, batch.count - continued, batch.drawn.length);
    batch.drawn.forEach((sequence, i) => this.take(sequence, i, nowMs));
  }

  private take(sequence: EngineSequence, i: number, drawnMs: number): void {
    const { batch, takeToken, takeUntold } = this.context;
    const token = itemAt(batch.tokens, i);
    if (this.textsWait && takeUntold(sequence, token, drawnMs))
      this.untold.push({ sequence, token, drawnMs });
    else takeToken(sequence, token, itemAt(batch.batchRows, i), drawnMs);
  }

  /** Passes on what was drawn before. It may end sequences. */
  tell(): void {
    const { untold } = this;
    if (untold.length === 0) return;
    this.untold = [];
    for (const { sequence, token, drawnMs } of untold) this.context.tellToken(sequence, token, drawnMs);
  }
}
