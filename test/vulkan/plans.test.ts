// Where models go that a card does not hold: plans by headers, for cards of every size that the driver claims to be (faults.c).

import { beforeAll, describe, expect, test } from "bun:test";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { installVulkan, IS_WANTED, plansOn } from "./device.ts";
import type { PlanCase, PlanOutcome } from "./planner.ts";

const MIB = 2 ** 20;
/** One card, MiB. */
const SIZES = [512, 1024, 2048, 2800, 3072, 4096] as const;
const DEFAULTS: readonly PlanCase[] = [
  { model: "mixture", options: {} },
  { model: "dense", options: {} },
];
const mixture = (options: Partial<TextOptions>): PlanCase => ({ model: "mixture", options });

function onCpu(values: readonly number[]): number {
  return values.at(-1) ?? 0;
}

function onCards(values: readonly number[]): number {
  return values.slice(0, -1).reduce((sum, bytes) => sum + bytes, 0);
}

describe.skipIf(!IS_WANTED)("plans", () => {
  const mixtures: PlanOutcome[] = [];
  const others: PlanOutcome[] = [];

  beforeAll(async () => {
    await installVulkan();
    for (const size of SIZES) {
      const [own, dense] = await plansOn([size], DEFAULTS);
      if (own === undefined || dense === undefined) throw new Error("an outcome is missing");
      mixtures.push(own);
      others.push(dense);
    }
  }, 600_000);

  test("of a mixture all layers are on a small card, with its cache; experts fill what that leaves", () => {
    for (const [index, outcome] of mixtures.entries()) {
      const bytes = (SIZES[index] ?? 0) * MIB;
      expect([outcome.deviceLayers, onCpu(outcome.cache)]).toEqual([outcome.layers, 0]);
      expect(outcome.divided > 0).toBe(bytes < 3072 * MIB);
      if (outcome.divided === 0) continue;
      expect(onCards(outcome.cache)).toBeLessThan(0.27 * bytes); // a quarter, and masks
      expect(onCards(outcome.cache) + onCards(outcome.weights)).toBeGreaterThan(0.7 * bytes);
      expect(outcome.summary).toMatch(/^all 13 layers on .*, experts on the CPU \(.* of weights\): /);
    }
    const cells = mixtures.map((outcome) => outcome.cells);
    expect(Math.min(...cells)).toBeGreaterThanOrEqual(4096);
    const weights = mixtures.map((outcome) => onCards(outcome.weights));
    expect(weights.toSorted((a, b) => a - b)).toEqual(weights);
    const divided = mixtures.map((outcome) => outcome.divided);
    expect(divided.toSorted((a, b) => b - a)).toEqual(divided);
    expect(new Set(divided).size).toBeGreaterThan(3);
  });

  test("of others more layers are on a larger card, never for a cache of a few cells or a large one", () => {
    for (const { cells, cache, weights, deviceLayers, layers } of others) {
      expect(cells).toBeGreaterThanOrEqual(4096);
      if (deviceLayers < layers)
        expect(onCards(cache) + onCpu(cache)).toBeLessThan((onCards(weights) + onCpu(weights)) / 3.9);
    }
    const layers = others.map(({ deviceLayers }) => deviceLayers);
    expect(layers.toSorted((a, b) => a - b)).toEqual(layers);
    expect([new Set(layers).size > 3, layers.at(-1)]).toEqual([true, 25]);
  });

  test("micro-batches are those of devices, drafts only where no expert is on the CPU", async () => {
    const speculative = {
      type: "mtp",
      mtpNPredict: 3,
      deviceNPredict: 8,
      mtpDraftSampling: "greedy",
    } as const;
    const cases = [mixture({ speculative }), mixture({ placement: { expertsOnCpu: "all" } }), ...DEFAULTS];
    const [small] = await plansOn([2048], cases);
    const [large, chosen] = await plansOn([4096], cases);
    expect([small?.ubatch, small?.draftTokens, (small?.divided ?? 0) > 0]).toEqual([2048, 3, true]);
    expect([large?.ubatch, large?.draftTokens, large?.divided]).toEqual([2048, 8, 0]);
    expect(onCards(chosen?.cache ?? [])).toBeGreaterThan(0.6 * 4096 * MIB); // nothing else wants the card
    expect([chosen?.divided, chosen?.deviceLayers]).toEqual([12, 13]);
  });

  test("a chosen context is the one that is loaded, and chosen layers stay", async () => {
    const [context, layers] = await plansOn(
      [1024],
      [mixture({ contextLen: 8192 }), { model: "dense", options: { deviceLayers: 5 } }],
    );
    expect([context?.cells, context?.deviceLayers]).toEqual([8192, 13]);
    expect([layers?.deviceLayers, (layers?.cells ?? 0) >= 4096]).toEqual([5, true]);
  });

  test("on a card without room for a layer with a cache, the cache is the CPU's", async () => {
    const [own, dense] = await plansOn([64], DEFAULTS);
    for (const outcome of [own, dense]) {
      expect([(outcome?.deviceLayers ?? 0) <= 1, onCards(outcome?.cache ?? [])]).toEqual([true, 0]);
      expect(outcome?.cells).toBeGreaterThan(10_000); // a quarter of main memory
    }
  });

  test.each([
    [1024, 2048],
    [2048, 1024],
  ])("cards of %i and %i MiB share a model by their memory", async (first, second) => {
    const [own, dense] = await plansOn([first, second], DEFAULTS);
    for (const outcome of [own, dense]) {
      const [one = 0, other = 0] = outcome?.weights ?? [];
      expect([outcome?.deviceLayers === outcome?.layers, one > other]).toEqual([true, first > second]);
      expect(outcome?.cells).toBeGreaterThanOrEqual(4096);
    }
  });
});
