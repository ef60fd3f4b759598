// Draws from the largest logits that a device lists, beside draws from whole rows. The CPU counts as the device here, unless back ends
// are named.

import { ptr } from "bun:ffi";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { newSampler } from "../../ffi/llama/sampler.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { writeVocabulary } from "../../bench/gpu-model.ts";
import { SHAPES, writeModel } from "../../bench/model.ts";
import { uniformSource } from "../../bench/random.ts";
import { DEFAULT_DRY, DEFAULT_SAMPLING, type SamplingParams } from "../../src/core/sampling.ts";
import { setDeviceSampling } from "../helpers/device-sampling.ts";
import { native, tinyBackend } from "../helpers/native.ts";
import { tempDir } from "../helpers/tmp.ts";

const VOCABULARY = 20_017; // a prime: no blocks of equal size hold it
const ROWS = 8;

let listing: LlamaBackend;
let whole: LlamaBackend;
beforeAll(async () => {
  const [vocabulary, model] = [join(tempDir(), "vocabulary.gguf"), join(tempDir(), "model.gguf")];
  writeVocabulary(vocabulary, VOCABULARY);
  const shape = { ...SHAPES["qwen3-0.6b"], layers: 1, embd: 64, heads: 2, kvHeads: 1, headDim: 32, ffn: 64 };
  writeModel(model, "device-sampling", shape, vocabulary);
  setDeviceSampling("off");
  whole = await tinyBackend({}, model);
  setDeviceSampling("cpu");
  listing = await tinyBackend({}, model);
  setDeviceSampling("");
});
afterAll(() => {
  listing.close();
  whole.close();
});

/** A pass of one token in each of `ROWS` sequences, on both sides; their logits are the same. */
function pass(seed: number): void {
  const uniform = uniformSource(seed);
  const columns = {
    token: Int32Array.from({ length: ROWS }, () => Math.floor(uniform() * 2000)),
    position: new Int32Array(ROWS),
    slot: Int32Array.from({ length: ROWS }, (_, i) => i),
    output: new Int8Array(ROWS).fill(1),
  };
  for (const side of [listing, whole]) {
    for (let slot = 0; slot < ROWS; slot++) side.cutSlot(slot as Parameters<LlamaBackend["cutSlot"]>[0], 0);
    expect(side.decode(columns, ROWS)).toBe("done");
  }
}

interface Case {
  readonly params?: Partial<SamplingParams>;
  readonly prompt?: readonly number[];
  /** Tokens that a grammar allows: every n-th. */
  readonly every?: number;
  /** The share of rows that may need a whole row. */
  readonly wholeMost: number;
}

/** Draws of both sides in `passes` passes, and the share of rows that were copied whole. */
function draws({ params, prompt = [], every }: Case, passes: number) {
  const options = { ...DEFAULT_SAMPLING, ...params };
  const samplersOf = (side: LlamaBackend): BigUint64Array =>
    BigUint64Array.from({ length: ROWS }, (_, choice) => {
      const spec = { params: options, prompt: Int32Array.from(prompt), seed: 7, choice };
      return newSampler(native(), side.modelHandle, spec);
    });
  const mask = new Uint32Array(Math.ceil(VOCABULARY / 32));
  for (let id = 0; id < VOCABULARY; id += every ?? 1) mask[id >> 5] = (mask[id >> 5] ?? 0) | (1 << (id & 31));
  const masks = new BigUint64Array(ROWS);
  if (every !== undefined) masks.fill(BigInt(ptr(mask)));
  const sides = [listing, whole].map((side) => ({ side, samplers: samplersOf(side), drawn: [] as number[] }));
  const before = listing.traffic().wholeRows;
  const rows = Int32Array.from({ length: ROWS }, (_, i) => i);
  for (let at = 0; at < passes; at++) {
    pass(at);
    for (const { side, samplers, drawn } of sides) {
      const tokens = new Int32Array(ROWS);
      side.sample(ROWS, rows, samplers, masks, tokens);
      drawn.push(...tokens);
    }
  }
  for (const { side, samplers } of sides)
    for (const sampler of samplers) side.freeSampler(sampler as Parameters<LlamaBackend["freeSampler"]>[0]);
  const [first, second] = sides;
  const wholeShare = (listing.traffic().wholeRows - before) / (passes * ROWS);
  return { listed: first?.drawn ?? [], full: second?.drawn ?? [], wholeShare };
}

const PROMPT = [5, 6, 7, 400, 401, 402, 7, 7];
const BIAS = [
  { token: 3, bias: -5 },
  { token: 19_000, bias: -100 },
];

test.each<[string, Case]>([
  ["greedy", { params: { temperature: 0 }, wholeMost: 0 }],
  ["top_k", { params: { topK: 20 }, wholeMost: 0.1 }],
  [
    "top_k, top_p and min_p",
    { params: { topK: 64, topP: 0.9, minP: 0.01, temperature: 0.7 }, wholeMost: 0.3 },
  ],
  ["a small nucleus", { params: { topP: 0.8, temperature: 0.1 }, wholeMost: 0.2 }],
  ["min_p", { params: { minP: 0.3, temperature: 0.4 }, wholeMost: 0.1 }],
  ["temperature alone", { params: { temperature: 0.1 }, wholeMost: 0.8 }],
  ["a hot nucleus, which does not fit", { params: { topP: 0.99, temperature: 1.5 }, wholeMost: 1 }],
  [
    "penalties and DRY",
    {
      params: {
        topK: 30,
        repetitionPenalty: 1.3,
        frequencyPenalty: 0.4,
        presencePenalty: 0.5,
        dry: { ...DEFAULT_DRY, multiplier: 0.8 },
      },
      prompt: PROMPT,
      wholeMost: 0.2,
    },
  ],
  [
    "penalties that make words likelier",
    { params: { topK: 30, presencePenalty: -1 }, prompt: PROMPT, wholeMost: 1 },
  ],
  ["biases", { params: { topK: 30, logitBias: BIAS }, wholeMost: 0.2 }],
  ["a bias for a word", { params: { temperature: 0, logitBias: [{ token: 700, bias: 3 }] }, wholeMost: 1 }],
  ["a grammar that allows every second token", { params: { topK: 20 }, every: 2, wholeMost: 0.2 }],
  ["a grammar, greedy", { params: { temperature: 0 }, every: 5, wholeMost: 0.1 }],
])("%s: the same tokens from lists as from whole rows", (_, given) => {
  const { listed, full, wholeShare } = draws(given, 12);
  expect(listed).toEqual(full);
  expect(new Set(full).size).toBeGreaterThan(20);
  expect(wholeShare).toBeLessThanOrEqual(given.wholeMost);
});

describe("what is copied", () => {
  test("of 8 rows: less than 64 KB and one wait, where whole rows are 640 KB", () => {
    const before = [listing.traffic(), whole.traffic()];
    draws({ params: { temperature: 0 }, wholeMost: 0 }, 1);
    const [lists, rows] = [listing, whole].map((side, i) => {
      const { passes, bytes, waits, wholeRows } = side.traffic();
      const was = before[i];
      return [passes, bytes, waits, wholeRows].map(
        (value, j) => value - ([was?.passes, was?.bytes, was?.waits, was?.wholeRows][j] ?? 0),
      );
    });
    expect(lists?.[1]).toBeLessThan(64 * 1024);
    expect([lists?.[0], lists?.[2], lists?.[3]]).toEqual([1, 1, 0]);
    expect(rows).toEqual([1, ROWS * VOCABULARY * 4, 1, ROWS]);
  });

  test("log probabilities have the row as the model computed it", () => {
    pass(99);
    expect(listing.logits(3)).toEqual(whole.logits(3));
    expect(listing.logprobs(5, 12, 4)).toEqual(whole.logprobs(5, 12, 4));
  });
});

describe("streams that end", () => {
  const sides = (): readonly LlamaBackend[] => [listing, whole];

  /** A pass with a row of each of these slots. */
  function decode(side: LlamaBackend, slots: readonly number[], position: (slot: number) => number) {
    const columns = {
      token: Int32Array.from(slots, (slot) => 300 + slot),
      position: Int32Array.from(slots, position),
      slot: Int32Array.from(slots),
      output: new Int8Array(slots.length).fill(1),
    };
    return side.decode(columns, slots.length);
  }

  const EIGHT = [0, 1, 2, 3, 4, 5, 6, 7];

  test("leave the graph and the results of the others as they are, and their own cells", () => {
    pass(3);
    for (const side of sides()) expect(decode(side, EIGHT, () => 1)).toBe("done");
    const { reusedGraphs } = listing.traffic();
    const left = [7, 6, 4, 3, 1, 0]; // 2 and 5 have ended
    expect(decode(listing, left, () => 2)).toBe("done");
    expect(listing.traffic().reusedGraphs).toBe(reusedGraphs + 1);
    expect(decode(whole, EIGHT, () => 2)).toBe("done");
    for (const [row, slot] of left.entries()) expect(listing.logits(row)).toEqual(whole.logits(slot));
    for (const slot of [2, 5]) whole.cutSlot(slot as Parameters<LlamaBackend["cutSlot"]>[0], 2);
    // They go on as if nothing had been computed for them.
    for (const side of sides())
      expect(decode(side, EIGHT, (slot) => (left.includes(slot) ? 3 : 2))).toBe("done");
    for (const row of EIGHT) expect(listing.logits(row)).toEqual(whole.logits(row));
    // More than half have ended: the rest has rows of its own.
    for (const side of sides()) expect(decode(side, [6, 1], () => 4)).toBe("done");
    for (const row of [0, 1]) expect(listing.logits(row)).toEqual(whole.logits(row));
  });

  test("need no cells that the others want", async () => {
    setDeviceSampling("cpu");
    const small = await tinyBackend({ contextLen: 256, maxSeqs: ROWS, prefixCacheN: 0, threads: 1 });
    setDeviceSampling("");
    const filled = small.cells - 2 * ROWS + 2; // leaves 6 cells after a pass of 8
    const columns = {
      token: new Int32Array(filled).fill(300),
      position: Int32Array.from({ length: filled }, (_, i) => i),
      slot: new Int32Array(filled).fill(7),
      output: new Int8Array(filled),
    };
    for (let at = 0; at < filled; at += small.ubatch) {
      const part = (list: Int32Array): Int32Array => list.slice(at, at + small.ubatch);
      const { token, position, slot, output } = columns;
      const rows = { token: part(token), position: part(position), slot: part(slot), output };
      expect(small.decode(rows, rows.token.length)).toBe("done");
    }
    expect(decode(small, EIGHT, (slot) => (slot === 7 ? filled : 0))).toBe("done");
    expect(decode(small, EIGHT, (slot) => (slot === 7 ? filled + 1 : 1))).toBe("full");
    expect(decode(small, [0, 1, 2, 3, 4, 5], () => 1)).toBe("done");
    small.close();
  });
});
