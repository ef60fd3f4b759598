// What docs/sampling.md says of the stages, in the simplest form: a second implementation that knows nothing of the native one.

import type { DryParams, SamplingParams } from "../../src/core/sampling.ts";

/** Tokens that have been: those of the prompt, then those of the answer. */
export interface History {
  readonly prompt: readonly number[];
  readonly answer: readonly number[];
}

/** A stage: natural logarithms of weights in, the same out. −∞ drops a token. [vocabulary] */
export type Stage = (weights: Float64Array) => Float64Array;

/** Names of the stages, in the order in which they are applied. */
export const STAGES = ["bias", "penalties", "dry", "temperature", "top_k", "top_p", "min_p"] as const;
export type StageName = (typeof STAGES)[number];

function probabilities(weights: Float64Array): Float64Array {
  const most = weights.reduce((a, b) => Math.max(a, b));
  const powers = weights.map((weight) => Math.exp(weight - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

/** Token ids, likeliest first. */
function ranked(weights: Float64Array): number[] {
  return [...weights.keys()].toSorted((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0));
}

function keepOnly(weights: Float64Array, kept: ReadonlySet<number>): Float64Array {
  return weights.map((weight, id) => (kept.has(id) ? weight : Number.NEGATIVE_INFINITY));
}

/** How many of the last tokens stand before an earlier occurrence of `token`, at most. */
function repetition(history: readonly number[], token: number): number {
  let longest = 0;
  history.forEach((earlier, at) => {
    if (earlier !== token) return;
    let length = 0;
    while (length < at && history[at - 1 - length] === history[history.length - 1 - length]) length++;
    longest = Math.max(longest, length);
  });
  return longest;
}

function dryPenalty({ multiplier, base, allowedLength }: DryParams, length: number): number {
  return length < Math.max(1, allowedLength) ? 0 : multiplier * base ** (length - allowedLength);
}

function topP(weights: Float64Array, mass: number): Float64Array {
  const shares = probabilities(weights);
  const kept = new Set<number>();
  let sum = 0;
  for (const id of ranked(weights)) {
    if (sum >= mass) break;
    kept.add(id);
    sum += shares[id] ?? 0;
  }
  return keepOnly(weights, kept);
}

/** Every stage for these settings. Sequence breakers of DRY are left out. */
function stages(params: SamplingParams, { prompt, answer }: History): Record<StageName, Stage> {
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = params;
  const all = [...prompt, ...answer];
  const seen = new Set(all);
  const counts = new Map<number, number>();
  for (const token of answer) counts.set(token, (counts.get(token) ?? 0) + 1);
  const repeated = (weight: number): number =>
    weight > 0 ? weight / repetitionPenalty : weight * repetitionPenalty;
  return {
    bias: (weights) => {
      const out = weights.slice();
      for (const { token, bias } of params.logitBias) out[token] = (out[token] ?? 0) + bias;
      return out;
    },
    penalties: (weights) =>
      weights.map((weight, id) => {
        const count = counts.get(id) ?? 0;
        const punished = seen.has(id) ? repeated(weight) : weight;
        return punished - count * frequencyPenalty - (count > 0 ? presencePenalty : 0);
      }),
    dry: (weights) => weights.map((weight, id) => weight - dryPenalty(params.dry, repetition(all, id))),
    temperature: (weights) => weights.map((weight) => weight / params.temperature),
    top_k: (weights) =>
      params.topK === 0 ? weights : keepOnly(weights, new Set(ranked(weights).slice(0, params.topK))),
    top_p: (weights) => (params.topP === 1 ? weights : topP(weights, params.topP)),
    min_p: (weights) => {
      const least = weights.reduce((a, b) => Math.max(a, b)) + Math.log(params.minP);
      return weights.map((weight) => (weight < least ? Number.NEGATIVE_INFINITY : weight));
    },
  };
}

/** The distribution that is drawn from, [vocabulary]; `order` is for tests of what another one would give. */
export function drawnFrom(
  weights: Float64Array,
  params: SamplingParams,
  history: History,
  order: readonly StageName[] = STAGES,
): Float64Array {
  const all = stages(params, history);
  return probabilities(order.reduce((current, name) => all[name](current), weights));
}

/**
 * Pearson's statistic of counts against a distribution, in standard deviations of its own distribution above its mean: 4 is
 * a one in 10,000 event. Cells that expect fewer than 10 count as one; Infinity where something impossible was drawn.
 */
export function misfit(counts: Float64Array, expected: Float64Array, draws: number): number {
  let statistic = 0;
  let cells = 0;
  const rest = { wanted: 0, seen: 0 };
  const add = (wanted: number, seen: number): void => {
    statistic += (seen - wanted) ** 2 / wanted;
    cells++;
  };
  let impossible = 0;
  expected.forEach((share, id) => {
    const [wanted, seen] = [share * draws, counts[id] ?? 0];
    if (wanted === 0) impossible += seen;
    else if (wanted >= 10) add(wanted, seen);
    else [rest.wanted, rest.seen] = [rest.wanted + wanted, rest.seen + seen];
  });
  if (rest.wanted >= 10) add(rest.wanted, rest.seen);
  else impossible += rest.seen > 30 + 6 * rest.wanted ? rest.seen : 0;
  if (impossible > 0) return Number.POSITIVE_INFINITY;
  const freedom = Math.max(1, cells - 1);
  return (statistic - freedom) / Math.sqrt(2 * freedom);
}
