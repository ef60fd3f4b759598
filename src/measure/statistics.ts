// From the speeds of single runs to a mean and its deviation.

import type { Rate } from "../core/measure.ts";

/** Mean and sample standard deviation. At least one value. */
export function rateOf(values: readonly number[]): Rate {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, sd: 0 };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, sd: Math.sqrt(squares / (values.length - 1)) };
}

/** The first value whose speed is as good as the best one's, but for noise. */
export function firstOfBest<T>(candidates: readonly (readonly [value: T, speed: number])[]): T | undefined {
  const best = Math.max(...candidates.map(([, speed]) => speed));
  return candidates.find(([, speed]) => speed >= best * (1 - NOISE))?.[0];
}

/** Differences below this share of the speed say nothing. */
const NOISE = 0.03;
