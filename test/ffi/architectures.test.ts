// Architectures whose graphs in llama.cpp cannot do all that is asked of them: what is wrong there must not become a wrong
// answer here. All architectures: `npm run test:zoo`.

import { describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { type Answer, chatRequest, EngineTalk, runAll } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { TOGETHER } from "../zoo/prompts.ts";

function greedy(tokens: readonly number[]): RunRequest {
  const prompt = { type: "tokens", tokens } as const;
  return { ...chatRequest(""), prompt, maxTokens: 12, ignoreEnd: true, logprobs: { top: 0 } };
}

/** Tokens of the answers to prompts that are asked together. */
function together(backend: LlamaBackend, prompts: readonly (readonly number[])[]): number[][] {
  return runAll(backend, prompts.map(greedy)).map((answers) => {
    if (!Array.isArray(answers)) throw new Error(JSON.stringify(answers));
    return answers.flatMap(({ logprobs }: Answer) => logprobs.map(({ token }) => token));
  });
}

describe.each(["plamo2", "rwkv6qwen2", "arwkv7"])("%s", (name) => {
  test("runs one sequence at a time, with the same answers as alone", async () => {
    const backend = await tinyBackend({ maxSeqs: 8, ubatch: 64, threads: 1 }, architectureModel(name));
    expect(backend.info.maxSeqs).toBe(1);
    const prompts = TOGETHER.slice(3, 7);
    const alone = prompts.flatMap((prompt) => together(backend, [prompt]));
    expect(together(backend, prompts)).toEqual(alone);
    backend.close();
  });
});

test("cogvlm: the answer depends on the last prompt token, at any batch size", async () => {
  const path = architectureModel("cogvlm");
  const prompts = TOGETHER.slice(0, 3).map((prompt) => prompt.slice(0, 33));
  const whole = await tinyBackend({ ubatch: 64, threads: 1 }, path);
  const pieces = await tinyBackend({ maxSeqs: 4, batch: 8, ubatch: 8, threads: 1 }, path); // the last one is a single token
  const expected = prompts.flatMap((prompt) => together(pieces, [prompt]));
  expect(prompts.flatMap((prompt) => together(whole, [prompt]))).toEqual(expected);
  expect(together(whole, prompts)).toEqual(expected);
  pieces.close();
  whole.close();
});

test("deepseek4: sequences can only be copied whole and are continued from their end", async () => {
  const path = architectureModel("deepseek4");
  const backend = await tinyBackend({ maxSeqs: 4, prefixCacheN: 4, ubatch: 64, threads: 1 }, path);
  const talk = new EngineTalk(backend, 4);
  const [prompt = []] = TOGETHER;
  const cached = (tokens: readonly number[]): number => talk.ask(greedy(tokens)).usage.cachedTokens;
  expect([prompt, prompt, [...prompt.slice(0, 40), ...prompt]].map(cached)).toEqual([0, 0, 0]);
  talk.close();
  backend.close();
});
