// Mesa's software device for the tests in this folder: its environment, and the back end in a cache of its own.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { unpackLibraries } from "../../ffi/embedded.ts";
import { type Native, openNative } from "../../ffi/library.ts";
import { RELEASE } from "../../src/backends/catalog.ts";
import { newFolder, runBinary, type Server } from "../helpers/binary.ts";
import { until } from "../helpers/until.ts";
import type { Scenario, SubjectReport } from "../zoo/report.ts";
import { preloadLibrary } from "./preload.ts";

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
  const own = { SVC_TEST_BACKENDS: join(OPTIONS.cache, "svc"), NODE_ENV: "" }; // not a test runner
  const command = [process.execPath, SUBJECT, "llama", newFolder(), "drafted"];
  const env = { ...process.env, ...OPTIONS.env, ...own, ...environment };
  const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (child.exitCode !== 0 || err !== "") throw new Error(`the process ended with ${child.exitCode}: ${err}`);
  return (JSON.parse(out) as SubjectReport).scenarios.drafted; // typed where it is written
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
