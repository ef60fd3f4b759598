// What is measured. A new scenario is one entry here: everything else follows from the list.

import { MODELS, type ModelName } from "./model.ts";

/** One kind of traffic. Token counts are the model's own, so `cellsPerStream` leaves room for poor tokenizers. */
export interface Scenario {
  readonly name: string;
  /** One line under the table. */
  readonly about: string;
  readonly models: readonly ModelName[];
  /** Parallel streams where the scenario fixes them; undefined: those of the command line. */
  readonly streams?: readonly number[];
  /** Requests in total: `perStream` times the streams, but at least `min`, so that fast models run long enough. */
  readonly requests: Readonly<Record<ModelName, { readonly perStream: number; readonly min: number }>>;
  /** Random words of each user message, and of a system message common to all requests (0: none). */
  readonly words: number;
  readonly sharedWords: number;
  /** max_tokens of each answer. */
  readonly maxTokens: number;
  /** Context tokens a stream may need; both servers get this times the streams, as one common pool. */
  readonly cellsPerStream: number;
  /** Further request fields, such as tools or response_format. */
  readonly body: Readonly<Record<string, unknown>>;
}

const ONCE = { perStream: 1, min: 1 } as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "decode",
    about: "64-word prompts, all different, 128-token answers, temperature 0",
    models: MODELS,
    requests: {
      nano: { perStream: 16, min: 64 },
      "qwen3-0.6b": { perStream: 2, min: 4 },
      builtin: { perStream: 8, min: 64 },
    },
    words: 64,
    sharedWords: 0,
    maxTokens: 128,
    cellsPerStream: 512,
    body: {},
  },
  {
    name: "shared-prefix",
    about:
      "8 users at once, a common system message of 1,000 words that the server has not seen, 32-token answers",
    models: ["nano", "qwen3-0.6b"], // the built-in model's tokenizer makes more of 1,000 words than its context holds
    streams: [8],
    requests: { nano: ONCE, "qwen3-0.6b": ONCE, builtin: ONCE },
    words: 64,
    sharedWords: 1000,
    maxTokens: 32,
    cellsPerStream: 4096,
    body: {},
  },
];
