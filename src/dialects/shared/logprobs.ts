// Log probabilities on the wire.

/** What the base dialect sends for a token that is as good as impossible; JSON has no minus infinity. */
const LOGPROB_MIN = -9999;

/** A log probability as JSON can hold it. */
export function wireLogprob(logprob: number): number {
  return Math.max(logprob, LOGPROB_MIN);
}
