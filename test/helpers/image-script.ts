// Run by test/ffi/images.test.ts in a process of its own; writes what happened as JSON.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { unpackImage, unpackLibraries } from "../../ffi/embedded.ts";
import { DiffusionBackend } from "../../ffi/image/image.ts";
import { openImage, openNative } from "../../ffi/library.ts";
import { nativeText } from "../../ffi/text.ts";
import type { ImageFiles } from "../../src/engine/protocol.ts";
import type { ImageSpec } from "../../src/worker/image/backend.ts";
import type { TinyImageModel } from "./tiny-images.ts";

const [cacheDir = "", model = "{}"] = process.argv.slice(2);
const { checkpoint, diffusion, llm, vae } = JSON.parse(model) as TinyImageModel; // the test's own
openNative(unpackLibraries(cacheDir), 3);
const native = openImage(unpackImage(cacheDir), 3);
const plan = { room: Infinity, devices: "" };
const load = (files: ImageFiles) =>
  DiffusionBackend.load(native, { files, plan, sizeBytes: 1, threads: 1 }, () => {});

const SPEC: ImageSpec = { prompt: "a cat", width: 64, height: 48, steps: 2, guidance: 1, seed: 1 };

async function draw(backend: DiffusionBackend, extra: Partial<ImageSpec> = {}, cancelMs?: number) {
  const generation = backend.generate({ ...SPEC, ...extra }, false);
  if (cancelMs !== undefined) {
    await Bun.sleep(cancelMs);
    generation.cancel();
  }
  while (generation.state === "running") await Bun.sleep(1);
  const { state } = generation;
  const pixels = state === "done" ? generation.pixels() : undefined;
  generation.free();
  return { state, pixels };
}

const damaged = join(cacheDir, "damaged.safetensors");
writeFileSync(damaged, new Uint8Array(1000).fill(65));
const unusable: string[] = [];
for (const files of [{ model: damaged }, { model: join(cacheDir, "missing.gguf") }, { model: vae }]) {
  unusable.push(await load(files).then(() => "", String));
}

const parts = await load({ diffusionModel: diffusion, llm, vae });
const before = await draw(parts);
const uneven = await draw(parts, { width: 61, height: 35 });
const outcomes: string[] = [];
for (const cancelMs of [0, 3, 10, 40]) {
  outcomes.push((await draw(parts, { width: 256, height: 256, steps: 50 }, cancelMs)).state);
}
const after = await draw(parts);
/** Bytes of buffers as they were measured before, and as they were allocated. */
const buffers: (readonly [number, number])[] = [];
for (const [width, height, inTiles] of [
  [64, 48, false],
  [256, 128, false],
  [320, 320, false],
  [320, 320, true],
] as const) {
  const spec = { ...SPEC, width, height, steps: 1 };
  const measured = await parts.buffers(spec, inTiles);
  const generation = parts.generate(spec, inTiles);
  while (generation.state === "running") await Bun.sleep(1);
  buffers.push([measured, generation.bytes]);
  generation.free();
}
parts.free();
const whole = await load({ model: checkpoint, vae });
whole.free();

const isBroken = (): boolean => native.svc_image_is_broken() !== 0;
const brokenBefore = isBroken();
const selftests = [0, 1, 2].map((kind) => [
  native.svc_image_selftest_throw(kind),
  nativeText(native.svc_image_last_error()),
]);
console.log(
  JSON.stringify({
    selftests,
    broken: [brokenBefore, isBroken()],
    unusable,
    family: whole.family,
    outcomes,
    buffers,
    isSameAfterCancelling:
      before.pixels !== undefined &&
      after.pixels !== undefined &&
      Bun.deepEquals(before.pixels, after.pixels),
    sizes: [before, uneven].map(({ pixels }) => [pixels?.width, pixels?.height]),
  }),
);
