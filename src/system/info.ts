// Answer of GET /v1/system/info.

import { arch, cpus, platform, release } from "node:os";
import type { CompatMode } from "../core/compat.ts";
import type { EngineHost, SystemInfo, SystemModel } from "../core/system.ts";
import { VERSION } from "../core/version.ts";
import { readMemory } from "./memory.ts";
import { probeSandbox } from "./sandbox.ts";

/** `host` is undefined until an engine has started. */
export async function describeSystem(
  compat: CompatMode,
  host: EngineHost | undefined,
  models: readonly SystemModel[],
): Promise<SystemInfo> {
  const memory = readMemory();
  const processors = cpus();
  return {
    version: VERSION,
    compat,
    build: { runtime: `Bun ${Bun.version}`, llama: host?.llama_version ?? null },
    os: { platform: platform(), release: release(), arch: arch() },
    cpu: {
      model: processors[0]?.model.trim() ?? "unknown",
      logical_cores: Math.max(1, processors.length),
      variant: host?.cpu_variant ?? null,
      features: [...(host?.cpu_features ?? [])],
    },
    memory: {
      total_bytes: memory.totalBytes,
      available_bytes: memory.availableBytes,
      limit_bytes: memory.limitBytes ?? null,
      process_bytes: process.memoryUsage.rss(),
    },
    devices: [...(host?.devices ?? [])],
    sandbox: await probeSandbox(host),
    models: [...models],
  };
}
