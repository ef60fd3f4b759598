// The machine as all engines together see it: each device once, with its memory as the engine saw it that looked last, and what is counted
// of it for each model.

import type { ModelRuntime } from "../core/model-runtime.ts";
import type { EngineHost, SystemDevice } from "../core/system.ts";
import { newestReadings } from "../core/telemetry.ts";
import { HOST } from "./places.ts";

type Device = EngineHost["devices"][number];

/** What is asked of a served model. */
interface Engine {
  readonly id: string;
  readonly model: Pick<ModelRuntime, "host" | "readings" | "memory">;
}

/** Undefined before the first engine has described it. */
export function machineOf(models: readonly Engine[]): EngineHost | undefined {
  const hosts = models.flatMap(({ model }) => model.host ?? []);
  const [first] = hosts;
  if (first === undefined) return undefined;
  const now = newestReadings(models.map(({ model }) => model.readings));
  const devices = eachOnce(hosts).map((device) => {
    const memory_free = now.get(device.name)?.memoryFree ?? device.memory_free;
    return device.type === "cpu" ? device : { ...device, memory_free };
  });
  const failures = new Set(hosts.flatMap(({ backend_failures }) => backend_failures));
  return { ...first, devices, backend_failures: [...failures] };
}

/** What each loaded model takes of a device. */
export function usersOf({ name, type }: Device, models: readonly Engine[]): SystemDevice["models"] {
  const key = type === "cpu" ? HOST : name;
  return models.flatMap(({ id, model }) => {
    const bytes = model.memory?.get(key) ?? 0;
    return bytes === 0 ? [] : [{ id, memory_bytes: bytes }];
  });
}

/** Engines find different devices: a back end was installed since, or a model has devices of other machines. */
function eachOnce(hosts: readonly EngineHost[]): readonly Device[] {
  const found = new Map<string, Device>();
  for (const device of hosts.flatMap(({ devices }) => devices)) {
    const key = `${device.name} ${device.pci ?? device.description}`;
    const known = found.get(key);
    // without a reading of today: as much as was free when nothing was loaded
    if (known === undefined || known.memory_free < device.memory_free) found.set(key, device);
  }
  return [...found.values()].toSorted((a, b) => Number(a.type === "cpu") - Number(b.type === "cpu"));
}
