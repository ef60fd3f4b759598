// What svc says where a card's driver is loaded and its back end is not installed.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { missingBackends, startHint } from "../../src/app/backend-advice.ts";
import { RELEASE } from "../../src/backends/catalog.ts";
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
