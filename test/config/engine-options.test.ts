// From settings to what an engine is started with.

import { expect, test } from "bun:test";
import { imageOptions, textOptions, type TextParts } from "../../src/config/engine-options.ts";
import { formatProblems } from "../../src/config/problem.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import type { ModelSettings, Settings } from "../../src/config/settings.ts";

const PARTS: TextParts = {
  modelPath: "/models/a.gguf",
  adapterPath: undefined,
  chatTemplate: undefined,
  rpcEndpoints: [],
  backends: () => [],
};

function settingsOf(environment: Readonly<Record<string, string>>): Settings {
  const result = loadSettings({ environment });
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.settings;
}

function modelOf({ models }: Settings): ModelSettings {
  const [model] = models;
  if (model === undefined) throw new Error("there is always one model");
  return model;
}

const common = (settings: Settings) => ({ settings, cacheDir: "/cache", verbosity: 0 });

function text(environment: Readonly<Record<string, string>>, device: Partial<ModelSettings["device"]> = {}) {
  const settings = settingsOf(environment);
  const model = modelOf(settings);
  const placed = { ...model, device: { ...model.device, ...device } };
  return textOptions(placed, common(settings), PARTS);
}

test("megabytes become bytes, `auto` a type, and unset values stay absent", () => {
  const options = text({ SVC_PA_MEMORY_MB: "64" });
  expect(options).toMatchObject({
    modelPath: "/models/a.gguf",
    memoryBytes: 64 * 1024 * 1024,
    cacheType: "f16",
  });
  for (const name of ["adapterPath", "chatTemplate", "contextLen", "threads"])
    expect(options).not.toHaveProperty(name);
  expect(options).toMatchObject({ speculative: { type: "auto" } });
  expect(text({ SVC_SPECULATIVE: "off" })).not.toHaveProperty("speculative");
});

test("micro-batches: a size for devices where none is set, within a batch", () => {
  expect(text({})).toMatchObject({ ubatch: 512, deviceUbatch: 1024, mixtureUbatch: 2048 });
  const small = { ubatch: 128, deviceUbatch: 128, mixtureUbatch: 128 };
  expect(text({ SVC_BATCH: "128" })).toMatchObject(small);
  expect(text({ SVC_UBATCH: "64" })).toMatchObject({ ubatch: 64 });
  expect(text({ SVC_UBATCH: "64" })).not.toHaveProperty("deviceUbatch");
});

test("draft tokens: a length for devices where none is set", () => {
  const drafts = { SVC_SPECULATIVE: "mtp" };
  expect(text(drafts).speculative).toMatchObject({ mtpNPredict: 3, deviceNPredict: 8 });
  const chosen = text({ ...drafts, SVC_MTP_N_PREDICT: "5" }).speculative;
  expect(chosen).toMatchObject({ mtpNPredict: 5 });
  expect(chosen).not.toHaveProperty("deviceNPredict");
});

test("without a KV cache there is neither a prefix cache nor speculative decoding", () => {
  const options = text({ SVC_NO_KV_CACHE: "true", SVC_SPECULATIVE: "ngram" });
  expect(options).toMatchObject({ noKvCache: true, prefixCacheN: 0 });
  expect(options).not.toHaveProperty("speculative");
  expect(text({ SVC_SPECULATIVE: "ngram" })).toMatchObject({ speculative: { type: "ngram" } });
});

test("back ends are loaded only if layers may be placed on an accelerator", () => {
  expect(text({})).toMatchObject({ deviceLayers: -1, backends: [] });
  expect(text({}, { device_layers: 7 })).toMatchObject({ deviceLayers: 7, backends: [] });
  for (const device of [{ cpu: true }, { cpu: true, device_layers: 7 }, { device_layers: 0 }]) {
    expect(text({}, device)).toMatchObject({ deviceLayers: 0 });
    expect(text({}, device)).not.toHaveProperty("backends");
  }
});

test("placement: what the settings say about devices, and nothing where they say nothing", () => {
  expect(text({})).not.toHaveProperty("placement");
  const chosen = {
    split_mode: "row",
    tensor_split: [3, 1],
    n_cpu_moe: 4,
    memory_mb: 2,
    fallback: "cpu",
  } as const;
  expect(text({}, chosen)).toMatchObject({
    placement: { splitMode: "row", tensorSplit: [3, 1], expertsOnCpu: 4, memoryBytes: 2 * 1024 * 1024 },
    fallback: "cpu",
  });
  expect(text({}, { cpu_moe: true, main_gpu: 1 }).placement).toEqual({ mainGpu: 1, expertsOnCpu: "all" });
  expect(text({}, { cpu: true, main_gpu: 1 })).not.toHaveProperty("placement");
});

test("an image model has the devices of its settings, and back ends only where it may use one", () => {
  const settings = settingsOf({});
  const own = modelOf(settings);
  const backends = [{ name: "vulkan", path: "/b.so", needs: [] }];
  const placed = (device: Partial<ModelSettings["device"]>) =>
    imageOptions({ ...own, device: { ...own.device, ...device } }, common(settings), "/m", () => backends);
  expect(placed({ main_gpu: 1, memory_mb: 2, fallback: "cpu" })).toMatchObject({
    deviceLayers: -1,
    placement: { mainGpu: 1, memoryBytes: 2 * 1024 * 1024 },
    fallback: "cpu",
    backends,
  });
  expect(placed({ cpu: true })).not.toHaveProperty("backends");
});

test("an image model has its checkpoint, or the parts that settings name", () => {
  const settings = settingsOf({});
  const model = modelOf(settings);
  expect(imageOptions(model, common(settings), "/models/sd.gguf", () => []).files).toEqual({
    model: "/models/sd.gguf",
  });
  const parts = {
    ...model,
    format: { ...model.format, diffusion_model: "/models/d.gguf", vae: "/models/v.gguf" },
  };
  expect(imageOptions(parts, common(settings), undefined, () => []).files).toEqual({
    diffusionModel: "/models/d.gguf",
    vae: "/models/v.gguf",
  });
});
