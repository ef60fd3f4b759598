// Which endings of an engine are laid to a device, and what the next engine is started with.

import { describe, expect, test } from "bun:test";
import { DeviceFaults, type Ending } from "../../src/engine/device-fault.ts";
import type { EngineOptions, TextOptions } from "../../src/engine/protocol.ts";
import { TEXT_OPTIONS } from "../helpers/text-options.ts";

const OPTIONS: TextOptions = {
  ...TEXT_OPTIONS,
  maxSeqs: 1,
  deviceLayers: -1,
  backends: [{ name: "vulkan", path: "/b.so", needs: [] }],
  placement: { memoryBytes: 1 },
  fallback: "cpu",
};
const PLACED = { type: "placed", summary: "all 7 layers on Card0", devices: "Card0 (a card)" } as const;
const CRASH: Ending = { description: "signal SIGSEGV", hung: false, error: undefined, isRemote: false };

function faultsOf(options: EngineOptions) {
  const lines: string[] = [];
  return {
    faults: new DeviceFaults(
      options,
      (line) => lines.push(line),
      () => 1e12,
    ),
    lines,
  };
}

describe("with the fallback", () => {
  test.each<[string, Partial<Ending>]>([
    ["a crash", {}],
    ["an exit of the driver", { description: "exit code 1" }],
    ["a hang", { description: "signal SIGKILL", hung: true }],
    ["a failed load", { description: "exit code 0", error: "failed to allocate" }],
  ])("%s: the next engine is for the CPU, and the device is named", (_, ending) => {
    const { faults, lines } = faultsOf(OPTIONS);
    faults.receive(PLACED);
    expect(faults.ended({ ...CRASH, ...ending })).toBe(true);
    expect(faults.options).toMatchObject({ deviceLayers: 0, maxSeqs: 1 });
    for (const key of ["backends", "placement"]) expect(faults.options).not.toHaveProperty(key);
    expect(faults.fault).toBe("Card0 (a card)");
    expect(lines.join("\n")).toMatch(/with layers on Card0 \(a card\)\nloading the model on the CPU/);
    expect(faults.ended(CRASH)).toBe(false); // the CPU is no device
  });

  test("a driver that crashes before the layers are placed is suspected by its back end", () => {
    const { faults, lines } = faultsOf(OPTIONS);
    expect(faults.ended(CRASH)).toBe(true);
    expect(lines[0]).toContain("back end vulkan");
  });

  test("no room on the CPU: the reason is logged, and the device is tried again", () => {
    const lines: string[] = [];
    const path = new URL("../../demo-model/tiny.gguf", import.meta.url).pathname;
    const faults = new DeviceFaults(
      { ...OPTIONS, modelPath: path },
      (line) => lines.push(line),
      () => 1000,
    );
    faults.receive(PLACED);
    expect(faults.ended(CRASH)).toBe(false);
    expect(faults.options).toMatchObject({ deviceLayers: -1 });
    expect(lines.at(-1)).toContain("cannot be loaded on the CPU");
  });
});

test("an image model goes to the CPU as well", () => {
  const image = { kind: "image", files: {}, cacheDir: "/c", verbosity: 0, deviceLayers: -1 } as const;
  const { faults, lines } = faultsOf({ ...image, backends: OPTIONS.backends ?? [], fallback: "cpu" });
  faults.receive({ ...PLACED, summary: "images are computed on Card0" });
  expect(faults.ended({ ...CRASH, description: "exit code 1" })).toBe(true);
  expect(faults.options).toEqual({ ...image, deviceLayers: 0, fallback: "cpu" });
  expect(lines.at(-1)).toContain("loading the model on the CPU");
});

test.each<[string, Partial<Ending>]>([
  ["a kill from outside", { description: "signal SIGKILL" }],
  ["a lost RPC worker", { isRemote: true }],
])("%s is not laid to a device", (_, ending) => {
  const { faults, lines } = faultsOf(OPTIONS);
  faults.receive(PLACED);
  expect(faults.ended({ ...CRASH, ...ending })).toBe(false);
  expect(lines).toEqual([PLACED.summary]);
});

test("without the fallback the device is named, and tried again", () => {
  const { fallback: _, ...options } = OPTIONS;
  const { faults, lines } = faultsOf(options);
  faults.receive(PLACED);
  expect(faults.ended(CRASH)).toBe(false);
  expect(lines.at(-1)).toBe("the engine process ended (signal SIGSEGV) with layers on Card0 (a card)");
  expect(faults.options).toEqual(options);
});

test("a model that was placed on the CPU has no device to suspect", () => {
  const { faults } = faultsOf(OPTIONS);
  faults.receive({ ...PLACED, devices: "" });
  expect(faults.ended(CRASH)).toBe(false);
});
