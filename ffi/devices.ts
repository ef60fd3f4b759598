// Devices besides the CPU as they are now: memory, and utilization where the driver tells.

import { readFileSync } from "node:fs";
import type { DeviceStats } from "../src/core/telemetry.ts";
import type { EngineHost } from "../src/core/system.ts";
import { describeHost } from "./host.ts";
import type { Native } from "./library.ts";
import { openNvml, type ReadUtilization } from "./nvml.ts";

interface Card {
  readonly index: number;
  readonly device: string;
  readonly memoryTotal: number;
  readonly utilization: ReadUtilization | undefined;
}

/** Reads the devices; cheap enough for each report of statistics. */
export type DeviceWatch = () => readonly DeviceStats[];

/** Requires open libraries. */
export function watchDevices(native: Native): DeviceWatch {
  const { devices } = describeHost(native);
  const isNvidia = devices.some(({ backend }) => backend === "CUDA");
  const utilizationOf = isNvidia ? openNvml() : undefined;
  const cards = devices.flatMap(({ name, type, pci, memory_total: memoryTotal }, index): readonly Card[] => {
    if (type === "cpu") return [];
    return [
      { index, device: name, memoryTotal, utilization: pci === undefined ? undefined : utilizationOf?.(pci) },
    ];
  });
  const free = new BigInt64Array(devices.length);
  return () => {
    if (cards.length === 0 || native.svc_device_memory(free.length, free) < 0) return [];
    return cards.map(({ index, device, memoryTotal, utilization }) => {
      const busy = utilization?.();
      const memoryFree = Number(free[index] ?? 0n);
      return { device, memoryTotal, memoryFree, ...(busy === undefined ? {} : { utilization: busy }) };
    });
  };
}

/** A device with its back end and driver, for messages about faults. */
export function deviceText({
  name,
  description,
  backend,
}: Pick<EngineHost["devices"][number], "name" | "description" | "backend">): string {
  return `${name} (${description}; back end ${backend}${driverOf(backend)})`;
}

/** NVIDIA's driver, after "; "; empty for others, of which the system has no such text. */
export function driverOf(backend: string, read = (path: string) => readFileSync(path, "utf8")): string {
  if (backend !== "CUDA") return "";
  try {
    const [, version] = /NVRM version:.*?\s{2,}(\S+)/.exec(read("/proc/driver/nvidia/version")) ?? [];
    return version === undefined ? "" : `; driver ${version}`;
  } catch {
    return ""; // the driver has gone
  }
}
