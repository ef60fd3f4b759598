// Utilization of NVIDIA cards, from the management library of the driver; unavailable without the driver.

import { dlopen, type Pointer } from "bun:ffi";
import { cText } from "./text.ts";

const SYMBOLS = {
  nvmlInit_v2: { args: [], returns: "i32" },
  nvmlDeviceGetHandleByPciBusId_v2: { args: ["buffer", "buffer"], returns: "i32" },
  nvmlDeviceGetUtilizationRates: { args: ["ptr", "buffer"], returns: "i32" },
} as const;

/** NVML_SUCCESS */
const SUCCESS = 0;

/** Reads the share of the last moment in which a card computed, 0 to 1; undefined where it cannot be had. */
export type ReadUtilization = () => number | undefined;

/** `library`: another path in tests. */
export function openNvml(library = "libnvidia-ml.so.1"): (pci: string) => ReadUtilization | undefined {
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
