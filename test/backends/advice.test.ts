// What svc says where a card's driver is loaded and its back end is not installed.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { missingBackends, startHint, usableDrivers } from "../../src/app/backend-advice.ts";
import { codeProblem } from "../../src/backends/card-code.ts";
import { BACKENDS, RELEASE } from "../../src/backends/catalog.ts";
import { defaultModel } from "../../src/config/resolve.ts";
import { loadedDrivers } from "../../src/core/card-drivers.ts";
import { tempDir } from "../helpers/tmp.ts";

const FILES = {
  nvidia: "proc/driver/nvidia/version",
  amd: "dev/kfd",
  arc: "sys/module/xe",
  integrated: "sys/module/i915",
};

/** The drivers of a machine with these files. */
function driversWith(...files: readonly string[]) {
  const root = tempDir();
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), "");
  }
  return loadedDrivers({ proc: join(root, "proc"), dev: join(root, "dev"), sys: join(root, "sys") });
}

const settings = { models: [defaultModel("/m.gguf")] };
const [model] = settings.models;
if (model === undefined) throw new Error("there is one model");

test.each([
  [FILES.nvidia, "An NVIDIA card and its driver are here; `svc backend install cuda` would use it."],
  [FILES.amd, "An AMD card and its driver are here; `svc backend install vulkan` would use it."],
  [FILES.arc, "An Intel card and its driver are here; `svc backend install vulkan` would use it."],
])("a start with %s names the back end", (file, hint) => {
  expect(startHint(settings, tempDir(), driversWith(file))).toBe(hint);
});

test("nothing is said without a driver, for integrated graphics, for models on the CPU, with a back end", () => {
  expect(startHint(settings, tempDir(), driversWith())).toBeUndefined();
  expect(startHint(settings, tempDir(), driversWith(FILES.integrated))).toBeUndefined();
  const onCpu = { ...model, device: { ...model.device, cpu: true } };
  expect(startHint({ models: [onCpu] }, tempDir(), driversWith(FILES.nvidia))).toBeUndefined();
  const cache = tempDir();
  const library = join(cache, "backends", `vulkan-${RELEASE}`, "libggml-vulkan.so");
  mkdirSync(dirname(library), { recursive: true });
  writeFileSync(library, "");
  expect(startHint(settings, cache, driversWith(FILES.nvidia))).toBeUndefined();
  expect(missingBackends(cache, driversWith(FILES.nvidia))).toEqual([]);
});

test("the doctor offers one back end for each kind of driver, for integrated graphics, too", () => {
  const advice = missingBackends(tempDir(), driversWith(...Object.values(FILES)));
  expect(advice.map(({ kind, maker }) => [kind.name, maker])).toEqual([
    ["cuda", "NVIDIA"],
    ["vulkan", "AMD"],
  ]);
});

test("a card that CUDA's library has no code for is given the driver it needs, and Vulkan instead", () => {
  const cuda = BACKENDS.find(({ name }) => name === "cuda");
  if (cuda === undefined) throw new Error("CUDA is in the catalog");
  const cards = [
    { name: "NVIDIA RTX A4000", capability: 86 },
    { name: "NVIDIA H200", capability: 90 },
  ];
  expect(codeProblem(cuda, { cudaVersion: 13_000, cards })).toBe(
    "back end cuda has no machine code for NVIDIA H200 (compute capability 9.0), and this driver, of CUDA 13.0, cannot compile it: " +
      "that takes CUDA 13.1. Update NVIDIA's driver to 590 or later, or use: svc backend install vulkan",
  );
  expect(codeProblem(cuda, { cudaVersion: 13_010, cards })).toBeUndefined();
  expect(codeProblem(cuda, { cudaVersion: 13_000, cards: cards.slice(0, 1) })).toBeUndefined();
  expect(codeProblem(cuda, undefined)).toBeUndefined();
  const hint = (cudaVersion: number): string | undefined =>
    startHint(
      settings,
      tempDir(),
      usableDrivers(driversWith(FILES.nvidia), () => ({ cudaVersion, cards })),
    );
  expect(hint(13_000)).toContain("`svc backend install vulkan` would use it");
  expect(hint(13_010)).toContain("`svc backend install cuda` would use it");
});
