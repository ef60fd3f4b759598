// Passes that a device computes while the engine does other work, with the built-in model and a hybrid; the CPU counts as the device here. Every
// kind of answer is that of an engine that waits for each pass.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { setDeviceSampling } from "../helpers/device-sampling.ts";
import { chatRequest, runCounted } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";

let builtin: LlamaBackend;
let hybrid: LlamaBackend;
beforeAll(async () => {
  setDeviceSampling("cpu");
  builtin = await tinyBackend({ threads: 1 }); // two would wait for each other on a busy machine
  hybrid = await tinyBackend({ threads: 1, prefixCacheN: 2 }, tinyHybrid({ silent: false, head: false }));
  setDeviceSampling("");
});
afterAll(() => {
  builtin.close();
  hybrid.close();
});

const WEATHER = {
  name: "get_weather",
  description: "Weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};
const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
};
const SEEDED = { ...DEFAULT_SAMPLING, temperature: 0.9, topP: 0.95, seed: 11 };

function withPrompt(text: string, prompt: object, extra: Partial<RunRequest> = {}): RunRequest {
  const made = chatRequest(text, extra);
  return { ...made, prompt: { ...made.prompt, ...prompt } };
}

const REQUESTS: readonly RunRequest[] = [
  chatRequest("What is 12 + 30?"),
  chatRequest("Tell me a story.", { sampling: SEEDED, choices: 3, maxTokens: 40 }),
  chatRequest("What is the capital of France?", { logprobs: { top: 2 } }),
  chatRequest("Count to ten.", { stop: ["a", "5"], maxTokens: 60 }),
  chatRequest("Count to twenty.", { maxTokens: 3 }),
  chatRequest("A person.", { constraint: { type: "json_schema", schema: PERSON, strict: true } }),
  withPrompt("What is the weather in Paris?", { tools: [WEATHER], toolChoice: { type: "auto" } }),
  withPrompt("What is the weather in Rome?", { tools: [WEATHER], toolChoice: { type: "required" } }),
  withPrompt("What is 7 * 8?", { thinking: { enabled: true, budget: 8 } }),
  withPrompt("What is 9 - 4?", { thinking: { enabled: true } }, { sampling: SEEDED }),
];

test.each([
  ["off", () => builtin],
  ["auto", () => builtin],
  ["ngram", () => builtin],
  ["off", () => hybrid],
] as const)("drafts %s: the answers are the same", (drafts, subject) => {
  const backend = subject();
  expect(backend.goesOn).toBe(true);
  const waiting: LlamaBackend = Object.create(backend, { goesOn: { value: false } });
  const [there, here] = [backend, waiting].map((one) =>
    runCounted(one, REQUESTS, { drafts, prefixCacheN: 2 }),
  );
  // Drafts follow measured times, and wider passes round differently: log probabilities are the same but for their last digits.
  const told = (run: typeof here): string =>
    JSON.stringify(run?.answers, (key, value) =>
      key === "id" || key === "logprob" || key === "top" ? 0 : value,
    );
  expect(told(there)).toBe(told(here));
});
