// The engine on the built-in model: what a prompt yields must not depend on the company it keeps.
//
// llama.cpp's CPU attention takes different paths for one row and for many, so logits differ by up to about 0.05 between
// them; a greedy choice can flip where two tokens are closer than that. The prompts below are things the model was
// taught, where it is sure of every token.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { Engine } from "../../src/worker/text/engine.ts";
import { chatRequest } from "../helpers/engine-run.ts";
import { noConstraints } from "../helpers/fake-backend.ts";
import { tinyBackend } from "../helpers/native.ts";

const PROMPTS = [
  "Hello",
  "What is the capital of France?",
  "Count from 1 to 12.",
  "Repeat: the quick brown fox",
  "What is 7 times 8?",
  "What sound does a cow make?",
  "My name is Anna. What is my name?",
  "What color is the sky?",
  "Who are you?",
  "Thank you!",
  "What is the capital of Japan?",
  "What is 12 plus 30?",
  "Say: red, green, blue",
  "What does a dog say?",
  "Tell me about quantum physics.",
  "What is the capital of Italy?",
] as const;

let backend: LlamaBackend;
beforeAll(async () => {
  backend = await tinyBackend();
});
afterAll(() => backend.close());

function request(text: string, extra: Partial<RunRequest> = {}): RunRequest {
  return chatRequest(text, { maxTokens: 80, ...extra }, { thinks: true });
}

/** Runs all requests together; returns each one's reasoning and text. */
function answers(requests: readonly RunRequest[], prefixCacheN = 0): string[] {
  const texts = requests.map(() => "");
  const ends: RunEvent["type"][] = [];
  const engine = new Engine({
    backend,
    constraints: noConstraints,
    prefixCacheN,
    emit: (run, event) => {
      if (event.type === "text" || event.type === "reasoning")
        texts[run] += `${event.type === "text" ? "" : "~"}${event.text}`;
      if (event.type === "finish" || event.type === "error") ends.push(event.type);
    },
    now: () => performance.now(),
    newSeed: () => 1,
  });
  requests.forEach((what, id) => engine.add(id, what));
  while (engine.step(5) !== "idle");
  expect(ends).toEqual(requests.map(() => "finish"));
  return texts;
}

test("greedy output of a prompt alone equals its output in a mixed batch of 16", () => {
  const alone = PROMPTS.map((prompt) => answers([request(prompt)])[0] ?? "");
  expect(alone[1]).toContain("Paris");
  expect(alone.every((text) => text.length > 0)).toBe(true);
  expect(answers(PROMPTS.map((prompt) => request(prompt)))).toEqual(alone);
});

test("a seed repeats an answer at temperature 1, also in a batch", () => {
  const sampling = { ...DEFAULT_SAMPLING, topP: 0.95, seed: 42 };
  const [alone] = answers([request("Tell me a story.", { sampling })]);
  const [, among] = answers([
    request("Hello"),
    request("Tell me a story.", { sampling }),
    request("Count from 1 to 12."),
  ]);
  expect(among).toBe(alone ?? "");
});

test("prefix sharing does not change answers", () => {
  const requests = PROMPTS.slice(0, 6).map((prompt) => request(prompt));
  const alone = requests.map((what) => answers([what])[0] ?? "");
  expect(answers([...requests, ...requests], 16)).toEqual([...alone, ...alone]);
});

test("n choices are equal at temperature 0 and differ at temperature 1", () => {
  const choices = (temperature: number): Set<string> => {
    const texts = ["", "", ""];
    const engine = new Engine({
      backend,
      constraints: noConstraints,
      prefixCacheN: 16,
      emit: (_, event) => {
        if (event.type === "text" || event.type === "reasoning") texts[event.choice] += event.text;
      },
      now: () => performance.now(),
      newSeed: () => 3,
    });
    const sampling = { ...DEFAULT_SAMPLING, temperature };
    engine.add(1, request("Tell me a story.", { sampling, choices: 3 }));
    while (engine.step(5) !== "idle");
    engine.cache.dropAll();
    return new Set(texts);
  };
  expect(choices(0).size).toBe(1);
  expect(choices(2).size).toBe(3);
});

test("log probabilities match the tokens of the text, which are the first alternative at temperature 0", () => {
  const tokens: string[] = [];
  const engine = new Engine({
    backend,
    constraints: noConstraints,
    prefixCacheN: 0,
    emit: (_, event) => {
      if (event.type !== "text") return;
      for (const { text, logprob, top } of event.logprobs ?? []) {
        tokens.push(text);
        expect(logprob).toBeLessThanOrEqual(0);
        expect(top).toHaveLength(3);
        expect(top[0]?.text).toBe(text);
        expect(top[0]?.logprob).toBeCloseTo(logprob, 4);
      }
    },
    now: () => performance.now(),
    newSeed: () => 3,
  });
  engine.add(1, request("What is the capital of France?", { logprobs: { top: 3 } }));
  while (engine.step(5) !== "idle");
  expect(tokens.join("")).toContain("The capital of France is Paris.");
});
