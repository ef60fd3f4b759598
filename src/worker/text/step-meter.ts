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
  private prefillTokens = 0;
  private decodeTokens = 0;
  private prefixQueries = 0;
  private prefixHits = 0;
  private prefixTokens = 0;
  private preemptions = 0;
  private closedThoughts = 0;
  private draftTokens = 0;
  private draftHits = 0;
  private readonly draftLengths = new Histogram(DRAFT_BUCKETS);
  private readonly draftAccepted = new Histogram(DRAFT_BUCKETS);
  private readonly rows = new Histogram(ROWS_BUCKETS);
  private readonly steps = new Histogram(STEP_BUCKETS);

  /** A step of `rows` tokens, `prefill` of them prompt tokens, that sampled `drawn` tokens. */
  stepped(ms: number, rows: number, prefill: number, drawn: number): void {
    this.prefillTokens += prefill;
    this.decodeTokens += drawn;
    this.rows.add(rows);
    this.steps.add(ms / 1000);
  }

  /** A sequence was admitted with a prefix hit of `cached` tokens. */
  admitted(cached: number): void {
    this.prefixQueries++;
    if (cached > 0) this.prefixHits++;
    this.prefixTokens += cached;
  }

  /** With each accepted draft token, one more token was generated. */
  drafted({ drafted, accepted }: DraftOutcome): void {
    this.draftTokens += drafted;
    this.draftHits += accepted;
    this.decodeTokens += accepted;
  }

  /** A sequence's draft was verified. */
  verified(length: number, accepted: number): void {
    this.draftLengths.add(length);
    this.draftAccepted.add(accepted);
  }

  preempted(sequences: number): void {
    this.preemptions += sequences;
  }

  thoughtClosed(): void {
    this.closedThoughts++;
  }

  counted(): Counted {
    const {
      prefillTokens,
      decodeTokens,
      prefixQueries,
      prefixHits,
      prefixTokens,
      preemptions,
      closedThoughts,
      draftTokens,
      draftHits,
    } = this;
    return {
      prefillTokens,
      decodeTokens,
      prefixQueries,
      prefixHits,
      prefixTokens,
      preemptions,
      closedThoughts,
      draftTokens,
      draftHits,
      draftLengths: this.draftLengths.data(),
      draftAccepted: this.draftAccepted.data(),
      rows: this.rows.data(),
      steps: this.steps.data(),
    };
  }
}
