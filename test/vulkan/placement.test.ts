// Placement by the native library on Mesa's software device: which parts of a model land where.

import { beforeAll, describe, expect, test } from "bun:test";
import type { Native } from "../../ffi/library.ts";
import { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { LoadHooks } from "../../ffi/llama/model.ts";
import { modelBytes } from "../../src/core/model-bytes.ts";
import type { PlacementOptions, TextOptions } from "../../src/engine/protocol.ts";
import { TINY_PATH } from "../helpers/native.ts";
import { tinyExperts } from "../helpers/tiny-experts.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { tinyMmproj } from "../helpers/tiny-mmproj.ts";
import { IS_WANTED, vulkanNative } from "./device.ts";

const MIB = 2 ** 20;

interface Loaded {
  readonly backend: LlamaBackend;
  readonly summary: string;
}

describe.skipIf(!IS_WANTED)("placement", () => {
  let native: Native;

  beforeAll(async () => void (native = await vulkanNative()), 180_000);

  async function load(
    path: string,
    placement: PlacementOptions,
    more: Partial<TextOptions> = {},
    hooks: LoadHooks = {},
    isSized = true,
  ): Promise<Loaded> {
    let summary = "";
    const options: TextOptions = {
      kind: "text",
      cacheDir: "",
      maxSeqs: 4,
      prefixCacheN: 0,
      ...(isSized ? { contextLen: 2048 } : {}),
      cacheType: "f16",
      pagedAttn: true,
      threads: 2,
      batch: 512,
      ubatch: 128,
      deviceLayers: -1,
      placement,
      verbosity: 0,
      ...more,
    };
    const onPlaced = (text: string): void => void (summary = text);
    return { backend: await LlamaBackend.load(native, path, options, { onPlaced, ...hooks }), summary };
  }

  /** Bytes of weights by the kind of buffer that holds them. */
  function weights({ backend }: Loaded): { readonly device: number; readonly kernels: number } {
    const sum = (of: (buffer: string) => boolean): number =>
      backend
        .memory()
        .filter(({ buffer }) => of(buffer))
        .reduce((total, { weights: bytes }) => total + bytes, 0);
    return {
      device: sum((buffer) => buffer === "Vulkan0"),
      kernels: sum((buffer) => buffer.startsWith("svc-kernels:")),
    };
  }

  test("a model that fits is on the device", async () => {
    const loaded = await load(TINY_PATH, {});
    const { placement } = loaded.backend.info;
    expect(placement).toMatchObject({ layers: 7, device_layers: 7, divided_layers: 0 });
    expect(loaded.summary).toMatch(/^all 7 layers on Vulkan0/);
    loaded.backend.close();
  });

  const draft = {
    speculative: { type: "mtp", mtpModel: TINY_PATH, mtpNPredict: 3, mtpDraftSampling: "greedy" },
  } as const;
  const head = { speculative: { type: "mtp", mtpNPredict: 3, mtpDraftSampling: "greedy" } } as const;
  const wide = { ubatch: 512, batch: 2048, maxSeqs: 32 };
  const files = {
    tiny: () => TINY_PATH,
    experts: tinyExperts,
    hybrid: () => tinyHybrid({ silent: false, head: true }),
  };
  test.each<readonly [string, keyof typeof files, PlacementOptions, Partial<TextOptions>]>([
    ["the whole model", "tiny", {}, {}],
    ["a long context of q8_0", "tiny", {}, { contextLen: 8192, cacheType: "q8_0" }],
    ["many sequences", "tiny", {}, { contextLen: 4096, ...wide }],
    ["some layers", "tiny", {}, { deviceLayers: 2 }],
    ["some layers, many sequences", "tiny", {}, { deviceLayers: 4, contextLen: 4096, ...wide }],
    ["as many layers as fit", "tiny", { memoryBytes: 8 * MIB }, { contextLen: 4096 }],
    ["experts on the CPU", "experts", { expertsOnCpu: "all" }, {}],
    ["some layers of experts", "experts", {}, { deviceLayers: 2, contextLen: 4096 }],
    ["a draft model", "tiny", {}, draft],
    ["a draft model beside a divided model", "tiny", { memoryBytes: 20 * MIB }, draft],
    ["a head in the model's file", "hybrid", {}, head],
    ["a head in the model's file within a limit", "hybrid", { memoryBytes: 7 * MIB }, head],
    ["a projector", "tiny", {}, { mmprojPath: tinyMmproj() }],
    ["a projector beside a divided model", "tiny", { memoryBytes: 12 * MIB }, { mmprojPath: tinyMmproj() }],
  ])("estimates what each device and the CPU take within 10 %: %s", async (_, file, placement, more) => {
    const path = files[file]();
    const { backend } = await load(path, placement, more);
    const devices = backend.info.placement?.devices ?? [];
    expect(devices.map(({ device }) => device)).toEqual(["Vulkan0", "CPU"]);
    for (const { device, weights_bytes, cache_bytes, compute_bytes, estimated_bytes } of devices) {
      const used = weights_bytes + cache_bytes + compute_bytes;
      expect([device, estimated_bytes / used > 0.9, estimated_bytes / used < 1.1, used > 0]).toEqual([
        device,
        true,
        true,
        true,
      ]);
      expect(used).toBeLessThanOrEqual(device === "CPU" ? Infinity : (placement.memoryBytes ?? Infinity));
    }
    // Nothing is counted twice or left out: all weights of the model are somewhere.
    const weights = devices.reduce((sum, { weights_bytes: bytes }) => sum + bytes, 0);
    const { mmprojPath, speculative } = more;
    const others = [mmprojPath, speculative?.type === "mtp" ? speculative.mtpModel : undefined];
    const sizes = others.map((other) => (other === undefined ? 0 : modelBytes(other)));
    const all = sizes.reduce((sum, bytes) => sum + bytes, backend.info.sizeBytes);
    expect(weights).toBeGreaterThanOrEqual(all * 0.99);
    expect(weights).toBeLessThan(all * 1.2); // a tied embedding is copied
    backend.close();
  });

  test("less memory, fewer layers; those on the CPU are computed by svc's own kernels", async () => {
    const layers: number[] = [];
    for (const memoryBytes of [12, 8, 5].map((mebibytes) => mebibytes * MIB)) {
      const loaded = await load(TINY_PATH, { memoryBytes });
      const { device, kernels } = weights(loaded);
      expect(device).toBeLessThanOrEqual(memoryBytes);
      expect(kernels > 0).toBe((loaded.backend.info.placement?.device_layers ?? 0) < 7);
      layers.push(loaded.backend.info.placement?.device_layers ?? 0);
      loaded.backend.close();
    }
    expect(layers.toSorted((a, b) => b - a)).toEqual(layers);
    expect(new Set(layers).size).toBe(3);
  });

  test("a part on the CPU that main memory cannot hold is refused with the figures", async () => {
    const free = (bytes: number) => ({ freeBytes: () => bytes });
    const refused = load(TINY_PATH, {}, { deviceLayers: 3 }, free(2 * MIB));
    expect(refused).rejects.toThrow(
      /^3 of 7 layers on Vulkan0 .*the part on the CPU needs about .* of memory, but only .* are free; use /s,
    );
    const beside = { mmprojPath: tinyMmproj() };
    const { backend } = await load(TINY_PATH, { memoryBytes: MIB }, beside, free(1024 * MIB));
    const own = backend.info.placement?.devices.at(-1);
    const needed = own?.estimated_bytes ?? 0; // all of it is on the CPU here
    backend.close();
    expect(load(TINY_PATH, { memoryBytes: MIB }, beside, free(needed - 1))).rejects.toThrow("only");
    (await load(TINY_PATH, { memoryBytes: MIB }, beside, free(needed))).backend.close();
  });

  test("a model of which nothing fits takes nothing of the device", async () => {
    const loaded = await load(TINY_PATH, { memoryBytes: MIB });
    expect(loaded.summary).toContain("stay on the CPU");
    expect(loaded.backend.memory().filter(({ name }) => name === "Vulkan0")).toEqual([]);
    loaded.backend.close();
    const { backend } = await load(TINY_PATH, { memoryBytes: MIB }, draft);
    const { devices: [own, ...others] = [] } = backend.info.placement ?? {};
    backend.close();
    expect([own?.device, others]).toEqual(["CPU", []]);
    const { weights_bytes = 0, cache_bytes = 0, compute_bytes = 0, estimated_bytes = 0 } = own ?? {};
    const ratio = estimated_bytes / (weights_bytes + cache_bytes + compute_bytes);
    expect([ratio > 0.9, ratio < 1.1, ratio]).toEqual([true, true, ratio]);
  });

  test("micro-batches are those of devices only where the whole model is there with their buffers", async () => {
    const wide = { ubatch: 128, deviceUbatch: 512 };
    const whole = await load(TINY_PATH, {}, wide);
    const parts = await load(TINY_PATH, { memoryBytes: 8 * MIB }, wide);
    const chosen = await load(TINY_PATH, {}, { ubatch: 128 });
    expect([whole, parts, chosen].map(({ backend }) => backend.ubatch)).toEqual([512, 128, 128]);
    for (const { backend } of [whole, parts, chosen]) backend.close();
  });

  test("drafts are as long as on devices only where the whole model is there", async () => {
    const drafts = (speculative: Partial<Extract<TextOptions["speculative"], { type: "mtp" }>>) => ({
      speculative: { ...draft.speculative, ...speculative },
    });
    const wide = drafts({ mtpNPredict: 2, deviceNPredict: 5 });
    const whole = await load(TINY_PATH, {}, wide);
    const parts = await load(TINY_PATH, { memoryBytes: 20 * MIB }, wide);
    const chosen = await load(TINY_PATH, {}, drafts({ mtpNPredict: 2 }));
    const all = [whole, parts, chosen].map(({ backend }) => backend);
    expect(all.map(({ draftModel }) => draftModel?.max)).toEqual([5, 2, 2]);
    for (const backend of all) backend.close();
  });

  const sessions = { maxSeqs: 64, contextLen: 64 * 8192, batch: 512, ubatch: 128 };

  /** The ways that a text names, as options. */
  function waysIn(text: string): readonly Partial<TextOptions>[] {
    const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
    const type = /cache_type (q8_0|q4_0)/.exec(text)?.[1];
    const ways: readonly Partial<TextOptions>[] = [
      { contextLen: number(/context_len of at most (\d+)/) },
      { deviceLayers: number(/device_layers of at most (\d+)/) },
      ...(["q8_0", "q4_0"] as const).filter((one) => one === type).map((cacheType) => ({ cacheType })),
    ];
    return ways.filter((way) => !Object.values(way).includes(Number.NaN));
  }

  test("64 contexts of 8,192 tokens fit, or chosen layers are refused with what is missing; each way that is named works", async () => {
    const whole = await load(TINY_PATH, {}, { ...sessions, deviceLayers: 99 });
    const bytes = whole.backend.info.placement?.devices[0]?.estimated_bytes ?? 0;
    whole.backend.close();
    const memoryBytes = Math.ceil((bytes * 0.7) / MIB) * MIB;
    const more = { ...sessions, deviceLayers: 7 };
    const refused = await load(TINY_PATH, { memoryBytes }, more).then(
      ({ summary }) => summary,
      (error: Error) => error.message,
    );
    expect(refused).toMatch(
      /^7 of 7 layers need .* of Vulkan0 \(524288 cache cells .*, compute buffers .*\), which has .* for them: .* are missing; use /,
    );
    expect(refused).toMatch(/, which is \d\d of 64 sequences with 8192 tokens/);
    const ways = waysIn(refused);
    expect(ways.map((way) => Object.keys(way)[0])).toEqual(["contextLen", "deviceLayers", "cacheType"]);
    for (const way of ways) {
      const { backend } = await load(TINY_PATH, { memoryBytes }, { ...more, ...way });
      const [device] = backend.info.placement?.devices ?? [];
      const used = (device?.weights_bytes ?? 0) + (device?.cache_bytes ?? 0) + (device?.compute_bytes ?? 0);
      expect(used).toBeLessThanOrEqual(memoryBytes);
      expect(used).toBeGreaterThan(0);
      backend.close();
    }
  });

  test("layers that no one chose go to the CPU, and the log says what would place them all", async () => {
    const loaded = await load(TINY_PATH, { memoryBytes: 24 * MIB }, sessions);
    expect(loaded.backend.info.placement?.device_layers).toBeLessThan(7);
    loaded.backend.close();
    expect(loaded.summary).toMatch(/; for all of them .* are missing: use context_len of at most /);
    const [way = {}] = waysIn(loaded.summary);
    const whole = await load(TINY_PATH, { memoryBytes: 24 * MIB }, { ...sessions, ...way });
    expect(whole.backend.info.placement?.device_layers).toBe(7);
    whole.backend.close();
  });

  test("a cache without a configured size shrinks before layers leave the device", async () => {
    const sizes = { maxSeqs: 32, batch: 512, ubatch: 512 };
    const small = await load(TINY_PATH, { memoryBytes: 40 * MIB }, sizes, {}, false);
    const { placement, cells } = small.backend.info;
    small.backend.close();
    expect([placement?.device_layers, placement?.layers]).toEqual([7, 7]);
    expect(cells).toBeGreaterThanOrEqual(4096);
  });

  test("experts stay on the CPU: of all layers, or of the first ones", async () => {
    const path = tinyExperts();
    const whole = await load(path, {});
    const one = await load(path, { expertsOnCpu: 1 });
    const none = await load(path, { expertsOnCpu: "all" });
    expect([whole, one, none].map(({ backend }) => backend.info.placement?.divided_layers)).toEqual([
      0, 1, 2,
    ]);
    const [all = 0, half = 0, dense = 0] = [whole, one, none].map((loaded) => weights(loaded).device);
    expect(all - half).toBe(half - dense);
    expect(half).toBeGreaterThan(dense);
    for (const { backend } of [whole, one, none]) {
      expect(backend.info.placement?.device_layers).toBe(3);
      backend.close();
    }
  });

  test("shares, one device by number: a device that is not there is an error that names the setting", async () => {
    const loaded = await load(TINY_PATH, { tensorSplit: [1], memoryBytes: 8 * MIB });
    expect(loaded.backend.info.placement?.device_layers).toBeLessThan(7);
    loaded.backend.close();
    expect(load(TINY_PATH, { tensorSplit: [1, 2] })).rejects.toThrow("tensor_split has more entries");
    expect(load(TINY_PATH, { mainGpu: 3 })).rejects.toThrow("main_gpu: 3");
  });
});
