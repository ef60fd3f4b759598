// Small statistics over measured values. Pure.

/** Nearest-rank quantile, `p` in [0, 1]; NaN for no values. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN;
}

/** Median, the mean of the middle two for an even count; NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (upper + lower) / 2;
}

/** How two interleaved series compare: the median of the pairs' quotients, and the extremes. */
export interface Ratio {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Quotients of paired values. Pairs run back to back, so slow drift of the machine cancels. */
export function pairRatio(left: readonly number[], right: readonly number[]): Ratio {
  const quotients = left.map((value, index) => value / (right[index] ?? Number.NaN));
  return { median: median(quotients), min: Math.min(...quotients), max: Math.max(...quotients) };
}
