// How the next token is drawn. Values are validated by the dialects' schemas; ranges are repeated there.

import { defined } from "./defined.ts";
import type { Preset } from "./preset.ts";

/** Don't Repeat Yourself: punishes tokens that would lengthen a repetition of what is already there. */
export interface DryParams {
  /** Strength; 0 switches it off. */
  readonly multiplier: number;
  /** The penalty is multiplier × base^(length − allowedLength). */
  readonly base: number;
  /** Repetitions up to this length, in tokens, are free. */
  readonly allowedLength: number;
  /** Strings over which no repetition is counted. */
  readonly sequenceBreakers: readonly string[];
}

/** Adds `bias` to one token's logit. −100 and below bans it, 100 and above forces it. */
export interface LogitBias {
  readonly token: number;
  readonly bias: number;
}

/** Sampling settings of one run. A neutral value switches its stage off. The stages come in this order. */
export interface SamplingParams {
  readonly logitBias: readonly LogitBias[];
  /** Divides (multiplies, if negative) logits of tokens in prompt or answer; 1 is off. Range > 0. */
  readonly repetitionPenalty: number;
  /** Subtracted once for each occurrence of a token in the answer; 0 is off. Range −2..2. */
  readonly frequencyPenalty: number;
  /** Subtracted if a token is in the answer at all; 0 is off. Range −2..2. */
  readonly presencePenalty: number;
  readonly dry: DryParams;
  /** Divides the logits before the cuts below; 0 picks the most likely token. Range 0..2. */
  readonly temperature: number;
  /** Hard cap on candidates; 0 is off. */
  readonly topK: number;
  /** Nucleus: smallest set of tokens whose probabilities reach this sum. Range (0, 1]; 1 is off. */
  readonly topP: number;
  /** Drops tokens less likely than this share of the most likely one. Range 0..1; 0 is off. */
  readonly minP: number;
  /** Start of the run's random stream; absent means a fresh one. Each choice derives its own from it. */
  readonly seed?: number;
}

export const DEFAULT_DRY: DryParams = {
  multiplier: 0,
  base: 1.75,
  allowedLength: 2,
  sequenceBreakers: ["\n", ":", '"', "*"],
};

/** The sampling that a preset asks for; absent keys are left to others. */
export function presetSampling(preset: Preset): Partial<SamplingParams> {
  return defined({
    temperature: preset.temperature,
    topP: preset.top_p,
    topK: preset.top_k,
    minP: preset.min_p,
    presencePenalty: preset.presence_penalty,
    frequencyPenalty: preset.frequency_penalty,
    repetitionPenalty: preset.repetition_penalty,
  });
}

export const DEFAULT_SAMPLING: SamplingParams = {
  logitBias: [],
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  dry: DEFAULT_DRY,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
};
