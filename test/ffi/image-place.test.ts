// What computes an image model, by the memory of devices and by settings.

import { describe, expect, test } from "bun:test";
import { planImages } from "../../ffi/image/place.ts";
import type { EngineHost } from "../../src/core/system.ts";
import type { DeviceOptions } from "../../src/engine/protocol.ts";

const GIB = 2 ** 30;
const AUTO: DeviceOptions = { deviceLayers: -1 };
const MEMORY = { weights: 4 * GIB, buffers: GIB, free: 16 * GIB };

function device(name: string, gib: number, type: "gpu" | "cpu" = "gpu"): EngineHost["devices"][number] {
  const bytes = gib * GIB;
  return {
    name,
    description: `a ${name}`,
    type,
    backend: "Vulkan",
    memory_total: bytes,
    memory_free: bytes,
  };
}

const CPU = device("CPU", 32, "cpu");
const CARDS = [device("Vulkan0", 4), device("Vulkan1", 8), CPU];

describe("a model is computed", () => {
  test("on the card with the most room, which keeps its weights", () => {
    const plan = planImages(CARDS, AUTO, MEMORY);
    expect(plan).toMatchObject({ device: "Vulkan1", room: 3 * GIB });
    expect(plan.budget).toBeUndefined();
    expect(plan.summary).toContain("images are computed on Vulkan1 (a Vulkan1)");
    expect(plan.devices).toBe("Vulkan1 (a Vulkan1; back end Vulkan)");
    expect(plan.placement?.devices.map((one) => [one.device, one.weights_bytes])).toEqual([
      ["Vulkan1", 4 * GIB],
      ["CPU", 0],
    ]);
  });

  test("on the configured card, part by part where that is too small", () => {
    const plan = planImages(CARDS, { ...AUTO, placement: { mainGpu: 0 } }, MEMORY);
    expect(plan).toMatchObject({ device: "Vulkan0", budget: 3.5 * GIB, room: 3.5 * GIB });
    expect(plan.summary).toContain("part by part");
    expect(plan.placement?.devices.at(-1)?.weights_bytes).toBe(4 * GIB);
    const limited = planImages(CARDS, { ...AUTO, placement: { memoryBytes: 2 * GIB } }, MEMORY);
    expect(limited).toMatchObject({ device: "Vulkan1", budget: 2 * GIB });
  });

  test("by the CPU with a word why, or without one where there is no choice", () => {
    const few = { ...AUTO, placement: { memoryBytes: GIB - 1 } };
    const plan = planImages(CARDS, few, MEMORY);
    expect([plan.device, plan.devices]).toEqual([undefined, ""]);
    expect(plan.summary).toMatch(/computed on the CPU: buffers need 1\.\d+ GB, and 1\.\d+ GB of Vulkan1/);
    for (const [devices, options] of [
      [[CPU], AUTO],
      [CARDS, { deviceLayers: 0 }],
    ] as const)
      expect(planImages(devices, options, MEMORY)).toEqual({ room: Infinity, devices: "" });
  });
});

test("what fits nowhere is refused by name", () => {
  const refusal = (options: DeviceOptions, memory = MEMORY): string => {
    try {
      planImages(CARDS, options, memory);
      return "";
    } catch (error) {
      return String(error);
    }
  };
  expect(refusal({ deviceLayers: 1, placement: { memoryBytes: 1000 } })).toMatch(
    /device_layers: the image model does not fit the device.*memory_mb/,
  );
  expect(refusal({ ...AUTO, placement: { mainGpu: 2 } })).toContain("main_gpu: 2 is not a device");
  expect(refusal({ deviceLayers: 0 }, { ...MEMORY, free: GIB })).toContain("need 4.29 GB of memory");
  expect(refusal({ ...AUTO, placement: { mainGpu: 0 } }, { ...MEMORY, free: GIB })).toContain("are free");
  expect(refusal(AUTO, { ...MEMORY, free: GIB })).toBe("");
});
