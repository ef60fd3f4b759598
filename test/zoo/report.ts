// What the processes of the architecture suite tell each other.

/** A drawn token and the most likely ones at its place, best first, with natural logarithms of their probabilities. */
export interface Drawn {
  readonly token: number;
  readonly logprob: number;
  readonly top: readonly (readonly [token: number, logprob: number])[];
}

export interface Answered {
  readonly prompt: readonly number[];
  readonly tokens: readonly Drawn[];
}

/** What was answered in a situation. */
export interface Scenario {
  readonly answers: readonly Answered[];
  /** How often what the situation is about has happened: cached tokens, preemptions, draft tokens. */
  readonly count: number;
}

export const SCENARIOS = ["alone", "together", "preempted", "reuse", "drafted"] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface SubjectReport {
  readonly path: string;
  /** Sequences that may run at once. */
  readonly maxSeqs: number;
  readonly scenarios: Readonly<Partial<Record<ScenarioName, Scenario>>>;
  /** Of models that embed: [inputs][dimensions], each input asked for alone, and all together. */
  readonly embeddings?: {
    readonly inputs: readonly (readonly number[])[];
    readonly alone: readonly (readonly number[])[];
    readonly together: readonly (readonly number[])[];
  };
}

/** Answers to be scored by the reference: the same tokens under its own probabilities. */
export interface ReferenceTask {
  readonly path: string;
  readonly answers: readonly { readonly prompt: readonly number[]; readonly tokens: readonly number[] }[];
  /** For each token, those whose log probabilities are wanted. */
  readonly wanted: readonly (readonly (readonly number[])[])[];
  /** Inputs to be embedded. */
  readonly inputs: readonly (readonly number[])[];
}

/** One drawn token under the reference. */
export interface Scored {
  /** The likeliest token there, and its log probability. */
  readonly best: number;
  readonly bestLogprob: number;
  /** Log probabilities of the wanted tokens. */
  readonly logprobs: readonly number[];
}

/** [answers][tokens] */
export type ReferenceScores = readonly (readonly Scored[])[];

export interface ReferenceReport {
  readonly scores: ReferenceScores;
  /** Largest change of a logit after the first prompt when its last token but two is another, to show that it is looked at. */
  readonly contextEffect: number;
  /** [inputs][dimensions] */
  readonly vectors: readonly (readonly number[])[];
}
