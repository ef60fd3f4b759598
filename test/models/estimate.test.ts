import { describe, expect, test } from "bun:test";
import type { HubModelChoice } from "../../src/core/hub.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { contextThatFits, memoryWith, trainedContext } from "../../src/engine/memory-fit.ts";
import { estimated, lackText, qualityOf, readShare, recommendation } from "../../src/models/estimate.ts";
import { TINY_FILE } from "../helpers/binary.ts";
import { TEXT_OPTIONS } from "../helpers/text-options.ts";

type Candidate = Omit<HubModelChoice, "is_default">;

function candidate(quantization: string, speed: number | null, over: Partial<Candidate> = {}): Candidate {
  return {
    id: `a/b:${quantization}`,
    quantization,
    files: [],
    size_bytes: 1e9,
    projector: null,
    draft: null,
    download_bytes: 1e9,
    memory_bytes: 2e9,
    fit: "fits",
    quality: qualityOf(quantization),
    loaded_bytes: 1.1e9,
    memory: [{ context_tokens: 32_768, memory_bytes: 3e9 }],
    context_fits: 32_768,
    layers: 30,
    device_layers: 0,
    tokens_per_second: speed === null ? null : { expected: speed, low: speed * 0.75, high: speed * 1.25 },
    downloaded: false,
    ...over,
  };
}

test.each([
  ["BF16", "full"],
  ["F32", "full"],
  ["Q8_0", "high"],
  ["Q6_K", "high"],
  ["Q5_K_M", "good"],
  ["IQ4_XS", "good"],
  ["MXFP4_MOE", "good"],
  ["Q3_K_L", "reduced"],
  ["IQ2_XXS", "poor"],
  ["TQ1_0", "poor"],
  [null, "unknown"],
] as const)("the quality of %s is %s", (quantization, quality) => {
  expect(qualityOf(quantization)).toBe(quality);
});

describe("the recommended model is", () => {
  const all = [
    candidate("IQ2_XS", 30, { size_bytes: 1 }),
    candidate("Q4_K_M", 15, { size_bytes: 2 }),
    candidate("Q6_K", 10, { size_bytes: 3 }),
    candidate("Q8_0", 7, { size_bytes: 4 }),
    candidate("BF16", 4, { size_bytes: 5 }),
  ];
  const usual = "a/b:Q4_K_M";
  const slow = all.map((one) => ({ ...one, tokens_per_second: { expected: 2, low: 1.5, high: 2.5 } }));
  const unknown = all.map((one) => ({ ...one, tokens_per_second: null }));
  const few = (tokens: number) => all.map((one) => ({ ...one, context_fits: tokens }));
  test.each([
    [
      "the best one that is quick enough",
      all,
      "a/b:Q6_K",
      "the best quality (high) that fits with 32,768 tokens",
    ],
    [
      "8 bits, not 16, of a quick model",
      all.map((one) => ({ ...one, tokens_per_second: { expected: 50, low: 40, high: 60 } })),
      "a/b:Q8_0",
      "writes about 50 tokens/s (40 to 60)",
    ],
    ["the usual one where all are slow", slow, usual, "all that fit are slower than people read"],
    ["the usual one where no speed is known", unknown, usual, "quality good, fits with 32,768 tokens"],
    [
      "the best one that the cards hold",
      unknown.map((one, at) => ({ ...one, device_layers: at < 3 ? 30 : 20 })),
      "a/b:Q6_K",
      "that fits the cards",
    ],
    ["the smallest where the context is short", few(2048), "a/b:IQ2_XS", "short context"],
    [
      "none on a machine that is too small",
      all.map((one) => ({ ...one, fit: "too_large" as const })),
      null,
      "none fits this machine: the smallest takes about 2.00 GB",
    ],
    [
      "none where the files do not tell",
      [candidate("Q8_0", null, { memory_bytes: null, fit: "unknown" })],
      null,
      "do not tell",
    ],
    ["none of an empty repository", [], null, "no GGUF model"],
  ])("%s", (_, models, recommended, why) => {
    const found = recommendation(models, usual);
    expect(found.recommended).toBe(recommended);
    expect(found.reason).toContain(why);
  });
});

describe("an estimate", () => {
  const header = readGgufHeader(TINY_FILE);
  const file = { metadata: header.fields, weightBytes: 5e6, options: { ...TEXT_OPTIONS, deviceLayers: -1 } };
  const most = trainedContext(header.fields);

  test("has the longest context that fits, which the memory of a load is computed for", () => {
    expect(contextThatFits(file, memoryWith(file, most))).toBe(most);
    for (let cells = 256; cells < most; cells += 256 * 5) {
      expect(contextThatFits(file, memoryWith(file, cells))).toBe(cells);
      expect(contextThatFits(file, memoryWith(file, cells) - 1)).toBe(cells - 256);
    }
    expect(contextThatFits(file, 0)).toBe(0);
  });

  test("is of memory at the usual contexts, of layers, and of the speed that memory allows", () => {
    const share = readShare([header]);
    const room = { freeBytes: 1e12, cards: [], bytesPerSecond: 1e10 };
    const found = estimated(file, { modelBytes: 5e6, share }, room);
    expect(share).toBeWithin(0.3, 1.01);
    expect(found.memory.map((one) => one.context_tokens)).toEqual([most]);
    expect(found).toMatchObject({ context_fits: most, device_layers: 0 });
    const seconds = (5e6 * (share ?? 0)) / (0.85 * 1e10) + 45e-6 * (found.layers ?? 0) + 150e-6;
    expect((found.tokens_per_second?.expected ?? 0) * seconds).toBeCloseTo(1, 1);
    const onCard = estimated(
      file,
      { modelBytes: 5e6, share },
      { ...room, cards: [{ name: "CUDA0", bytes: 1e12 }] },
    );
    expect(onCard).toMatchObject({ device_layers: found.layers, tokens_per_second: null });
  });
});

test("what a model lacks with a configured cache, on the machine or its cards, is said with a context that fits", () => {
  const { fields } = readGgufHeader(TINY_FILE);
  const options = { ...TEXT_OPTIONS, maxSeqs: 64, contextLen: 64 * 8192 };
  const file = { metadata: fields, weightBytes: 1e7, options };
  const needed = memoryWith(file, options.contextLen);
  const room = {
    freeBytes: needed / 4,
    cards: [{ name: "A", bytes: needed / 4 }],
    bytesPerSecond: undefined,
  };
  const text = lackText(file, room);
  expect(text).toMatch(
    /^[\d.]+ [MG]B are missing for 524288 cache cells: use context_len of at most \d+, which is \d+ of 64 /,
  );
  const contextLen = Number(/at most (\d+)/.exec(text)?.[1]);
  expect(lackText({ ...file, options: { ...options, contextLen } }, room)).toBe("");
  expect(lackText({ ...file, options: { ...options, contextLen: contextLen + 512 } }, room)).not.toBe("");
  expect(lackText(file, { ...room, freeBytes: needed })).toBe("");
});
