// Interface of the decode modes: a step's calls, and the parts of the engine that modes work on.

import type { Backend, DecodeOutcome } from "../backend.ts";
import type { Batch } from "../batch.ts";
import type { EngineSequence } from "../choice.ts";
import type { ConstraintBackend } from "../constraint-backend.ts";
import type { KvCache } from "../kv.ts";
import type { MediaStore } from "../media.ts";
import type { PromptEcho } from "../prompt-echo.ts";
import type { PlannedRows } from "../scheduler.ts";
import type { StepCost } from "../step-cost.ts";
import type { StepMeter } from "../step-meter.ts";
import type { DraftBalance } from "./draft-balance.ts";
import type { LookGain } from "./look-gain.ts";

/** Appends a sampled token to its sequence, which may end it; `row` has the token's logits. */
export type TakeToken = (sequence: EngineSequence, token: number, row: number, nowMs: number) => void;

/** The engine as its decode modes see it. */
export interface DecodeContext {
  readonly backend: Backend;
  readonly constraints: () => ConstraintBackend;
  readonly batch: Batch<EngineSequence>;
  readonly kv: KvCache;
  readonly media: MediaStore;
  readonly echo: PromptEcho;
  readonly meter: StepMeter;
  /** Each mode reports its steps. */
  readonly balance: DraftBalance;
  /** Modes report steps in which grammars may apply. */
  readonly looks: LookGain;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly takeToken: TakeToken;
  /** Appends a token whose text can wait until `tellToken`; false: it cannot, and nothing was done. */
  readonly takeUntold: (sequence: EngineSequence, token: number, nowMs: number) => boolean;
  readonly tellToken: (sequence: EngineSequence, token: number, nowMs: number) => void;
  /** Measured by each mode for its own steps. */
  cost: StepCost;
}

/** What a mode computes in one call. */
export interface DecodeStep {
  readonly rows: readonly PlannedRows<EngineSequence>[];
  /** When the step began, monotonic milliseconds. */
  readonly startMs: number;
  /** Each row is the next token of a running sequence, and the engine has no other work. */
  readonly isDecodingOnly: boolean;
}

/** One way to compute a step. The engine asks its modes in order; the first that suits the rows computes them. */
export interface DecodeMode {
  /** undefined: this mode does not suit the rows, and nothing was computed. */
  decode(step: DecodeStep): DecodeOutcome | undefined;
}
