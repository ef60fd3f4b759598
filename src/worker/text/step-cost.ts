// Running averages of what steps cost, and what follows from them: prefill chunk and draft length. Pure.

/** Running averages of what steps cost, from which the prefill chunk is chosen. */
export interface StepCost {
  /** A step of decode rows alone, milliseconds; 0 while unknown. */
  readonly decodeMs: number;
  /** Rows of the last such step; 0 while unknown. */
  readonly decodeRows: number;
  /** Each prefill token on top of that, milliseconds; 0 while unknown. */
  readonly prefillTokenMs: number;
  /** Each guessed token on top of a step of decode rows, milliseconds; 0 while unknown. */
  readonly draftTokenMs: number;
}

export const UNKNOWN_COST: StepCost = { decodeMs: 0, decodeRows: 0, prefillTokenMs: 0, draftTokenMs: 0 };

/** A new measurement weighs this much. */
const COST_WEIGHT = 0.2;

/** Steps differ where one has so many times the other's rows. */
const NEAR_ROWS = 1.5;

/** One of so many steps in which sequences decode is theirs alone; more often where their number has changed. */
const ALONE_EVERY = 16;
const ALONE_EVERY_CHANGED = 4;

/** A price before any guess was measured, and the least that a guess is taken to cost: 0 would mean unknown. */
const DRAFT_COST_RATIO_UNKNOWN = 0.5;
const DRAFT_MS_MIN = 1e-6;

function blend(old: number, value: number): number {
  return old === 0 ? value : old + COST_WEIGHT * (value - old);
}

/** A busy machine makes steps longer, never shorter: what is low is believed sooner. */
function blendLow(old: number, value: number): number {
  return value < old ? (old + value) / 2 : blend(old, value);
}

/** Takes one measured step of decode rows and guessed tokens into the averages. */
export function measuredDraft(cost: StepCost, stepMs: number, drafted: number): StepCost {
  const ms = Math.max(DRAFT_MS_MIN, Math.min(cost.decodeMs, (stepMs - cost.decodeMs) / drafted));
  return { ...cost, draftTokenMs: blendLow(cost.draftTokenMs, ms) };
}

/** What a guessed token costs as a share of the step that it saves one of `decoding` sequences if it is right. */
export function draftCostRatio(cost: StepCost, decoding: number): number {
  if (cost.draftTokenMs === 0) return DRAFT_COST_RATIO_UNKNOWN;
  return (cost.draftTokenMs * decoding) / cost.decodeMs;
}

/** Takes one measured step without guesses into the averages. */
export function measured(
  cost: StepCost,
  stepMs: number,
  decodeRows: number,
  prefillTokens: number,
): StepCost {
  if (prefillTokens === 0) {
    if (decodeRows === 0) return cost;
    const isLike = isNear(decodeRows, cost.decodeRows);
    return { ...cost, decodeRows, decodeMs: isLike ? blendLow(cost.decodeMs, stepMs) : stepMs };
  }
  const base = decodeRows > 0 ? Math.min(cost.decodeMs, stepMs) : 0;
  return { ...cost, prefillTokenMs: blend(cost.prefillTokenMs, (stepMs - base) / prefillTokens) };
}

/** Whether a step of so many rows costs about as much as one of so many others. */
export function isNear(rows: number, others: number): boolean {
  return Math.max(rows, others) < NEAR_ROWS * Math.min(rows, others);
}

/**
 * Whether the sequences that decode should go without prompts in this step, the one after so many in which there were such,
 * so that it is known what they cost alone: that grows with their contexts and their number.
 */
export function shouldDecodeAlone(cost: StepCost, decoding: number, steps: number): boolean {
  if (decoding === 0) return false;
  const every = isNear(decoding, cost.decodeRows) ? ALONE_EVERY : ALONE_EVERY_CHANGED;
  return steps % every === every - 1;
}

/** Prefill may lengthen a step by as much as decode takes anyway, but never by less than this. */
const CHUNK_MS_MIN = 20;
const CHUNK_TOKENS_MIN = 2;

/**
 * Prefill tokens of a step in which others decode, within [2, ubatch]: about as long as the decode itself, or longer in
 * the proportion in which more sequences wait for their prompt than for their next token.
 */
export function prefillChunk(cost: StepCost, ubatch: number, decoding: number, prefilling: number): number {
  if (cost.prefillTokenMs <= 0) return Math.min(64, ubatch);
  const share = Math.max(1, prefilling / Math.max(1, decoding));
  const tokens = Math.floor((Math.max(CHUNK_MS_MIN, cost.decodeMs) * share) / cost.prefillTokenMs);
  return Math.max(Math.min(CHUNK_TOKENS_MIN, ubatch), Math.min(ubatch, tokens));
}
