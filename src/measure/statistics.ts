// Statistics of repeated runs: mean and deviation, steadiness, the best of several values.

import { itemAt } from "../core/assert.ts";
import type { Rate } from "../core/measure.ts";

/** Mean and sample standard deviation. At least one value. */
export function rateOf(values: readonly number[]): Rate {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, sd: 0 };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, sd: Math.sqrt(squares / (values.length - 1)) };
}

/** Spread above which runs say nothing, as a share of their mean. */
const SPREAD_MAX = 0.05;

/** Whether the speeds of some runs agree. */
export function isSteady(speeds: readonly number[]): boolean {
  const { mean, sd } = rateOf(speeds);
  return sd <= mean * SPREAD_MAX;
}

/** The upper one of an even number of values. At least one value. */
export function medianOf(values: readonly number[]): number {
  return itemAt(
    values.toSorted((a, b) => a - b),
    values.length >> 1,
  );
}

/**
 * The value with the best speed. Among values that are as good within noise: the preferred one, else the first.
 */
export function bestOf<T>(
  candidates: readonly (readonly [value: T, speed: number])[],
  preferred?: T,
): T | undefined {
  const best = Math.max(...candidates.map(([, speed]) => speed));
  const equals = candidates.filter(([, speed]) => speed >= best * (1 - NOISE));
  return (equals.find(([value]) => value === preferred) ?? equals[0])?.[0];
}

/** Relative difference of two speeds below which they count as equal. */
const NOISE = SPREAD_MAX;
