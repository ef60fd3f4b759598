// NVIDIA's management library: read where it is there, quietly absent where it is not.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { driverOf } from "../../ffi/devices.ts";
import { openNvml } from "../../ffi/nvml.ts";
import { tempDir } from "../helpers/tmp.ts";

test("without the driver nothing is read, and nothing is said", () => {
  expect(openNvml("libnvidia-ml-of-no-driver.so.1")("0000:01:00.0")).toBeUndefined();
});

/** A library with one card at 0000:01:00.0 that is busy for 42 % of the time. */
const LIBRARY = `
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char * pci, void ** card) {
    static int one;
    if (strcmp(pci, "0000:01:00.0") != 0) return 6;
    *card = &one;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void * card, unsigned * rates) {
    rates[0] = 42;
    rates[1] = 7;
    return card == 0;
}
`;

const COMPILER = Bun.which("cc");

test.skipIf(COMPILER === null)("the utilization of a card is found by its PCI address", () => {
  const source = join(tempDir(), "nvml.c");
  const library = join(tempDir(), "libnvidia-ml.so.1");
  writeFileSync(source, LIBRARY);
  expect(Bun.spawnSync([COMPILER ?? "", "-shared", "-fPIC", "-o", library, source]).exitCode).toBe(0);
  const utilizationOf = openNvml(library);
  expect(utilizationOf("0000:01:00.0")?.()).toBe(0.42);
  expect(utilizationOf("0000:02:00.0")).toBeUndefined();
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
