// The native sampler against distributions computed the long way. Seeds are fixed, so a test that passes keeps passing.

import { afterAll, describe, expect, test } from "bun:test";
import { nativeText } from "../../ffi/text.ts";
import { native } from "../helpers/native.ts";

interface Settings {
  readonly temperature: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly topK?: number;
}

const VOCABULARY = 1500; // not a multiple of the blocks the sampler works in
const DRAWS = 40_000;

/** Bell-shaped logits with a few clear favourites. */
function makeLogits(): Float32Array {
  let state = 12345;
  const uniform = (): number => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) / 0x80000000;
  return Float32Array.from({ length: VOCABULARY }, (_, i) => {
    const bell = uniform() + uniform() + uniform() + uniform() - 2;
    return bell * 3 + (i % 97 === 5 ? 5 : 0);
  });
}

const logits = makeLogits();

/** The intended distribution, [vocabulary]: temperature, top-k, top-p, min-p, renormalised. */
function reference({ temperature, topP = 1, minP = 0, topK = 0 }: Settings): Float64Array {
  const top = Math.max(...logits);
  const order = Array.from(logits.keys()).sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b);
  const weight = (id: number): number => Math.exp(((logits[id] ?? 0) - top) / temperature);
  const candidates = topK > 0 ? order.slice(0, topK) : order;
  const total = candidates.reduce((sum, id) => sum + weight(id), 0);
  const kept: number[] = [];
  let mass = 0;
  for (const id of candidates) {
    if (kept.length > 0 && (mass >= total * topP || weight(id) < minP)) break;
    mass += weight(id);
    kept.push(id);
  }
  const out = new Float64Array(VOCABULARY);
  for (const id of kept) out[id] = weight(id) / mass;
  return out;
}

const samplers: bigint[] = [];
afterAll(() => samplers.forEach((sampler) => native().svc_sampler_free(sampler)));

function newSampler({ temperature, topP = 1, minP = 0, topK = 0 }: Settings, seed = 7, stream = 0): bigint {
  const sampler = native().svc_sampler_new(
    Float32Array.of(temperature, topP, minP, topK),
    4,
    seed,
    0,
    stream,
  );
  if (sampler === null) throw new Error(nativeText(native().svc_last_error()));
  samplers.push(BigInt(sampler));
  return BigInt(sampler);
}

function draw(sampler: bigint, count: number, from: Float32Array = logits): number[] {
  return Array.from({ length: count }, () => native().svc_sample_logits(sampler, from, from.length));
}

describe("distributions", () => {
  const cases: readonly Settings[] = [
    { temperature: 1 },
    { temperature: 0.6 },
    { temperature: 1.7 },
    { temperature: 1, topP: 0.9 },
    { temperature: 0.8, topP: 0.5 },
    { temperature: 1, minP: 0.05 },
    { temperature: 1.3, minP: 0.2, topP: 0.95 },
    { temperature: 1, topK: 40 },
    { temperature: 0.7, topK: 20, topP: 0.8 },
    { temperature: 1.2, topK: 100, topP: 0.95, minP: 0.1 },
    { temperature: 1, topK: VOCABULARY },
  ];
  for (const settings of cases) {
    test(`${JSON.stringify(settings)} passes a chi-square test and draws nothing outside`, () => {
      const expected = reference(settings);
      const counts = new Float64Array(VOCABULARY);
      for (const token of draw(newSampler(settings), DRAWS)) counts[token] = (counts[token] ?? 0) + 1;
      let statistic = 0;
      let freedom = -1;
      let restExpected = 0; // cells expected less than 10 times count as one
      let restSeen = 0;
      for (let id = 0; id < VOCABULARY; id++) {
        const wanted = (expected[id] ?? 0) * DRAWS;
        const seen = counts[id] ?? 0;
        if (wanted === 0) expect(seen).toBe(0);
        else if (wanted < 10) [restExpected, restSeen] = [restExpected + wanted, restSeen + seen];
        else [statistic, freedom] = [statistic + (seen - wanted) ** 2 / wanted, freedom + 1];
      }
      if (restExpected >= 10)
        [statistic, freedom] = [statistic + (restSeen - restExpected) ** 2 / restExpected, freedom + 1];
      // Mean and spread of the chi-square distribution; four standard deviations are a one in 10 000 event.
      expect(statistic).toBeLessThan(freedom + 4 * Math.sqrt(2 * Math.max(1, freedom)));
    });
  }
});

describe("exactness", () => {
  const best = logits.indexOf(Math.max(...logits));

  test("temperature 0 and top_k 1 take the most likely token; of equals the first", () => {
    expect(draw(newSampler({ temperature: 0 }), 3)).toEqual([best, best, best]);
    expect(draw(newSampler({ temperature: 1, topK: 1 }), 3)).toEqual([best, best, best]);
    const ties = new Float32Array(300).fill(1);
    expect(draw(newSampler({ temperature: 0 }), 1, ties)).toEqual([0]);
  });

  test("a tiny top_p leaves the best token alone", () => {
    expect(new Set(draw(newSampler({ temperature: 1, topP: 1e-6 }), 50))).toEqual(new Set([best]));
  });

  test("the same seed and stream repeat; another seed or stream does not", () => {
    const first = draw(newSampler({ temperature: 1 }, 7, 0), 50);
    expect(draw(newSampler({ temperature: 1 }, 7, 0), 50)).toEqual(first);
    expect(draw(newSampler({ temperature: 1 }, 8, 0), 50)).not.toEqual(first);
    expect(draw(newSampler({ temperature: 1 }, 7, 1), 50)).not.toEqual(first);
  });

  test("masked tokens (-inf) are never drawn, and logits without any finite value give -1", () => {
    const masked = new Float32Array(VOCABULARY).fill(-Infinity);
    masked[17] = 1;
    masked[900] = 1;
    for (const settings of [
      { temperature: 1 },
      { temperature: 1, topP: 0.9 },
      { temperature: 1, topK: 50 },
    ]) {
      expect(new Set(draw(newSampler(settings), 100, masked))).toEqual(new Set([17, 900]));
    }
    const nothing = new Float32Array(VOCABULARY).fill(Number.NaN);
    for (const settings of [{ temperature: 0 }, { temperature: 1 }, { temperature: 1, topK: 5 }]) {
      expect(draw(newSampler(settings), 1, nothing)).toEqual([-1]);
    }
  });
});
