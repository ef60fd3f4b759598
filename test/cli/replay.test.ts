// What `svc replay` says of an answer that differs from the recorded one.

import { expect, test } from "bun:test";
import { type Exchange, partings } from "../../src/cli/replay.ts";

const answer = (fingerprint: string) => ({
  choices: [{ index: 0, fingerprint, logprobs: { content: [{ token: "Blue", logprob: -0.5 }] } }],
});
const saying = (body: object, fingerprint: string): Exchange => ({ body, answer: answer(fingerprint) });

test.each<[string, object, boolean]>([
  ["no seed", {}, true],
  ["a temperature without a seed", { temperature: 0.7 }, true],
  ["a seed", { seed: 0 }, false],
  ["temperature 0", { temperature: 0 }, false],
  ["one candidate", { top_k: 1 }, false],
  ["a seed among Ollama's options", { options: { seed: 4 } }, false],
  ["options without a seed", { options: { temperature: 1 } }, true],
])("a request with %s", (_, body, isUnseeded) => {
  const [sentence = ""] = partings(saying(body, "a"), saying(body, "b"));
  expect(sentence).toContain("choice 0 has the same tokens");
  expect(sentence.includes("has no seed")).toBe(isUnseeded);
  expect(partings(saying(body, "a"), saying(body, "a"))).toEqual([]);
});
