// List of scenarios; a new scenario needs only an entry here.

import { type ModelName, MODELS } from "./model.ts";

/** One kind of traffic. Token counts depend on the model, so `promptCells` has a margin for poor tokenizers. */
export interface Scenario {
  readonly name: string;
  /** One line under the table. */
  readonly about: string;
  readonly models: readonly ModelName[];
  /** Fixed number of parallel streams; undefined: that of the command line. */
  readonly streams?: readonly number[];
  /** Requests in total: `perStream` times the streams, at least `min`, so that fast models run long enough. Absent: one per stream. */
  readonly requests: Readonly<
    Partial<Record<ModelName, { readonly perStream: number; readonly min: number }>>
  >;
  /** Random words of each user message, and of a shared system message (0: none). */
  readonly words: number;
  readonly sharedWords: number;
  /** What is asked of real text, in place of random words. */
  readonly ask?: string;
  /** max_tokens of each answer; `long`: the value of --long. */
  readonly maxTokens: number | "long";
  /** Context tokens per stream besides its answer; both servers get the sum as one pool. */
  readonly promptCells: number;
  /** Settings of svc, besides its defaults. */
  readonly flags?: readonly string[];
  /** Further request fields, such as tools or response_format. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Figure that measures the cost of `body`: every server also answers the same traffic without it. */
  readonly cost?: CostFigure;
}

/** Figures that can measure a cost. */
export type CostFigure = "tokensPerSecond" | "itlEndMs";

/** One request per stream. */
export const ONCE = { perStream: 1, min: 1 } as const;

/** Models whose answers to real text mean something. */
const TRAINED = ["smollm2-135m", "gemma-3-270m"] as const satisfies readonly ModelName[];
const SUMMARY = {
  type: "object",
  properties: {
    title: { type: "string" },
    kind: { enum: ["instruction", "reference", "story"] },
    topics: { type: "array", items: { type: "string" }, minItems: 2, maxItems: 4 },
    words: { type: "integer" },
  },
  required: ["title", "kind", "topics", "words"],
};

/** Long enough never to end within an answer; its strings and numbers do, so every kind of state occurs. */
const PEOPLE = {
  type: "array",
  minItems: 64,
  items: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 16 },
      age: { type: "integer", minimum: 0, maximum: 150 },
      member: { type: "boolean" },
      tags: { type: "array", items: { enum: ["red", "green", "blue"] }, minItems: 1, maxItems: 3 },
      address: {
        type: "object",
        properties: {
          street: { type: "string", maxLength: 24 },
          zip: { type: "string", pattern: "^[0-9]{5}$" },
        },
        required: ["street", "zip"],
        additionalProperties: false,
      },
    },
    required: ["name", "age", "member", "tags", "address"],
    additionalProperties: false,
  },
};

/** Few and short, because tokens that they add to the prompt cost attention, which is not measured here. */
const TOOLS = ["get_weather", "get_time"].map((name) => {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  return { type: "function", function: { name, description: "", parameters } };
});

/** The shapes whose decode and prefill speeds are compared. */
const SHAPES = MODELS.filter((name) => name !== "nano" && name !== "builtin");

/** Two requests a stream, four at least. */
const TWICE = { perStream: 2, min: 4 } as const;

/** A prompt of about `words` tokens, one after another: its speed is the column "prompt tokens/s". */
function prompts(words: number): Scenario {
  return {
    name: `prompt-${words}`,
    about: `prompts of ${words} words, one at a time, 8-token answers`,
    models: SHAPES,
    streams: [1],
    requests: Object.fromEntries(SHAPES.map((model) => [model, { perStream: words > 1000 ? 1 : 4, min: 1 }])),
    words,
    sharedWords: 0,
    maxTokens: 8,
    promptCells: Math.ceil(1.25 * words) + 512,
    body: {},
  };
}

export const SCENARIOS: readonly Scenario[] = [
  ...[512, 4096, 16_384].map(prompts),
  {
    name: "decode",
    about: "64-word prompts, all different, 128-token answers, temperature 0",
    models: ["nano", ...SHAPES, "builtin"],
    requests: {
      ...Object.fromEntries(SHAPES.map((model) => [model, TWICE])),
      nano: { perStream: 16, min: 64 },
      builtin: { perStream: 8, min: 64 },
    },
    words: 64,
    sharedWords: 0,
    maxTokens: 128,
    promptCells: 384,
    body: {},
  },
  {
    name: "shared-prefix",
    about: "8 concurrent users, a shared system message of 1,000 uncached words, 32-token answers",
    models: ["nano", "qwen3-0.6b", "windows", "hybrid"], // the built-in model's context is too short for 1,000 words
    streams: [8],
    requests: {},
    words: 64,
    sharedWords: 1000,
    maxTokens: 32,
    promptCells: 4064,
    body: {},
  },
  {
    name: "text-copy",
    about:
      "trained models repeat a passage of 150 words, one at a time; svc drafts from the conversation (speculative = ngram)",
    models: TRAINED,
    streams: [1],
    requests: Object.fromEntries(TRAINED.map((model) => [model, { perStream: 6, min: 6 }])),
    words: 150,
    sharedWords: 0,
    ask: "Repeat this text word by word:",
    maxTokens: 192,
    promptCells: 768,
    flags: ["--speculative", "ngram"],
    body: {},
  },
  {
    name: "text-shared",
    about:
      "8 concurrent users ask trained models about passages, below a page of 1,000 words that they share; 48-token answers",
    models: TRAINED,
    streams: [8],
    requests: Object.fromEntries(TRAINED.map((model) => [model, TWICE])),
    words: 60,
    sharedWords: 1000,
    ask: "Say in one sentence what this is about:",
    maxTokens: 48,
    promptCells: 3072,
    body: {},
  },
  {
    name: "text-schema",
    about: "trained models describe a passage of 60 words in a JSON schema: masks on real answers",
    models: TRAINED,
    streams: [1, 8],
    requests: Object.fromEntries(TRAINED.map((model) => [model, TWICE])),
    words: 60,
    sharedWords: 0,
    ask: "Describe this text as JSON with title, kind, topics and number of words:",
    maxTokens: 96,
    promptCells: 512,
    body: {
      response_format: {
        type: "json_schema",
        json_schema: { name: "summary", schema: SUMMARY, strict: true },
      },
    },
    cost: "tokensPerSecond",
  },
  {
    name: "schema",
    about: "16-word prompts, 128-token answers constrained to a JSON schema of a list of objects",
    models: ["qwen3-0.6b"], // nano's tokenizer puts spaces where llama-server's grammar does not expect any
    streams: [1, 8],
    requests: { "qwen3-0.6b": { perStream: 2, min: 4 } },
    words: 16,
    sharedWords: 0,
    maxTokens: 128,
    promptCells: 384,
    body: {
      response_format: { type: "json_schema", json_schema: { name: "people", schema: PEOPLE, strict: true } },
    },
    cost: "tokensPerSecond",
  },
  {
    name: "sampled",
    about:
      "16-word prompts, 128-token answers sampled at temperature 1 with top_p 0.95; the cost is relative to temperature 0",
    models: ["qwen3-0.6b"],
    streams: [32],
    requests: {},
    words: 16,
    sharedWords: 0,
    maxTokens: 128,
    promptCells: 384,
    body: { temperature: 1, top_p: 0.95 },
    cost: "tokensPerSecond",
  },
  {
    name: "long-answer",
    about: "one long answer (--long tokens) with two tools declared; time per token over its last tenth",
    models: ["nano"],
    streams: [1],
    requests: {},
    words: 16,
    sharedWords: 0,
    maxTokens: "long",
    promptCells: 4096,
    body: { tools: TOOLS, tool_choice: "auto" },
    cost: "itlEndMs",
  },
];
