// Stands in for the libraries of NVIDIA's driver and of CUDA.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

const COMPILER = Bun.which("cc");
export const HAS_COMPILER = COMPILER !== null;

/**
 * One card at 0000:01:00.0 that is busy for 42 % of the time, as index 0, of the compute capability in SVC_TEST_CAPABILITY, else 90; the
 * driver is of CUDA 13.0.
 */
const NVML = `
#include <stdlib.h>
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
    const char * set = getenv("SVC_TEST_CAPABILITY");
    const int capability = set == 0 ? 90 : atoi(set);
    *major = capability / 10;
    *minor = capability % 10;
    return card == 0;
}
`;

/** Builds a management library with a card, in a folder for LD_LIBRARY_PATH. Returns its path. */
export function fakeNvml(folder: string): string {
  return built(folder, "libnvidia-ml.so.1", NVML);
}

/** Builds the libraries that CUDA's back end asks for, each with the symbol that is looked for. */
export function fakeCuda(
  folder: string,
  needs: readonly { readonly library: string; readonly symbol: string }[],
): void {
  for (const { library, symbol } of needs) built(folder, library, `int ${symbol}(void) { return 0; }`);
}

function built(folder: string, name: string, text: string): string {
  const [source, library] = [join(folder, `${name}.c`), join(folder, name)];
  writeFileSync(source, text);
  const { success, stderr } = Bun.spawnSync([COMPILER ?? "", "-shared", "-fPIC", "-o", library, source]);
  if (!success) throw new Error(`${name} could not be compiled: ${stderr.toString()}`);
  return library;
}
