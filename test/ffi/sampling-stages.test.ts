// What is drawn against what is reported: 20,000 seeded draws of each stage, alone and in order, beside the distribution
// that docs/sampling.md promises for the probabilities that the engine reports.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newSampler } from "../../ffi/llama/sampler.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";

import { DEFAULT_DRY, DEFAULT_SAMPLING, type SamplingParams } from "../../src/core/sampling.ts";
import type { SlotId } from "../../src/worker/text/backend.ts";

import { native, tinyBackend } from "../helpers/native.ts";
import { drawnFrom, type History, misfit, STAGES, type StageName } from "../helpers/sampling-stages.ts";

const DRAWS = 20_000;
/** Standard deviations: see misfit. Seeds are fixed, so that a test that passes keeps passing. */
const MISFIT_MAX = 4;
const PROMPT = [300, 400, 500, 600, 700];
/** Token ids that take part: the fewer, the sharper the test. */
const VOCABULARY = 512;

let backend: LlamaBackend;
let logits: Float32Array; // [VOCABULARY]
/** What the engine reports of each token, [VOCABULARY]. */
let reported: Float64Array;
beforeAll(async () => {
  backend = await tinyBackend({ threads: 1 });
  const columns = { token: Int32Array.from(PROMPT), position: Int32Array.from(PROMPT.keys()) };
  const output = Int8Array.from(PROMPT, (_, index) => (index === PROMPT.length - 1 ? 1 : 0));
  expect(backend.decode({ ...columns, slot: new Int32Array(PROMPT.length), output }, PROMPT.length)).toBe(
    "done",
  );
  const last = PROMPT.length - 1;
  logits = backend.logits(last).slice(0, VOCABULARY);
  reported = Float64Array.from(logits.keys(), (token) => backend.logprobs(last, token, 0).logprob);
  backend.cutSlot(0 as SlotId, 0);
});
afterAll(() => backend.close());

/** Counts of draws by one sampler to which the history has been told, [VOCABULARY]. */
function drawn(params: SamplingParams, history: History): Float64Array {
  const counts = new Float64Array(logits.length);
  const prompt = Int32Array.from(history.prompt);
  const forgets = history.answer.length === 0 && params.dry.multiplier === 0 && !hasPenalties(params);
  let handle = 0n;
  const fresh = (seed: number): bigint => {
    const spec = { params, prompt, seed, choice: 0 };
    const made = newSampler(native(), backend.modelHandle, spec);
    if (history.answer.length > 0) backend.acceptForced(made, Int32Array.from(history.answer));
    return made;
  };
  for (let draw = 0; draw < DRAWS; draw++) {
    if (draw === 0 || !forgets) handle = fresh(draw); // a draw becomes part of the history
    const token = native().svc_sample_logits(handle, logits, logits.length);
    counts[token] = (counts[token] ?? 0) + 1;
    if (!forgets || draw === DRAWS - 1) native().svc_sampler_free(handle);
  }
  return counts;
}

function hasPenalties({ repetitionPenalty, frequencyPenalty, presencePenalty }: SamplingParams): boolean {
  return repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0;
}

/** The likeliest tokens, best first. */
function likely(count: number): number[] {
  return [...reported.keys()].toSorted((a, b) => (reported[b] ?? 0) - (reported[a] ?? 0)).slice(0, count);
}

/** A history in which the likeliest tokens follow each other again and again, and would go on doing so. */
function repeating(): History {
  const [c = 0, a = 0, b = 0, d = 0, e = 0] = likely(5);
  return { prompt: [a, b, c, d], answer: [a, b, c, e, a, b] };
}

const bias = [
  { index: 0, bias: -1.5 },
  { index: 3, bias: 2 },
  { index: 40, bias: 4 },
];
const biased = (): SamplingParams["logitBias"] => {
  const tokens = likely(41);
  return bias.map((entry) => ({ token: tokens[entry.index] ?? 0, bias: entry.bias }));
};
const DRY = { ...DEFAULT_DRY, multiplier: 1, allowedLength: 1, sequenceBreakers: [] };

const CASES: Readonly<Record<string, () => Partial<SamplingParams>>> = {
  nothing: () => ({}),
  "temperature 0.7": () => ({ temperature: 0.7 }),
  "temperature 1.6": () => ({ temperature: 1.6 }),
  "top_k 12": () => ({ topK: 12 }),
  "top_p 0.8": () => ({ topP: 0.8 }),
  "min_p 0.1": () => ({ minP: 0.1 }),
  logit_bias: () => ({ logitBias: biased() }),
  "frequency and presence penalty": () => ({ frequencyPenalty: 0.6, presencePenalty: 0.9 }),
  DRY: () => ({ dry: DRY }),
  "all of them": () => ({
    logitBias: biased(),
    frequencyPenalty: 0.5,
    presencePenalty: 0.4,
    dry: DRY,
    temperature: 1.4,
    topK: 60,
    topP: 0.9,
    minP: 0.02,
  }),
};

describe("20,000 samples have the documented distribution over the reported probabilities", () => {
  for (const [name, some] of Object.entries(CASES)) {
    test(name, () => {
      const params = { ...DEFAULT_SAMPLING, ...some() };
      const counts = drawn(params, repeating());
      expect(misfit(counts, drawnFrom(reported, params, repeating()), DRAWS)).toBeLessThan(MISFIT_MAX);
    });
  }

  // It divides what is above 0 and multiplies what is below: reported probabilities alone do not determine it.
  test("repetition penalty, over the logits", () => {
    const params = { ...DEFAULT_SAMPLING, repetitionPenalty: 1.4 };
    const counts = drawn(params, repeating());
    const expected = drawnFrom(Float64Array.from(logits), params, repeating());
    expect(misfit(counts, expected, DRAWS)).toBeLessThan(MISFIT_MAX);
    expect(misfit(counts, drawnFrom(reported, params, repeating()), DRAWS)).toBeGreaterThan(MISFIT_MAX);
  });
});

/** Settings for which exchanging two stages gives another distribution. */
const SWAPS: readonly (readonly [
  first: StageName,
  second: StageName,
  settings: () => Partial<SamplingParams>,
])[] = [
  ["penalties", "temperature", () => ({ presencePenalty: 1.5, temperature: 1.7 })],
  ["bias", "temperature", () => ({ logitBias: biased(), temperature: 1.7 })],
  ["dry", "temperature", () => ({ dry: DRY, temperature: 1.7 })],
  ["bias", "top_k", () => ({ logitBias: biased(), topK: 5 })],
  ["penalties", "top_k", () => ({ presencePenalty: 1.5, topK: 5 })],
  ["dry", "top_k", () => ({ dry: DRY, topK: 3 })],
  ["temperature", "top_p", () => ({ temperature: 1.7, topP: 0.6 })],
  ["temperature", "min_p", () => ({ temperature: 1.7, minP: 0.15 })],
  ["top_k", "top_p", () => ({ topK: 6, topP: 0.7 })],
  ["top_p", "min_p", () => ({ topP: 0.5, minP: 0.35 })],
];

describe("the stages run in the documented order", () => {
  for (const [first, second, some] of SWAPS) {
    test(`${first} before ${second}`, () => {
      const params = { ...DEFAULT_SAMPLING, ...some() };
      const counts = drawn(params, repeating());
      expect(misfit(counts, drawnFrom(reported, params, repeating()), DRAWS)).toBeLessThan(MISFIT_MAX);
      const exchanged = STAGES.map((name) => (name === first ? second : name === second ? first : name));
      const other = drawnFrom(reported, params, repeating(), exchanged);
      expect(misfit(counts, other, DRAWS)).toBeGreaterThan(MISFIT_MAX);
    });
  }
});
