// How the next token is drawn. Values are validated by the dialects' schemas; ranges are repeated there.

/** Sampling settings of one run. A neutral value switches its stage off. */
export interface SamplingParams {
  /** Divides the logits before everything else; 0 picks the most likely token. Range 0..2. */
  readonly temperature: number;
  /** Nucleus: smallest set of tokens whose probabilities reach this sum. Range (0, 1]; 1 is off. */
  readonly topP: number;
  /** Hard cap on candidates; 0 is off. */
  readonly topK: number;
  /** Drops tokens less likely than this share of the most likely one. Range 0..1; 0 is off. */
  readonly minP: number;
  /** Start of the run's random stream; absent means a fresh one. Each choice derives its own from it. */
  readonly seed?: number;
}

export const DEFAULT_SAMPLING: SamplingParams = { temperature: 1, topP: 1, topK: 0, minP: 0 };
