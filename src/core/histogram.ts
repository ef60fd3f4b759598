// Counts of values by size. As cheap as counting gets: it is done for every request and every step.

/** A histogram as plain data: counts[i] values up to bounds[i] and above the bound before, the last ones above all. */
import { itemAt } from "./assert.ts";
export interface HistogramData {
  readonly counts: readonly number[]; // [bounds + 1]
  readonly sum: number;
}

export class Histogram {
  private readonly bounds: readonly number[];
  private readonly counts: number[]; // [bounds + 1]
  private sum = 0;

  /** Upper bounds, rising; a value on a bound belongs to it. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  add(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > itemAt(this.bounds, bucket)) bucket++;
    this.counts[bucket] = itemAt(this.counts, bucket) + 1;
    this.sum += value;
  }

  data(): HistogramData {
    return { counts: [...this.counts], sum: this.sum };
  }
}

/** Sums of several histograms over the same bounds. */
export function joinHistograms(all: readonly HistogramData[], bounds: readonly number[]): HistogramData {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  for (const one of all) one.counts.forEach((count, i) => (counts[i] = itemAt(counts, i) + count));
  return { counts, sum: all.reduce((total, { sum }) => total + sum, 0) };
}

/** Number of values. */
export function countOf({ counts }: HistogramData): number {
  return counts.reduce((total, count) => total + count, 0);
}
