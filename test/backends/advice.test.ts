// What svc says where a card's driver is loaded and its back end is not installed.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { missingBackends, startHint, usableDrivers } from "../../src/app/backend-advice.ts";
import { codeOf, codeProblem, cudaProblem, partFile, partProblem } from "../../src/backends/card-code.ts";
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

/** NVIDIA's cards of these compute capabilities. */
const cardsOf = (...capabilities: readonly number[]) => ({
  cudaVersion: 13_000,
  cards: capabilities.map((capability) => ({ name: `NVIDIA card ${capability}`, capability })),
});

test.each([
  [[75], "sm75"],
  [[80], "sm80"],
  [[86], "sm86"],
  [[87], "sm86"],
  [[89], "sm89"],
  [[90], "sm90"],
  [[103], "sm100"],
  [[121], "sm120"],
  [[86, 89], "sm86"],
  [[80, 89], "sm80"],
  [[86, 90], "ptx"],
  [[110], "ptx"],
  [[], "ptx"],
])("cards of %j take the part %s of an own build, which runs on them", (capabilities, part) => {
  const nvidia = cardsOf(...capabilities);
  expect(partFile(nvidia)).toBe(`libggml-cuda-${part}.so`);
  expect(partProblem(part, nvidia)).toBeUndefined();
});

test("a part that does not fit the cards or the driver is refused with the one that does", () => {
  expect(partProblem("sm90", cardsOf(90, 86))).toBe(
    "this library has machine code for compute capability 9.0, and NVIDIA card 86 has 8.6; use libggml-cuda-ptx.so, or: svc backend install vulkan",
  );
  expect(partProblem("sm89", cardsOf(86))).toContain("use libggml-cuda-sm86.so");
  expect(partProblem("any", cardsOf(110))).toBeUndefined();
  expect(partProblem("sm90", undefined)).toBeUndefined();
  expect(codeOf(Buffer.from("ELF svc back end code sm120\0more"))).toBe("sm120");
  expect(codeOf(Buffer.from("ELF"))).toBeUndefined();
});

test("a driver before CUDA 13, or a card that CUDA 13 has left, is refused whatever the library has code for", () => {
  const cuda = BACKENDS.find(({ name }) => name === "cuda");
  if (cuda === undefined) throw new Error("CUDA is in the catalog");
  const before = { ...cardsOf(86), cudaVersion: 12_080 };
  for (const problem of [cudaProblem(before), codeProblem(cuda, before)])
    expect(problem).toBe(
      "back end cuda needs a driver of CUDA 13 (580 or later), and this one is of CUDA 12.8; update NVIDIA's driver, or use: svc backend install vulkan",
    );
  for (const nvidia of [cardsOf(61), cardsOf(90, 70), { ...cardsOf(61), cudaVersion: 13_020 }])
    expect([cudaProblem(nvidia), codeProblem(cuda, nvidia)]).toEqual([
      expect.stringContaining("older than CUDA 13 supports; use: svc backend install vulkan"),
      cudaProblem(nvidia),
    ]);
  expect([cudaProblem(cardsOf(75, 121)), cudaProblem(undefined)]).toEqual([undefined, undefined]);
});

test("the build of CUDA lists its parts, with flags, and builds nothing in a dry run", () => {
  const run = (parts: string) => {
    const env = { ...process.env, SVC_DRY_RUN: "1", SVC_CUDA_PARTS: parts };
    const script = join(import.meta.dir, "../../prebuilt/backends/build.sh");
    const { exitCode, stdout, stderr } = Bun.spawnSync(["sh", script, "cuda", tempDir()], { env });
    return { exitCode, lines: stdout.toString().trim().split("\n"), error: stderr.toString() };
  };
  const { exitCode, lines } = run("");
  expect(exitCode).toBe(0);
  const parts = lines.map((line) => [line.split(" ")[0], /ARCHITECTURES=(\S+)/.exec(line)?.[1]]);
  expect(parts).toEqual([
    ...[75, 80, 86, 89, 90, 100, 120].map((code) => [`sm${code}`, `${code}-real`]),
    ["ptx", "75-virtual"],
  ]);
  for (const [part] of parts)
    if (part !== "ptx") expect(partFile(cardsOf(Number(part?.slice(2))))).toContain(`-${part}.so`);
  expect(run("sm90").lines).toHaveLength(1);
  expect(run("sm91")).toMatchObject({ exitCode: 2, error: expect.stringContaining("there is no part sm91") });
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
