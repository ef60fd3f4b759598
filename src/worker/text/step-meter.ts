// Counters and histograms of the engine's steps. Only adds; formats and sends nothing.

import { Histogram } from "../../core/histogram.ts";
import { DRAFT_BUCKETS, type EngineStats, ROWS_BUCKETS, STEP_BUCKETS } from "../../core/telemetry.ts";

/** Draft tokens of a step, and how many were accepted. */
export interface DraftOutcome {
  readonly drafted: number;
  readonly accepted: number;
}

/** The monotonic part of the statistics. */
export type Counted = Pick<
  EngineStats,
  | "prefillTokens"
  | "decodeTokens"
  | "prefixQueries"
  | "prefixHits"
  | "prefixTokens"
  | "preemptions"
  | "closedThoughts"
  | "draftTokens"
  | "draftHits"
  | "draftLengths"
  | "draftAccepted"
  | "rows"
  | "steps"
>;

export class StepMeter {
  private readonly counts = {
    prefillTokens: 0,
    decodeTokens: 0,
    prefixQueries: 0,
    prefixHits: 0,
    prefixTokens: 0,
    preemptions: 0,
    closedThoughts: 0,
    draftTokens: 0,
    draftHits: 0,
  };
  private readonly draftLengths = new Histogram(DRAFT_BUCKETS);
  private readonly draftAccepted = new Histogram(DRAFT_BUCKETS);
  private readonly rows = new Histogram(ROWS_BUCKETS);
  private readonly steps = new Histogram(STEP_BUCKETS);

  /** A step of `rows` tokens, `prefill` of them prompt tokens, that sampled `drawn` tokens. */
  stepped(ms: number, rows: number, prefill: number, drawn: number): void {
    this.counts.prefillTokens += prefill;
    this.counts.decodeTokens += drawn;
    this.rows.add(rows);
    this.steps.add(ms / 1000);
  }

  /** A sequence was admitted with a prefix hit of `cached` tokens. */
  admitted(cached: number): void {
    this.counts.prefixQueries++;
    if (cached > 0) this.counts.prefixHits++;
    this.counts.prefixTokens += cached;
  }

  /** With each accepted draft token, one more token was generated. */
  drafted({ drafted, accepted }: DraftOutcome): void {
    this.counts.draftTokens += drafted;
    this.counts.draftHits += accepted;
    this.counts.decodeTokens += accepted;
  }

  /** A sequence's draft was verified. */
  verified(length: number, accepted: number): void {
    this.draftLengths.add(length);
    this.draftAccepted.add(accepted);
  }

  preempted(sequences: number): void {
    this.counts.preemptions += sequences;
  }

  thoughtClosed(): void {
    this.counts.closedThoughts++;
  }

  counted(): Counted {
    return {
      ...this.counts,
      draftLengths: this.draftLengths.data(),
      draftAccepted: this.draftAccepted.data(),
      rows: this.rows.data(),
      steps: this.steps.data(),
    };
  }
}
