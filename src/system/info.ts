// Answer of GET /v1/system/info.

import { arch, cpus, platform, release } from "node:os";
import type { CompatMode } from "../core/compat.ts";
import type { EngineHost, SystemDevice, SystemInfo, SystemModel } from "../core/system.ts";
import { VERSION } from "../core/version.ts";
import { readMemory } from "./memory.ts";
import { probeSandbox } from "./sandbox.ts";

type Device = EngineHost["devices"][number];

/** What is served. */
export interface Served {
  /** The machine as its engines see it; undefined until one has started that looks. */
  readonly host: EngineHost | undefined;
  readonly models: readonly SystemModel[];
  /** What each model takes of a device. */
  readonly usersOf: (device: Device) => SystemDevice["models"];
}

export async function describeSystem(
  compat: CompatMode,
  { host, models, usersOf }: Served,
): Promise<SystemInfo> {
  const memory = readMemory();
  const processors = cpus();
  const { cards, main } = byKind(host?.devices ?? []);
  const cpu = { ...(main ?? mainMemory(processors[0]?.model)), memory_free: memory.availableBytes };
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
    devices: [...cards, { ...cpu, memory_total: memory.totalBytes }].map((device) => ({
      ...device,
      models: usersOf(device),
    })),
    sandbox: await probeSandbox(host),
    models: [...models],
  };
}

function byKind(devices: readonly Device[]): { readonly cards: readonly Device[]; readonly main?: Device } {
  const main = devices.find(({ type }) => type === "cpu");
  return { cards: devices.filter((device) => device !== main), ...(main && { main }) };
}

/** The CPU where no engine has described it: voices do not. */
function mainMemory(description = "unknown"): Omit<Device, "memory_total" | "memory_free"> {
  return { name: "CPU", description: description.trim(), type: "cpu", backend: "CPU" };
}
