// Holds answers against the reference's scores of the same tokens.

import type { Answered, Drawn, ReferenceScores, Scenario, Scored, SubjectReport } from "./report.ts";

/**
 * Largest difference of a log probability that passes for rounding, in nats. Keys and values of half precision round to about
 * 1e-3 of their size, and the fixtures' logits have a standard deviation of 6.
 */
export const TOLERANCE = 0.1;
/**
 * Of a mixture's tokens so many may lie outside: where two experts are about equally likely, rounding decides between them,
 * and what follows differs. Where our own answer to the prompt alone differs in the same way, the company is not to blame.
 */
const TIES_MAX = 0.1;
const TIES_UNEXPLAINED_MAX = 0.02;

export interface Verdict {
  readonly tokens: number;
  /** Largest difference within the tolerance, nats. */
  readonly rounding: number;
  /** Tokens outside of it. */
  readonly outside: number;
  /** Those of them that our answer to the prompt alone has too. */
  readonly explained: number;
  readonly passed: boolean;
}

/** Largest difference between a drawn token's log probabilities and the reference's; that of a greedy choice that is none, too. */
function difference(drawn: Drawn, scored: Scored): number {
  const ours = [drawn.logprob, ...drawn.top.map(([, logprob]) => logprob)];
  const lost = scored.bestLogprob - (scored.logprobs[0] ?? Number.NEGATIVE_INFINITY);
  const differences = ours.map((logprob, index) => Math.abs(logprob - (scored.logprobs[index] ?? 0)));
  const worst = Math.max(lost, ...differences);
  return Number.isNaN(worst) ? Number.POSITIVE_INFINITY : worst;
}

/** The same for two answers of ours; they agree as far as their tokens are the same. */
function ownDifference(drawn: Drawn, alone: Drawn | undefined): number {
  if (alone?.token !== drawn.token) return Number.POSITIVE_INFINITY;
  return Math.abs(drawn.logprob - alone.logprob);
}

/** `scores` [answers][tokens]: those of the scenario's answers. `mixture`: the model routes to experts. */
export function judge(
  { answers }: Scenario,
  scores: ReferenceScores,
  alone: readonly Answered[],
  mixture: boolean,
): Verdict {
  let tokens = 0;
  let rounding = 0;
  let outside = 0;
  let explained = 0;
  answers.forEach((answer, index) => {
    const key = answer.prompt.join(" ");
    const counterpart = alone.find(({ prompt }) => prompt.join(" ") === key);
    answer.tokens.forEach((drawn, place) => {
      const scored = scores[index]?.[place];
      const worst = scored === undefined ? Number.POSITIVE_INFINITY : difference(drawn, scored);
      tokens++;
      if (worst <= TOLERANCE) {
        rounding = Math.max(rounding, worst);
        return;
      }
      outside++;
      if (ownDifference(drawn, counterpart?.tokens[place]) <= TOLERANCE) explained++;
    });
  });
  const few = outside <= TIES_MAX * tokens && outside - explained <= TIES_UNEXPLAINED_MAX * tokens;
  const passed = tokens > 0 && (outside === 0 || (mixture && few));
  return { tokens, rounding, outside, explained, passed };
}

/** Largest 1 − cosine that passes for rounding. */
export const COSINE_TOLERANCE = 1e-4;

type Vectors = readonly (readonly number[])[];

/** Largest 1 − cosine between vectors at the same place; Infinity where one is missing. */
export function apart(ours: Vectors, theirs: Vectors): number {
  if (ours.length === 0 || ours.length !== theirs.length) return Number.POSITIVE_INFINITY;
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  const all = ours.map((vector, index) => {
    const other = theirs[index] ?? [];
    return 1 - dot(vector, other) / Math.sqrt(dot(vector, vector) * dot(other, other));
  });
  const most = Math.max(...all.map(Math.abs));
  return Number.isNaN(most) ? Number.POSITIVE_INFINITY : most;
}

/** All answers of a report in the order in which the reference scores them. */
export function answersOf(scenarios: SubjectReport["scenarios"]): Answered[] {
  return Object.values(scenarios).flatMap(({ answers }) => answers);
}
