// Running averages of step costs, and the prefill chunk and draft length that follow from them. Pure.

/** Running averages of what steps cost, from which the prefill chunk is chosen. */
export interface StepCost {
  /** A step of decode rows alone, milliseconds; 0 while unknown. */
  readonly decodeMs: number;
  /** Rows of the last decode-only step; 0 while unknown. */
  readonly decodeRows: number;
  /** Each prefill token on top of that, milliseconds; 0 while unknown. */
  readonly prefillTokenMs: number;
  /** Each draft token on top of a step of decode rows, milliseconds; 0 while unknown. */
  readonly draftTokenMs: number;
}

export const UNKNOWN_COST: StepCost = { decodeMs: 0, decodeRows: 0, prefillTokenMs: 0, draftTokenMs: 0 };

/** Weight of a new measurement. */
const COST_WEIGHT = 0.2;

/** Row-count ratio above which two steps have different costs. */
const NEAR_ROWS = 1.5;

/** Every n-th step with decode rows has no prefill, to measure its cost; more often after their number has changed. */
const ALONE_EVERY = 16;
const ALONE_EVERY_CHANGED = 4;

/** The cost ratio before a draft was measured, and the minimum cost of a draft token: 0 would mean unknown. */
const DRAFT_COST_RATIO_UNKNOWN = 0.5;
const DRAFT_MS_MIN = 1e-6;

function blend(old: number, value: number): number {
  return old === 0 ? value : old + COST_WEIGHT * (value - old);
}

/** A busy machine makes steps longer, never shorter, so low values weigh more. */
function blendLow(old: number, value: number): number {
  return value < old ? (old + value) / 2 : blend(old, value);
}

/** Adds a measured step of decode rows and draft tokens. */
export function measuredDraft(cost: StepCost, stepMs: number, drafted: number): StepCost {
  const ms = Math.max(DRAFT_MS_MIN, Math.min(cost.decodeMs, (stepMs - cost.decodeMs) / drafted));
  return { ...cost, draftTokenMs: blendLow(cost.draftTokenMs, ms) };
}

/** Cost of a draft token as a share of the step that it saves one of `decoding` sequences when accepted. */
export function draftCostRatio(cost: StepCost, decoding: number): number {
  if (cost.draftTokenMs === 0) return DRAFT_COST_RATIO_UNKNOWN;
  return (cost.draftTokenMs * decoding) / cost.decodeMs;
}

/** Adds a measured step without draft tokens. */
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

/** Whether steps of these row counts cost about the same. */
export function isNear(rows: number, others: number): boolean {
  return Math.max(rows, others) < NEAR_ROWS * Math.min(rows, others);
}

/**
 * Whether step number `steps` should have decode rows only, to measure their cost, which grows with context lengths and
 * with the number of sequences.
 */
export function shouldDecodeAlone(cost: StepCost, decoding: number, steps: number): boolean {
  if (decoding === 0) return false;
  const every = isNear(decoding, cost.decodeRows) ? ALONE_EVERY : ALONE_EVERY_CHANGED;
  return steps % every === every - 1;
}

/** Prefill beside decode rows may always take this long, milliseconds. */
const CHUNK_MS_MIN = 20;
const CHUNK_TOKENS_MIN = 2;

/** By default prefill doubles the duration of a decode step. */
export const PREFILL_SHARE = 0.5;

/** Eligible sequences that wait for a token and for a prompt, and the part of a step that prefill takes. */
export interface PrefillLoad {
  readonly decoding: number;
  readonly prefilling: number;
  readonly prefillShare: number;
}

/**
 * The prefill chunk: prompt tokens of a step in which others decode, within [2, ubatch]. It takes its share of the step's
 * time, or longer in the ratio of prefilling to decoding sequences.
 */
export function prefillChunk(cost: StepCost, ubatch: number, load: PrefillLoad): number {
  const { decoding, prefilling, prefillShare } = load;
  if (prefillShare >= 1) return ubatch;
  if (cost.prefillTokenMs <= 0) return Math.min(64, ubatch);
  const more = Math.max(1, prefilling / Math.max(1, decoding));
  const ms = (Math.max(CHUNK_MS_MIN, cost.decodeMs) * more * prefillShare) / (1 - prefillShare);
  const tokens = Math.floor(ms / cost.prefillTokenMs);
  return Math.max(Math.min(CHUNK_TOKENS_MIN, ubatch), Math.min(ubatch, tokens));
}
