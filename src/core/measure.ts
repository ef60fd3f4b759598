// Results of `svc bench` and `svc tune`.

/** Goal if settings conflict. */
export const TUNE_PROFILES = ["quality", "balanced", "fast"] as const;
export type TuneProfile = (typeof TUNE_PROFILES)[number];

/** Tokens a second over several runs. */
export interface Rate {
  readonly mean: number;
  /** Standard deviation of the runs; 0 for a single one. */
  readonly sd: number;
}

/** One line of a bench. */
export interface BenchRow {
  /** prompt: tokens are read; answer: they are written. */
  readonly test: "prompt" | "answer";
  /** Tokens of each sequence. */
  readonly tokens: number;
  /** Tokens of each sequence that are in the cache before. */
  readonly depth: number;
  /** Sequences at the same time. */
  readonly concurrency: number;
  readonly repetitions: number;
  /** Whether the runs agree; false: the machine was too busy to tell. */
  readonly steady: boolean;
  /** Of all sequences together, over the fastest runs. */
  readonly tokens_per_second: Rate;
}

/** One line of a tuning: a setting at a value, and how fast the model was with it. */
export interface TuneMeasurement {
  readonly setting: "threads" | "ubatch" | "max_seqs";
  readonly value: number;
  /** Reading prompts; null where the setting does not concern it. */
  readonly prompt_tokens_per_second: Rate | null;
  /** Writing answers, all sequences together. */
  readonly answer_tokens_per_second: Rate | null;
}

/** Names as in `[runtime]` of a configuration. */
export interface RecommendedSettings {
  readonly threads: number;
  readonly threads_batch: number;
  readonly ubatch: number;
  readonly max_seqs: number;
}

export interface TuneReport {
  readonly model_id: string;
  readonly profile: TuneProfile;
  readonly measurements: readonly TuneMeasurement[];
  readonly recommended: RecommendedSettings;
  /** The same as lines of a configuration, without undecided settings. */
  readonly toml: string;
  /** Settings whose runs did not agree, because the machine was too busy: their present values are kept. */
  readonly undecided: readonly (keyof RecommendedSettings)[];
  /** False when time ran out before everything was measured. */
  readonly complete: boolean;
  /** True when requests were answered meanwhile, which makes the numbers too low. */
  readonly disturbed: boolean;
}
