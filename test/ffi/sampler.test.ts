// The native sampler against llama.cpp's generic chain, on logits recorded from the built-in model. Seeds are fixed, so a
// test that passes keeps passing.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newSampler } from "../../ffi/llama/sampler.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { DEFAULT_DRY, DEFAULT_SAMPLING, type SamplingParams } from "../../src/core/sampling.ts";
import type { SamplerHandle, SlotId } from "../../src/worker/text/backend.ts";
import { uniformSource } from "../../bench/random.ts";
import { chainDistribution } from "../helpers/llama-chain.ts";
import { libraryDir, native, tinyBackend } from "../helpers/native.ts";

const DRAWS = 20_000;

let backend: LlamaBackend;
let logits: Float32Array; // [vocabulary]
beforeAll(async () => {
  backend = await tinyBackend();
  // An unfamiliar beginning leaves the model unsure, which gives a distribution with many candidates.
  const prompt = [300, 400, 500, 600, 700];
  const columns = { token: Int32Array.from(prompt), position: Int32Array.of(0, 1, 2, 3, 4) };
  const output = Int8Array.of(0, 0, 0, 0, 1);
  expect(backend.decode({ ...columns, slot: new Int32Array(5), output }, 5)).toBe("done");
  logits = backend.logits(4);
  backend.cutSlot(0 as SlotId, 0);
});
afterAll(() => backend.close());

function sampler(
  params: SamplingParams,
  prompt: readonly number[] = [],
  seed = 7,
  choice = 0,
): SamplerHandle {
  const spec = { params, prompt: Int32Array.from(prompt), seed, choice };
  return newSampler(native(), backend.modelHandle, spec);
}

function drawFrom(handle: SamplerHandle, from: Float32Array): number {
  return native().svc_sample_logits(handle, from, from.length);
}

/** Draws with a fresh sampler, which first "generates" the given tokens. */
function drawAfter(
  params: SamplingParams,
  prompt: readonly number[],
  generated: readonly number[],
  seed: number,
): number {
  const handle = sampler(params, prompt, seed);
  for (const token of generated) {
    const forced = new Float32Array(logits.length).fill(-Infinity);
    forced[token] = 0;
    expect(drawFrom(handle, forced)).toBe(token);
  }
  const token = drawFrom(handle, logits);
  backend.freeSampler(handle);
  return token;
}

function add(counts: Float64Array, token: number): void {
  counts[token] = (counts[token] ?? 0) + 1;
}

/** Counts of tokens against a distribution; cells that expect fewer than 10 count as one. */
function expectDistribution(counts: Float64Array, expected: Float64Array, draws: number): void {
  let statistic = 0;
  let freedom = -1;
  const rest = { expected: 0, seen: 0 };
  const add = (wanted: number, seen: number): void => {
    statistic += (seen - wanted) ** 2 / wanted;
    freedom++;
  };
  expected.forEach((p, id) => {
    const [wanted, seen] = [p * draws, counts[id] ?? 0];
    // The chain computes in single precision: what it puts at the edge of a cut may differ in the last digit.
    if (wanted < 1e-3) expect(seen).toBeLessThanOrEqual(3);
    else if (wanted >= 10) add(wanted, seen);
    else [rest.expected, rest.seen] = [rest.expected + wanted, rest.seen + seen];
  });
  if (rest.expected >= 10) add(rest.expected, rest.seen);
  // Mean and spread of the chi-square distribution; four standard deviations are a one in 10 000 event.
  expect(statistic).toBeLessThan(Math.max(1, freedom) + 4 * Math.sqrt(2 * Math.max(1, freedom)));
}

describe("samples have the distribution of the generic chain", () => {
  const cases: readonly Partial<SamplingParams>[] = [
    { temperature: 1 },
    { temperature: 0.6 },
    { temperature: 1.7 },
    { topP: 0.9 },
    { temperature: 0.8, topP: 0.5 },
    { minP: 0.05 },
    { temperature: 1.3, minP: 0.2, topP: 0.95 },
    { topK: 40 },
    { temperature: 0.7, topK: 20, topP: 0.8 },
    { temperature: 1.2, topK: 100, topP: 0.95, minP: 0.1 },
    { topK: 2048 },
    {
      logitBias: [
        { token: 1000, bias: 6 },
        { token: 17, bias: -3 },
      ],
    },
  ];
  for (const some of cases) {
    test(JSON.stringify(some), () => {
      const params = { ...DEFAULT_SAMPLING, ...some };
      const counts = new Float64Array(logits.length);
      const handle = sampler(params);
      for (let i = 0; i < DRAWS; i++) add(counts, drawFrom(handle, logits));
      backend.freeSampler(handle);
      expectDistribution(
        counts,
        chainDistribution(libraryDir(), backend.modelHandle, params, logits, []),
        DRAWS,
      );
    });
  }

  const likely = (): number[] =>
    Array.from(logits.keys())
      .sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0))
      .slice(0, 6);
  const withHistory: readonly (readonly [Partial<SamplingParams>, "prompt" | "generated"])[] = [
    [{ repetitionPenalty: 1.3 }, "prompt"],
    [{ repetitionPenalty: 0.8 }, "generated"],
    [{ frequencyPenalty: 0.7 }, "generated"],
    [{ presencePenalty: 1.5 }, "generated"],
    [{ frequencyPenalty: -0.4, presencePenalty: 0.5, repetitionPenalty: 1.1, topP: 0.95 }, "generated"],
    [{ dry: { ...DEFAULT_DRY, multiplier: 2, allowedLength: 1, sequenceBreakers: [] } }, "generated"],
  ];
  for (const [some, where] of withHistory) {
    test(`${JSON.stringify(some)} after tokens in the ${where}`, () => {
      const params = { ...DEFAULT_SAMPLING, ...some };
      const [a = 0, b = 0, c = 0, d = 0] = likely();
      const history = [a, b, c, a, b, d, a, b];
      const counts = new Float64Array(logits.length);
      const draws = 4000;
      for (let seed = 0; seed < draws; seed++) {
        const token = drawAfter(
          params,
          where === "prompt" ? history : [],
          where === "prompt" ? [] : history,
          seed,
        );
        add(counts, token);
      }
      expectDistribution(
        counts,
        chainDistribution(libraryDir(), backend.modelHandle, params, logits, history),
        draws,
      );
    });
  }
});

describe("exactness", () => {
  const greedy = { ...DEFAULT_SAMPLING, temperature: 0 };
  const best = (): number => logits.indexOf(Math.max(...logits));

  test("temperature 0 and top_k 1 sample the most likely token; the first one of equals", () => {
    expect(drawFrom(sampler(greedy), logits)).toBe(best());
    expect(drawFrom(sampler({ ...DEFAULT_SAMPLING, topK: 1 }), logits)).toBe(best());
    expect(drawFrom(sampler(greedy), new Float32Array(300).fill(1))).toBe(0);
  });

  test("greedy sampling with penalties equals the chain's most likely token", () => {
    const params = { ...DEFAULT_SAMPLING, repetitionPenalty: 1.5, frequencyPenalty: 0.5 };
    const history = [best(), best()];
    const chain = chainDistribution(libraryDir(), backend.modelHandle, params, logits, history);
    const top = chain.indexOf(Math.max(...chain));
    expect(drawAfter({ ...params, temperature: 0 }, [], history, 1)).toBe(top);
    expect(top).not.toBe(best());
  });

  test("a bias of −100 bans and of 100 forces", () => {
    expect(drawFrom(sampler({ ...greedy, logitBias: [{ token: best(), bias: -100 }] }), logits)).not.toBe(
      best(),
    );
    expect(drawFrom(sampler({ ...DEFAULT_SAMPLING, logitBias: [{ token: 3, bias: 100 }] }), logits)).toBe(3);
  });

  test("presence and frequency penalties ignore the prompt", () => {
    const params = { ...greedy, frequencyPenalty: 2, presencePenalty: 2 };
    expect(drawFrom(sampler(params, [best(), best(), best()]), logits)).toBe(best());
  });

  test("the logits are not modified", () => {
    const copy = logits.slice();
    const params = { ...DEFAULT_SAMPLING, repetitionPenalty: 1.4, logitBias: [{ token: 5, bias: 3 }] };
    drawFrom(sampler(params, [5, 5, 6]), logits);
    expect(logits).toEqual(copy);
  });

  test("the same seed and choice repeat; another seed or choice does not", () => {
    const draws = (seed: number, choice: number): number[] => {
      const handle = sampler({ ...DEFAULT_SAMPLING, temperature: 1.5 }, [], seed, choice);
      return Array.from({ length: 50 }, () => drawFrom(handle, logits));
    };
    const first = draws(7, 0);
    expect(draws(7, 0)).toEqual(first);
    expect(draws(8, 0)).not.toEqual(first);
    expect(draws(7 + 2 ** 40, 0)).not.toEqual(first);
    expect(draws(7, 1)).not.toEqual(first);
  });

  test.each([{}, { topP: 0.9 }, { topK: 50 }, { temperature: 0.7, minP: 0.02 }])(
    "%j: rounding of the logits rarely changes a draw",
    (some) => {
      const params = { ...DEFAULT_SAMPLING, ...some };
      const [one, other] = [sampler(params), sampler(params)];
      const random = uniformSource(7);
      let same = 0;
      for (let i = 0; i < 1000; i++) {
        const rounded = logits.map((logit) => logit + 0.02 * (random() - 0.5));
        if (drawFrom(one, logits) === drawFrom(other, rounded)) same++;
      }
      for (const handle of [one, other]) backend.freeSampler(handle);
      expect(same).toBeGreaterThan(985); // one number for all tokens: about 900
    },
  );

  test("tokens at −inf are never sampled; logits without a finite value give −1", () => {
    const masked = new Float32Array(1500).fill(-Infinity);
    masked[17] = 1;
    masked[900] = 1;
    for (const some of [{}, { topP: 0.9 }, { topK: 50 }]) {
      const handle = sampler({ ...DEFAULT_SAMPLING, ...some });
      expect(new Set(Array.from({ length: 100 }, () => drawFrom(handle, masked)))).toEqual(
        new Set([17, 900]),
      );
    }
    const nothing = new Float32Array(1500).fill(Number.NaN);
    for (const some of [{ temperature: 0 }, {}, { topK: 5 }]) {
      expect(drawFrom(sampler({ ...DEFAULT_SAMPLING, ...some }), nothing)).toBe(-1);
    }
  });
});
