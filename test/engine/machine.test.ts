// The devices of a machine over all engines.

import { expect, test } from "bun:test";
import { machineOf, usersOf } from "../../src/engine/machine.ts";
import { HOST } from "../../src/engine/places.ts";

type Host = NonNullable<ReturnType<typeof machineOf>>;
type Device = Host["devices"][number];

const CPU: Device = {
  name: "CPU",
  description: "a processor",
  type: "cpu",
  backend: "CPU",
  memory_total: 100,
  memory_free: 50,
};

function card(name: string, memory_free: number, pci = name): Device {
  return { name, description: "a card", type: "gpu", backend: "CUDA", pci, memory_total: 1000, memory_free };
}

function host(devices: readonly Device[], failures: readonly string[] = []): Host {
  return {
    llama_version: "1",
    cpu_variant: null,
    cpu_features: [],
    kernels: [],
    landlock_abi: null,
    devices: [...devices],
    backend_failures: [...failures],
  };
}

function readings(atMs: number, device: string, memoryFree: number) {
  return { atMs, devices: [{ device, memoryTotal: 1000, memoryFree }] };
}

test("each device is listed once, whichever engine found it, with its newest free memory", () => {
  const [text, image, embedder, voice] = [
    { id: "text", model: { host: host([CPU], ["vulkan: lost"]), memory: new Map([[HOST, 5]]) } }, // cpu = true
    {
      id: "image",
      model: {
        host: host([card("CUDA0", 900), CPU]),
        readings: readings(7, "CUDA0", 300),
        memory: new Map([
          [HOST, 1],
          ["CUDA0", 600],
        ]),
      },
    },
    {
      id: "embedder",
      model: {
        host: host([card("CUDA0", 800), card("CUDA1", 700), CPU]),
        readings: readings(5, "CUDA0", 880),
        memory: new Map([["CUDA0", 20]]),
      },
    },
    { id: "voice", model: { host: undefined, memory: new Map([[HOST, 2]]) } },
  ];
  const all = [voice, text, image, embedder];
  const machine = machineOf(all);
  expect(machine?.devices.map(({ name, memory_free }) => [name, memory_free])).toEqual([
    ["CUDA0", 300],
    ["CUDA1", 700],
    ["CPU", 50],
  ]);
  expect(machine?.backend_failures).toEqual(["vulkan: lost"]);
  expect(machine?.devices.map((device) => usersOf(device, all))).toEqual([
    [
      { id: "image", memory_bytes: 600 },
      { id: "embedder", memory_bytes: 20 },
    ],
    [],
    [
      { id: "voice", memory_bytes: 2 },
      { id: "text", memory_bytes: 5 },
      { id: "image", memory_bytes: 1 },
    ],
  ]);
  expect(machineOf([voice])).toBeUndefined();
});

test("without a reading a device has what was free before anything was loaded, and workers with one name stay two", () => {
  const worker = (description: string): Device => ({
    ...CPU,
    name: "RPC0",
    type: "gpu",
    backend: "RPC",
    description,
  });
  const machine = machineOf([
    { id: "a", model: { host: host([card("CUDA0", 100), worker("one:1")]) } },
    { id: "b", model: { host: host([card("CUDA0", 950), worker("two:1")]) } },
  ]);
  expect(machine?.devices.map(({ name, memory_free }) => [name, memory_free])).toEqual([
    ["CUDA0", 950],
    ["RPC0", 50],
    ["RPC0", 50],
  ]);
});
