// What is measured. A new scenario is one entry here: everything else follows from the list.

import type { ModelName } from "./model.ts";

/** One kind of traffic. Token counts are the model's own, so `promptCells` leaves room for poor tokenizers. */
export interface Scenario {
  readonly name: string;
  /** One line under the table. */
  readonly about: string;
  readonly models: readonly ModelName[];
  /** Parallel streams where the scenario fixes them; undefined: those of the command line. */
  readonly streams?: readonly number[];
  /** Requests in total, one a stream if absent: `perStream` times the streams, but at least `min`, so that fast models run long enough. */
  readonly requests: Readonly<
    Partial<Record<ModelName, { readonly perStream: number; readonly min: number }>>
  >;
  /** Random words of each user message, and of a system message common to all requests (0: none). */
  readonly words: number;
  readonly sharedWords: number;
  /** max_tokens of each answer; `long`: as many as the command line says. */
  readonly maxTokens: number | "long";
  /** Context tokens a stream may need besides its answer; both servers get this for each, as one common pool. */
  readonly promptCells: number;
  /** Further request fields, such as tools or response_format. */
  readonly body: Readonly<Record<string, unknown>>;
  /** What `body` costs is measured, by this figure: every server also answers the same traffic without it. */
  readonly cost?: CostFigure;
}

/** Figures of a load by which a cost is told. */
export type CostFigure = "tokensPerSecond" | "itlEndMs";

/** One request a stream. */
export const ONCE = { perStream: 1, min: 1 } as const;

/** Long enough never to end within an answer; its strings and numbers do, so that every kind of place is come through. */
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

/** Few and short: what they add to the prompt costs attention, which is not what is asked. */
const TOOLS = ["get_weather", "get_time"].map((name) => {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  return { type: "function", function: { name, description: "", parameters } };
});

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "decode",
    about: "64-word prompts, all different, 128-token answers, temperature 0",
    models: ["nano", "qwen3-0.6b", "moe", "builtin"],
    requests: {
      nano: { perStream: 16, min: 64 },
      "qwen3-0.6b": { perStream: 2, min: 4 },
      moe: { perStream: 2, min: 4 },
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
    about:
      "8 users at once, a common system message of 1,000 words that the server has not seen, 32-token answers",
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
    name: "schema",
    about: "16-word prompts, 128-token answers held to a JSON schema of a list of objects",
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
      "16-word prompts, 128-token answers drawn at temperature 1 with top_p 0.95; the cost is that beside temperature 0",
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
    about: "one long answer (--long tokens) with two tools declared; time a token over its last tenth",
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
