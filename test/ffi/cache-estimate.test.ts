// The cache that is estimated before a model is loaded, against what its context takes.

import { expect, test } from "bun:test";
import { memoryNeed } from "../../src/engine/memory-fit.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { tinyBackend, TINY_PATH } from "../helpers/native.ts";

const OPTIONS: TextOptions = {
  kind: "text",
  cacheDir: "",
  maxSeqs: 4,
  prefixCacheN: 0,
  contextLen: 2048,
  cacheType: "f16",
  pagedAttn: true,
  batch: 128,
  ubatch: 128,
  deviceLayers: 0,
  verbosity: 0,
};

async function ratio(path: string): Promise<number> {
  const backend = await tinyBackend(OPTIONS, path);
  const used = backend.memory().reduce((sum, { cache }) => sum + cache, 0);
  backend.close();
  return (memoryNeed(path, OPTIONS, 1e10)?.cache ?? 0) / used;
}

const WINDOWS = ["gemma2", "gemma3", "cohere2", "gpt-oss", "afmoe"];
const STATES = ["mamba", "mamba2", "rwkv6", "rwkv7", "lfm2", "jamba", "falcon-h1", "qwen35", "nemotron_h"];
test.each([...WINDOWS, ...STATES])("of %s is within 10 %", async (name) => {
  const estimate = await ratio(architectureModel(name));
  expect([estimate > 0.9, estimate < 1.1, estimate]).toEqual([true, true, estimate]);
});

test("of the built-in model is exact; of kinds that are not known nothing is claimed", async () => {
  expect(await ratio(TINY_PATH)).toBe(1);
  expect(await ratio(architectureModel("gemma4"))).toBe(0);
});
