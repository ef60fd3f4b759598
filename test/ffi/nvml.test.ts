// NVIDIA's management library: read where it is there, quietly absent where it is not.

import { expect, test } from "bun:test";
import { driverOf } from "../../ffi/devices.ts";
import { openNvml, readNvidiaCards } from "../../ffi/nvml.ts";
import { fakeNvml, HAS_COMPILER } from "../helpers/fake-nvidia.ts";
import { tempDir } from "../helpers/tmp.ts";

test("without the driver nothing is read, and nothing is said", () => {
  expect(openNvml("libnvidia-ml-of-no-driver.so.1")("0000:01:00.0")).toBeUndefined();
  expect(readNvidiaCards("libnvidia-ml-of-no-driver.so.1")).toBeUndefined();
});

test.skipIf(!HAS_COMPILER)("a card is described, and its utilization found by its PCI address", () => {
  const library = fakeNvml(tempDir());
  const utilizationOf = openNvml(library);
  expect(utilizationOf("0000:01:00.0")?.()).toBe(0.42);
  expect(utilizationOf("0000:02:00.0")).toBeUndefined();
  expect(readNvidiaCards(library)).toEqual({
    cudaVersion: 13_000,
    cards: [{ name: "NVIDIA H200", capability: 90 }],
  });
});

test("the driver's version is named for NVIDIA's cards, where the system has it", () => {
  const text =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version: 12\n";
  expect(driverOf("CUDA", () => text)).toBe("; driver 580.65.06");
  expect(driverOf("Vulkan", () => text)).toBe("");
  const absent = (): string => {
    throw new Error("ENOENT");
  };
  expect(driverOf("CUDA", absent)).toBe("");
});
