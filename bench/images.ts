// Cost of image generation: seconds per step and per image, and memory of the process.
//   bun bench/images.ts FILES [WIDTHxHEIGHT] [STEPS]
// FILES is JSON with the paths of an image model, as ImageFiles names them:
//   '{"diffusionModel": "z.gguf", "llm": "qwen3.gguf", "vae": "ae.safetensors"}'

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { unpackImage } from "../ffi/embedded.ts";
import { DiffusionBackend } from "../ffi/image.ts";
import { openImage } from "../ffi/library.ts";
import type { ImageFiles } from "../src/engine/protocol.ts";
import { familyDefaults } from "../src/worker/image/family.ts";
import { pngOf } from "../src/worker/image/png.ts";

const IMAGES = 3;
const MIB = 1024 * 1024;

async function main(): Promise<void> {
  const [given = "{}", size = "512x512", chosenSteps] = process.argv.slice(2);
  const [width = 512, height = 512] = size.split("x").map(Number);
  const files = JSON.parse(given) as ImageFiles; // not validated: from the command line
  const cacheDir = mkdtempSync(join(tmpdir(), "svc-bench-images-"));
  try {
    const native = openImage(unpackImage(cacheDir), 0);
    const startMs = performance.now();
    const backend = await DiffusionBackend.load(
      native,
      { kind: "image", files, cacheDir, verbosity: 0 },
      () => {},
    );
    const { family, info } = backend;
    console.log(cpus()[0]?.model ?? "unknown processor");
    console.log(`${family}, ${Math.round(info.sizeBytes / MIB)} MiB of files, ${info.threads} threads`);
    console.log(`loaded in ${((performance.now() - startMs) / 1000).toFixed(2)} s`);
    const defaults = familyDefaults(family);
    const steps = chosenSteps === undefined ? defaults.steps : Number(chosenSteps);
    for (let seed = 0; seed < IMAGES; seed++) {
      console.log(
        await measured(backend, { prompt: "a lighthouse", width, height, ...defaults, steps, seed }),
      );
    }
    console.log(`memory ${Math.round(process.memoryUsage.rss() / MIB)} MiB`);
    backend.free();
  } finally {
    rmSync(cacheDir, { recursive: true, force: true });
  }
}

async function measured(
  backend: DiffusionBackend,
  spec: Parameters<DiffusionBackend["generate"]>[0],
): Promise<string> {
  const { width, height, steps } = spec;
  const startMs = performance.now();
  const generation = backend.generate(spec);
  let firstMs = 0; // end of the first step, after text encoding
  let lastMs = 0;
  while (generation.state === "running") {
    if (generation.steps >= 1 && firstMs === 0) firstMs = performance.now();
    if (generation.steps >= steps && lastMs === 0) lastMs = performance.now();
    await Bun.sleep(1);
  }
  if (generation.state !== "done") throw new Error(generation.failure);
  const generatedMs = performance.now();
  const bytes = pngOf(generation.pixels(), width, height).byteLength;
  generation.free();
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(3)} s`;
  const step =
    lastMs > firstMs && steps > 1 ? seconds((lastMs - firstMs) / (steps - 1)) : "too short to measure";
  return `${width}x${height}: ${seconds(generatedMs - startMs)}, a step ${step}, PNG of ${bytes} bytes in ${seconds(performance.now() - generatedMs)}`;
}

await main();
