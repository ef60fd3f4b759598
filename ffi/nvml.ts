// NVIDIA's cards and their utilization, from the management library of the driver; unavailable without the driver.

import { dlopen, type Pointer } from "bun:ffi";
import type { NvidiaCards } from "../src/core/card-drivers.ts";
import { cText } from "./text.ts";

const SYMBOLS = {
  nvmlInit_v2: { args: [], returns: "i32" },
  nvmlDeviceGetHandleByPciBusId_v2: { args: ["buffer", "buffer"], returns: "i32" },
  nvmlDeviceGetUtilizationRates: { args: ["ptr", "buffer"], returns: "i32" },
} as const;

const CARD_SYMBOLS = {
  nvmlInit_v2: { args: [], returns: "i32" },
  nvmlShutdown: { args: [], returns: "i32" },
  nvmlSystemGetCudaDriverVersion_v2: { args: ["buffer"], returns: "i32" },
  nvmlDeviceGetCount_v2: { args: ["buffer"], returns: "i32" },
  nvmlDeviceGetHandleByIndex_v2: { args: ["u32", "buffer"], returns: "i32" },
  nvmlDeviceGetName: { args: ["ptr", "buffer", "u32"], returns: "i32" },
  nvmlDeviceGetCudaComputeCapability: { args: ["ptr", "buffer", "buffer"], returns: "i32" },
} as const;

const LIBRARY = "libnvidia-ml.so.1";
/** NVML_DEVICE_NAME_V2_BUFFER_SIZE */
const NAME_BYTES = 96;
/** NVML_SUCCESS */
const SUCCESS = 0;

/** Reads the share of the last moment in which a card computed, 0 to 1; undefined where it cannot be had. */
export type ReadUtilization = () => number | undefined;

/** `library`: another path in tests. */
export function openNvml(library = LIBRARY): (pci: string) => ReadUtilization | undefined {
  let nvml: ReturnType<typeof dlopen<typeof SYMBOLS>>["symbols"];
  try {
    nvml = dlopen(library, SYMBOLS).symbols;
    if (nvml.nvmlInit_v2() !== SUCCESS) return () => undefined;
  } catch {
    return () => undefined; // no NVIDIA driver
  }
  return (pci) => {
    const handle = new BigUint64Array(1);
    if (nvml.nvmlDeviceGetHandleByPciBusId_v2(cText(pci), handle) !== SUCCESS) return undefined;
    const card = Number(handle[0]) as Pointer; // bun:ffi takes addresses as numbers
    const rates = new Uint32Array(2); // percent: gpu, memory
    return () => {
      if (nvml.nvmlDeviceGetUtilizationRates(card, rates) !== SUCCESS) return undefined;
      return (rates[0] ?? 0) / 100;
    };
  };
}

/** The cards of this machine; undefined without the driver, or where it does not answer. `library`: another path in tests. */
export function readNvidiaCards(library = LIBRARY): NvidiaCards | undefined {
  let nvml: ReturnType<typeof dlopen<typeof CARD_SYMBOLS>>["symbols"];
  try {
    nvml = dlopen(library, CARD_SYMBOLS).symbols;
  } catch {
    return undefined; // no NVIDIA driver
  }
  if (nvml.nvmlInit_v2() !== SUCCESS) return undefined;
  const [version, count] = [new Int32Array(1), new Uint32Array(1)];
  const isRead =
    nvml.nvmlSystemGetCudaDriverVersion_v2(version) === SUCCESS &&
    nvml.nvmlDeviceGetCount_v2(count) === SUCCESS;
  const cards = Array.from({ length: isRead ? (count[0] ?? 0) : 0 }, (_, index) => {
    const handle = new BigUint64Array(1);
    nvml.nvmlDeviceGetHandleByIndex_v2(index, handle);
    const card = Number(handle[0]) as Pointer; // bun:ffi takes addresses as numbers
    const name = new Uint8Array(NAME_BYTES);
    const [major, minor] = [new Int32Array(1), new Int32Array(1)];
    nvml.nvmlDeviceGetName(card, name, NAME_BYTES);
    nvml.nvmlDeviceGetCudaComputeCapability(card, major, minor);
    return {
      name: new TextDecoder().decode(name.subarray(0, name.indexOf(0))),
      capability: 10 * (major[0] ?? 0) + (minor[0] ?? 0),
    };
  });
  nvml.nvmlShutdown();
  const known = cards.filter(({ capability }) => capability > 0);
  return isRead ? { cudaVersion: version[0] ?? 0, cards: known } : undefined;
}
