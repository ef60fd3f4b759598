// Graphs of a hybrid model whose layers are divided: the gated delta net stays one operation, where its layer is. The library
// reads the switch that prints graphs from its environment, so a process of its own loads the model.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { unpackLibraries } from "../../ffi/embedded.ts";
import { openNative } from "../../ffi/library.ts";
import { LlamaBackend } from "../../ffi/llama/llama.ts";
import { RELEASE } from "../../src/backends/catalog.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { installVulkan, IS_WANTED, OPTIONS } from "./device.ts";

/** The recurrent layer is the first one. */
const PLACES: Readonly<Record<string, { readonly options: Partial<TextOptions>; readonly place: string }>> = {
  "all layers on the device": { options: { deviceLayers: -1 }, place: "Vulka" },
  "experts on the CPU": { options: { deviceLayers: -1, placement: { expertsOnCpu: "all" } }, place: "Vulka" },
  "the first layer on the CPU": { options: { deviceLayers: 2 }, place: "CPU" },
};
const MARK = "@@ ";
const MODEL = process.env["SVC_TEST_GRAPHS_OF"];

async function printGraphs(path: string): Promise<void> {
  await installVulkan();
  const library = join(OPTIONS.cache, "svc", "backends", `vulkan-${RELEASE}`, "libggml-vulkan.so");
  const needs = [{ paths: ["libvulkan.so.1"], symbol: "vkGetInstanceProcAddr", from: "Debian: libvulkan1" }];
  const verbosity = 4; // graphs are debugging output
  const native = openNative(
    unpackLibraries(OPTIONS.cache),
    verbosity,
    [{ name: "vulkan", path: library, needs }],
    (failure) => {
      throw new Error(failure);
    },
  );
  for (const [name, { options }] of Object.entries(PLACES)) {
    console.error(`${MARK}${name}`);
    const sizes = { maxSeqs: 2, prefixCacheN: 0, contextLen: 512, batch: 64, ubatch: 64, threads: 1 };
    const backend = await LlamaBackend.load(native, path, {
      kind: "text",
      cacheDir: "",
      cacheType: "f16",
      pagedAttn: true,
      verbosity,
      deviceLayers: -1,
      placement: {},
      ...sizes,
      ...options,
    });
    backend.close();
  }
}

if (MODEL !== undefined) test("prints graphs", () => printGraphs(MODEL), 170_000);
else
  test.skipIf(!IS_WANTED)(
    "the gated delta net is one operation, on the device of its layer",
    async () => {
      const env = {
        ...process.env,
        GGML_SCHED_DEBUG: "2",
        SVC_TEST_GRAPHS_OF: architectureModel("qwen3next"),
      };
      const command = [process.execPath, "test", "--timeout", "170000", import.meta.path];
      const child = Bun.spawn(command, { env, stdout: "ignore", stderr: "pipe" });
      const text = await new Response(child.stderr).text();
      expect(await child.exited).toBe(0);
      for (const [name, { place }] of Object.entries(PLACES)) {
        const part = text.split(MARK).find((one) => one.startsWith(`${name}\n`)) ?? "";
        const nodes = Array.from(
          part.matchAll(/\(GATED_DELT\S*\):\s+\S+ \(\s*\S+\) \[\s*(\S+)\s*\]/g),
          ([, at]) => at,
        );
        expect([name, nodes[0]]).toEqual([name, place]); // of a step: longer prompts are computed on the device
        // Every graph with the layer's convolution has it.
        const graphs = part.split("## SPLIT #0").slice(1);
        expect(graphs.length).toBeGreaterThan(0);
        for (const graph of graphs) expect(/\(GATED_DELT/.test(graph)).toBe(/\(\s*SSM_CONV/.test(graph));
      }
    },
    175_000,
  );
