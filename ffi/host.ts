// Describes the machine as the native libraries see it.

import { readFileSync } from "node:fs";
import type { EngineHost } from "../src/core/system.ts";
import { landlockAbi, type Native } from "./library.ts";
import { takeText } from "./text.ts";

/** svc_system_info. */
interface NativeInfo {
  readonly llama_version: string;
  readonly cpu_features: string;
  readonly kernels: readonly string[];
  readonly devices: EngineHost["devices"];
}

/** Requires open libraries. */
export function describeHost(native: Native): Omit<EngineHost, "backend_failures"> {
  const info: NativeInfo = JSON.parse(takeText(native, native.svc_system_info()));
  return {
    llama_version: info.llama_version,
    cpu_variant: cpuVariant(),
    cpu_features: cpuFeatures(info.cpu_features),
    kernels: [...info.kernels],
    devices: info.devices,
    landlock_abi: landlockAbi() ?? null,
  };
}

/** llama.cpp lists CPU features as `CPU : SSE3 = 1 | AVX2 = 1 | … |`, one group a back end. */
function cpuFeatures(text: string): string[] {
  const [, list = ""] = /\bCPU : ([^:]*)(?: \| \w+ :|$)/.exec(text) ?? [];
  return [...list.matchAll(/(\w+) = 1\b/g)].map(([, name = ""]) => name);
}

/** The loader keeps only the selected back end, so the mapped libraries show it (Linux). */
function cpuVariant(): string | null {
  try {
    return /libggml-cpu-([\w-]+)\.so/.exec(readFileSync("/proc/self/maps", "utf8"))?.[1] ?? null;
  } catch {
    return null; // not Linux
  }
}
