// Sampling through the whole engine: draws against the probabilities of the same answers, and what a seed repeats.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING, type SamplingParams } from "../../src/core/sampling.ts";
import { type Answer, chatRequest, EngineTalk, runAll } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { drawnFrom, misfit } from "../helpers/sampling-stages.ts";

/** SVC_SLOW_TESTS=1: as many as of each stage alone. */
const DRAWS = process.env.SVC_SLOW_TESTS === "1" ? 20_000 : 2_000;
const CHOICES = 100;
const MISFIT_MAX = 4;

let backend: LlamaBackend;
beforeAll(async () => {
  backend = await tinyBackend({ threads: 1 });
});
afterAll(() => backend.close());

function request(some: Partial<SamplingParams>, extra: Partial<RunRequest> = {}): RunRequest {
  const prompt = { type: "tokens", tokens: [300, 400, 500, 600, 700] } as const;
  const sampling = { ...DEFAULT_SAMPLING, ...some };
  return { ...chatRequest(""), prompt, sampling, ignoreEnd: true, ...extra };
}

function answersOf(requests: readonly RunRequest[], prefixCacheN = 0): Answer[] {
  return runAll(backend, requests, prefixCacheN).flatMap((answers) => {
    if (!Array.isArray(answers)) throw new Error(JSON.stringify(answers));
    return answers;
  });
}

test(`${DRAWS} seeded answers of one token have the documented distribution over the reported probabilities`, () => {
  const some = { temperature: 0.9, topK: 20, topP: 0.92, minP: 0.04 };
  const [told] = answersOf([request({ temperature: 0 }, { maxTokens: 1, logprobs: { top: 20 } })]);
  const top = told?.logprobs[0]?.top ?? [];
  expect(top).toHaveLength(20); // as many as top_k keeps, so that nothing else can be drawn
  const reported = new Float64Array(backend.vocabulary).fill(Number.NEGATIVE_INFINITY);
  for (const { token, logprob } of top) reported[token] = logprob;

  const counts = new Float64Array(backend.vocabulary);
  for (let seed = 0; seed < DRAWS / CHOICES; seed++) {
    const extra = { maxTokens: 1, choices: CHOICES, logprobs: { top: 0 } };
    for (const { logprobs } of answersOf([request({ ...some, seed }, extra)], 16)) {
      const token = logprobs[0]?.token ?? 0;
      counts[token] = (counts[token] ?? 0) + 1;
    }
  }
  const none = { prompt: [], answer: [] };
  const expected = drawnFrom(reported, { ...DEFAULT_SAMPLING, ...some }, none);
  expect(misfit(counts, expected, DRAWS)).toBeLessThan(MISFIT_MAX);
  const colder = drawnFrom(reported, { ...DEFAULT_SAMPLING, ...some, temperature: 0.5 }, none);
  expect(misfit(counts, colder, DRAWS)).toBeGreaterThan(MISFIT_MAX);
});

// docs/sampling.md: alone on an idle engine a seed repeats an answer exactly; beside others logits differ by rounding, and a
// draw at an edge may fall to the other side.
test("a seed repeats answers alone, and most of them in a batch", () => {
  const asked = Array.from({ length: 32 }, (_, seed) => {
    const prompt = { type: "tokens", tokens: [300 + seed, 400, 500, 600, 700] } as const;
    return { ...request({ temperature: 0.9, seed }, { maxTokens: 32, logprobs: { top: 0 } }), prompt };
  });
  const alone = asked.flatMap((one) => answersOf([one]));
  const tokens = ({ logprobs }: Answer): number[] => logprobs.map(({ token }) => token);
  expect(asked.flatMap((one) => answersOf([one])).map(tokens)).toEqual(alone.map(tokens));

  const beside = answersOf(asked, 16);
  let same = 0;
  alone.forEach((answer, index) => {
    const other = beside[index]?.logprobs ?? [];
    const parted = answer.logprobs.findIndex(({ token }, place) => token !== other[place]?.token);
    if (parted < 0) same++;
    const shared = parted < 0 ? answer.logprobs : answer.logprobs.slice(0, parted);
    shared.forEach(({ logprob }, place) => {
      expect(Math.abs(logprob - (other[place]?.logprob ?? 0))).toBeLessThan(0.12);
    });
  });
  expect(same).toBeGreaterThanOrEqual(24);
});

test("a seed repeats answers to the last bit with a warm cache, also among more prompts than are kept", () => {
  const asked = Array.from({ length: 24 }, (_, seed) => {
    const prompt = { type: "tokens", tokens: [300, 310 + seed, 400, 500, 600, 700, 800, 900] } as const;
    const one = { ...request({ temperature: 1, seed }, { maxTokens: 8, logprobs: { top: 0 } }), prompt };
    return [one, one];
  });
  const talk = new EngineTalk(backend, 4);
  const answers = asked.flat().map((one) => talk.ask(one).answer.logprobs);
  talk.close();
  const [cold, warm] = [0, 1].map((odd) => answers.filter((_, index) => index % 2 === odd));
  expect(warm).toEqual(cold);
});
