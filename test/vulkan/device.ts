// Mesa's software device for the tests in this folder: its environment, and the back end in a cache of its own.

import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { unpackLibraries } from "../../ffi/embedded.ts";
import { type Native, openNative } from "../../ffi/library.ts";
import { RELEASE } from "../../src/backends/catalog.ts";
import { newFolder, runBinary, type Server } from "../helpers/binary.ts";
import { until } from "../helpers/until.ts";
import type { Scenario, SubjectReport } from "../zoo/report.ts";
import type { PlanCase, PlanOutcome } from "./planner.ts";
import { preloadLibrary } from "./preload.ts";

const PLANNER = join(import.meta.dir, "planner.ts");
const SUBJECT = join(import.meta.dir, "../zoo/subject.ts");

export const IS_WANTED = process.env["SVC_VULKAN_TESTS"] === "1";
/** Builds, and shaders that no other test compiles: most of a minute each on two cores. */
export const IS_SLOW = process.env["SVC_SLOW_TESTS"] === "1";
const LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
if (IS_WANTED && !existsSync(LAVAPIPE))
  throw new Error(`${LAVAPIPE} is missing: install mesa-vulkan-drivers`);

/** Shaders are compiled once for all tests of a file; the first compilation takes most of a minute on two cores. */
const ENV = {
  ...(IS_WANTED ? { LD_PRELOAD: preloadLibrary() } : {}),
  // ggml leaves software devices out unless they are chosen.
  GGML_VK_VISIBLE_DEVICES: "0",
  VK_DRIVER_FILES: LAVAPIPE,
  VK_ICD_FILENAMES: LAVAPIPE,
  MESA_SHADER_CACHE_DIR: process.env["SVC_TEST_SHADERS"] ?? newFolder(),
};
export const OPTIONS = { cache: newFolder(), limitMs: 170_000, env: ENV };

/** Installs the back end, from the file in SVC_TEST_VULKAN where one is named. */
export async function installVulkan(): Promise<string> {
  const file = process.env["SVC_TEST_VULKAN"];
  const from = file === undefined ? [] : ["--from", file];
  const { exit, out, err } = await runBinary(["backend", "install", "vulkan", ...from], OPTIONS);
  if (exit !== 0) throw new Error(`the back end could not be installed: ${err}`);
  return out;
}

/**
 * What an architecture drafts for several sequences at once on the device. Buffers of the back end grow meanwhile (faults.c says what
 * the device makes of that), and switches of libraries are read once, so a process of its own runs it.
 */
export async function draftedOnDevice(
  environment: Readonly<Record<string, string>> = {},
): Promise<Scenario | undefined> {
  const out = await runDevice([SUBJECT, "llama", newFolder(), "drafted"], environment);
  return (JSON.parse(out) as SubjectReport).scenarios.drafted; // typed where it is written
}

/** A second device: the same driver from another file. */
function secondDriver(): string {
  const folder = newFolder();
  const library = join(folder, "second.so");
  const about = JSON.parse(readFileSync(LAVAPIPE, "utf8")) as {
    readonly ICD: { readonly library_path: string };
  }; // Mesa's
  const { library_path: first } = about.ICD;
  copyFileSync(isAbsolute(first) ? first : join("/usr/lib/x86_64-linux-gnu", first), library);
  const path = join(folder, "second.json");
  writeFileSync(path, JSON.stringify({ ...about, ICD: { ...about.ICD, library_path: library } }));
  return path;
}

/** Where models would go on cards with so much memory, MiB each (faults.c). */
export async function plansOn(
  cards: readonly number[],
  cases: readonly PlanCase[],
): Promise<readonly PlanOutcome[]> {
  const drivers = cards.length > 1 ? [LAVAPIPE, secondDriver()].join(":") : LAVAPIPE;
  const claimed = {
    SVC_TEST_CARDS: cards.join(","),
    GGML_VK_VISIBLE_DEVICES: cards.map((_, index) => index).join(","),
    VK_DRIVER_FILES: drivers,
    VK_ICD_FILENAMES: drivers,
  };
  const text = await runDevice([PLANNER, ...cases.map((one) => JSON.stringify(one))], claimed);
  return JSON.parse(text) as readonly PlanOutcome[]; // typed where it is written
}

/** A process of its own with the device. */
async function runDevice(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const own = { SVC_TEST_BACKENDS: join(OPTIONS.cache, "svc"), NODE_ENV: "" }; // not a test runner
  const env = { ...process.env, ...OPTIONS.env, ...own, ...environment };
  const child = Bun.spawn([process.execPath, ...words], { env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (child.exitCode !== 0 || err !== "") throw new Error(`the process ended with ${child.exitCode}: ${err}`);
  return out;
}

/** The library with the back end, in this process. */
export async function vulkanNative(): Promise<Native> {
  await installVulkan();
  const path = join(OPTIONS.cache, "svc", "backends", `vulkan-${RELEASE}`, "libggml-vulkan.so");
  const needs = [{ paths: ["libvulkan.so.1"], symbol: "vkGetInstanceProcAddr", from: "Debian: libvulkan1" }];
  return openNative(unpackLibraries(OPTIONS.cache), 0, [{ name: "vulkan", path, needs }], (failure) => {
    throw new Error(failure);
  });
}

/** What tests read of /v1/system/info; the shape is tested elsewhere. */
export interface SystemBody {
  readonly devices: readonly {
    readonly name: string;
    readonly type: string;
    readonly memory_free: number;
    readonly models: readonly { readonly id: string; readonly memory_bytes: number }[];
  }[];
  readonly models: readonly {
    readonly id: string;
    readonly device_fault: string | null;
    readonly placement: {
      readonly layers: number;
      readonly device_layers: number;
      readonly devices: readonly {
        readonly device: string;
        readonly weights_bytes: number;
        readonly cache_bytes: number;
        readonly compute_bytes: number;
        readonly estimated_bytes: number;
      }[];
    } | null;
  }[];
}

export async function systemOf(server: Server): Promise<SystemBody> {
  return (await (await fetch(`${server.url}/v1/system/info`)).json()) as SystemBody;
}

export async function devicesOf(server: Server): Promise<readonly string[]> {
  return (await systemOf(server)).devices.map(({ name }) => name);
}

/** Kills the engine and waits for its successor: a request in between would be answered with its death. */
export async function killEngine(server: Server): Promise<void> {
  const engine = server.enginePid();
  process.kill(engine, "SIGKILL");
  await until("the engine is gone", () => !server.enginePids().includes(engine));
  await until("a new engine", () => server.enginePids().length > 0);
}
