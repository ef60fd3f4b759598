// Speed of memory and products, measured by the native library.

import type { MachineSpeed } from "../../src/core/measure.ts";
import type { Native } from "../library.ts";
import { nativeText } from "../text.ts";

export interface SpeedCall {
  /** Bytes that are read again and again. */
  readonly bytes: number;
  /** Type of weights, by its number in ggml.h. */
  readonly type: number;
  readonly threads: number;
  /** Of each of the two measurements. */
  readonly milliseconds: number;
}

/** Blocks while it measures. Throws an Error with the reason. */
export function machineSpeed(
  native: Native,
  { bytes, type, threads, milliseconds }: SpeedCall,
): MachineSpeed {
  const out = new Float64Array(2);
  if (native.svc_machine_speed(BigInt(bytes), type, threads, milliseconds, out) !== 0)
    throw new Error(nativeText(native.svc_last_error()));
  const [bytesPerSecond = 0, productsPerSecond = 0] = out;
  return { bytes_per_second: bytesPerSecond, products_per_second: productsPerSecond };
}
