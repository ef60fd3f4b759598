// NVIDIA's management library: read where it is there, quietly absent where it is not.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { driverOf } from "../../ffi/devices.ts";
import { openNvml, readNvidiaCards } from "../../ffi/nvml.ts";
import { tempDir } from "../helpers/tmp.ts";

test("without the driver nothing is read, and nothing is said", () => {
  expect(openNvml("libnvidia-ml-of-no-driver.so.1")("0000:01:00.0")).toBeUndefined();
  expect(readNvidiaCards("libnvidia-ml-of-no-driver.so.1")).toBeUndefined();
});

/** A library with one card at 0000:01:00.0 that is busy for 42 % of the time, as index 0; the driver is of CUDA 13.0. */
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
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int * version) { *version = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned * count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void ** card) {
    return index == 0 ? nvmlDeviceGetHandleByPciBusId_v2("0000:01:00.0", card) : 2;
}
int nvmlDeviceGetName(void * card, char * name, unsigned length) {
    strncpy(name, "NVIDIA H200", length);
    return card == 0;
}
int nvmlDeviceGetCudaComputeCapability(void * card, int * major, int * minor) {
    *major = 9;
    *minor = 0;
    return card == 0;
}
`;

const COMPILER = Bun.which("cc");

test.skipIf(COMPILER === null)("a card is described, and its utilization found by its PCI address", () => {
  const source = join(tempDir(), "nvml.c");
  const library = join(tempDir(), "libnvidia-ml.so.1");
  writeFileSync(source, LIBRARY);
  expect(Bun.spawnSync([COMPILER ?? "", "-shared", "-fPIC", "-o", library, source]).exitCode).toBe(0);
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
