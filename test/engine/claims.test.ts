// What a model takes of main memory and of each device.

import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { cardsOf, deviceCapacity } from "../../src/models/device-capacity.ts";
import { fitOf } from "../../src/models/hub-fit.ts";
import type { EngineHost } from "../../src/core/system.ts";
import { type Card, claimsOf } from "../../src/engine/claims.ts";
import { ENGINE_PROCESS_BYTES } from "../../src/engine/limits.ts";
import { memoryNeed, totalBytes } from "../../src/engine/memory-fit.ts";
import { type Claim, HOST } from "../../src/engine/places.ts";
import type { TextInfo, TextOptions } from "../../src/engine/protocol.ts";
import { TINY_PATH } from "../helpers/native.ts";
import { TEXT_OPTIONS } from "../helpers/text-options.ts";

const MIB = 2 ** 20;
const FREE = 1e12;
const OPTIONS: TextOptions = {
  ...TEXT_OPTIONS,
  modelPath: TINY_PATH,
  contextLen: 4096,
  ubatch: 128,
  deviceLayers: -1,
  backends: [{ name: "vulkan", path: "/b.so", needs: [] }],
};
const DRAFT: TextOptions = {
  ...OPTIONS,
  speculative: { type: "mtp", mtpModel: TINY_PATH, mtpNPredict: 3, mtpDraftSampling: "greedy" },
};

const cards = (...bytes: readonly number[]): readonly Card[] =>
  bytes.map((size, index) => ({ name: `CUDA${index}`, bytes: size }));

function total(options: TextOptions): number {
  const need = memoryNeed(TINY_PATH, options, FREE);
  return need === undefined ? 0 : totalBytes(need);
}

const wanted = (options: TextOptions, devices: readonly Card[] | undefined): Claim =>
  claimsOf(options, FREE)(devices);

describe("before the load", () => {
  test("the cards share a model by their free memory; the shares are all of it", () => {
    const claim = wanted(OPTIONS, cards(300 * MIB, 100 * MIB));
    expect(claim.get("CUDA0")).toBe(Math.ceil(total(OPTIONS) * 0.75));
    expect(claim.get("CUDA1")).toBe(Math.ceil(total(OPTIONS) * 0.25));
    expect(claim.get(HOST)).toBeCloseTo(ENGINE_PROCESS_BYTES, -1);
  });

  test("settings decide about the shares: one card, configured shares, some layers, a limit", () => {
    const two = cards(300 * MIB, 100 * MIB);
    const alone = wanted({ ...OPTIONS, placement: { mainGpu: 1 } }, two);
    expect([...alone.keys()]).toEqual([HOST, "CUDA1"]);
    expect(alone.get("CUDA1")).toBe(total(OPTIONS));
    const divided = wanted({ ...OPTIONS, placement: { tensorSplit: [1, 3] } }, two);
    expect(divided.get("CUDA1")).toBe(Math.ceil(total(OPTIONS) * 0.75));
    const half = wanted({ ...OPTIONS, deviceLayers: 3 }, cards(300 * MIB));
    expect(half.get("CUDA0")).toBe(Math.ceil((total(OPTIONS) * 3) / 7));
    const limited = wanted({ ...OPTIONS, placement: { memoryBytes: 2 * MIB } }, two);
    expect([limited.get("CUDA0"), limited.get("CUDA1")]).toEqual([2 * MIB, 2 * MIB]);
    expect(limited.get(HOST)).toBe(ENGINE_PROCESS_BYTES + total(OPTIONS) - 4 * MIB);
  });

  test("a model that is larger than a card takes the whole card, the rest of main memory", () => {
    const claim = wanted(OPTIONS, cards(5 * MIB));
    expect(claim.get("CUDA0")).toBe(5 * MIB);
    expect(claim.get(HOST)).toBe(ENGINE_PROCESS_BYTES + total(OPTIONS) - 5 * MIB);
  });

  test("a draft model is on the first card as a whole, with its cache", () => {
    const need = memoryNeed(TINY_PATH, DRAFT, FREE);
    const weights = statSync(TINY_PATH).size;
    expect(need?.companions).toBe(total(OPTIONS));
    expect(need?.weights).toBe(2 * weights);
    const claim = wanted(DRAFT, cards(100 * MIB, 100 * MIB));
    expect(claim.get("CUDA0")).toBe(Math.ceil(total(OPTIONS) * 1.5));
    expect(claim.get("CUDA1")).toBe(Math.ceil(total(OPTIONS) * 0.5));
  });

  test("nothing where the cards are unknown; main memory where there is none, or no back end", () => {
    expect(wanted(OPTIONS, undefined)).toEqual(new Map([[HOST, ENGINE_PROCESS_BYTES]]));
    const all = new Map([[HOST, ENGINE_PROCESS_BYTES + total(OPTIONS)]]);
    expect(wanted(OPTIONS, [])).toEqual(all);
    expect(wanted({ ...OPTIONS, backends: [], deviceLayers: 0 }, cards(100 * MIB))).toEqual(all);
  });
});

describe("after the load", () => {
  const entry = (device: string, bytes: number) => ({
    device,
    description: "",
    weights_bytes: bytes,
    cache_bytes: 2 * bytes,
    compute_bytes: 3 * bytes,
    estimated_bytes: 0,
  });
  const loaded: TextInfo = {
    kind: "text",
    modelPath: "",
    description: "",
    architecture: "",
    sizeBytes: 7,
    vocabulary: 1,
    trainedContext: 1,
    hasHead: false,
    contextTokens: 1,
    cells: 1024,
    maxSeqs: 1,
    threads: 1,
    generates: true,
    embeds: false,
    ranks: false,
    fillsGaps: false,
    thinks: false,
    modalities: [],
  };
  const placement = {
    layers: 7,
    device_layers: 5,
    divided_layers: 0,
    devices: [entry("CUDA0", 10), entry("RPC0[127.0.0.1:1]", 40), entry("CUDA1", 20), entry("CPU", 5)],
  };

  test.each([["a file"], ["the built-in model"]])("%s: what each device has taken", (source) => {
    const { modelPath: _, ...builtIn } = OPTIONS;
    const options = source === "a file" ? OPTIONS : builtIn;
    expect(claimsOf(options, FREE)(cards(1), { ...loaded, placement })).toEqual(
      new Map([
        [HOST, ENGINE_PROCESS_BYTES + 30],
        ["CUDA0", 60],
        ["CUDA1", 120],
      ]),
    );
  });

  test("main memory, with the cells that it has", () => {
    const claim = claimsOf(OPTIONS, FREE)(cards(100 * MIB), loaded);
    const need = memoryNeed(TINY_PATH, OPTIONS, FREE, 1024);
    expect(claim).toEqual(
      new Map([[HOST, ENGINE_PROCESS_BYTES + (need === undefined ? 0 : totalBytes(need))]]),
    );
  });
});

describe("capacity", () => {
  const GIB = 2 ** 30;
  const device = (name: string, type: "cpu" | "gpu", free: number) => ({
    name,
    description: "",
    type,
    backend: "",
    memory_total: 16 * GIB,
    memory_free: free,
  });
  const host = (
    devices: readonly ReturnType<typeof device>[],
    failures: readonly string[] = [],
  ): EngineHost => ({
    llama_version: "1",
    cpu_variant: null,
    cpu_features: [],
    kernels: [],
    devices: [...devices],
    landlock_abi: null,
    backend_failures: [...failures],
  });

  test("of each card: what the first engine found, less the reserve; not of workers", () => {
    const first = host([device("CUDA0", "gpu", 12 * GIB), device("CPU", "cpu", GIB)]);
    const second = host([
      device("CUDA0", "gpu", 3 * GIB),
      device("CUDA1", "gpu", 9 * GIB),
      device("RPC0[h]", "gpu", GIB),
    ]);
    expect(cardsOf([first, second])).toEqual([
      { name: "CUDA0", bytes: 11 * GIB },
      { name: "CUDA1", bytes: 8 * GIB },
    ]);
    const capacity = deviceCapacity(undefined, () => [first, second]);
    expect([capacity("CUDA0", []), capacity("CUDA1", []), capacity("rpc h:1", [])]).toEqual([
      11 * GIB,
      8 * GIB,
      1,
    ]);
    expect(capacity("Vulkan0", [])).toBe(Infinity);
    expect(deviceCapacity(1, () => [first])(HOST, [])).toBe(MIB);
  });

  test("is unknown until an engine has looked; none where the back end cannot be loaded", () => {
    expect(cardsOf([])).toBeUndefined();
    expect(cardsOf([host([device("CPU", "cpu", 1)])])).toBeUndefined();
    expect(cardsOf([host([device("CPU", "cpu", 1)], ["back end cuda: no driver"])])).toEqual([]);
  });
});

test("a model of the hub fits where main memory and the cards together hold it", () => {
  const beyond = 2 ** 50; // more than any main memory
  expect(fitOf(undefined, [])).toBe("unknown");
  expect([fitOf(beyond, []), fitOf(beyond, cards(beyond / 2))]).toEqual(["too_large", "too_large"]);
  expect(fitOf(beyond, cards(beyond / 2, beyond / 2))).toBe("fits");
});
