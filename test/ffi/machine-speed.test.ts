// Measurement of memory and cores.

import { expect, test } from "bun:test";
import { machineSpeed } from "../../ffi/llama/machine-speed.ts";
import { native } from "../helpers/native.ts";

const [F32, Q4_K, IQ2_XXS] = [0, 12, 16];

test.each([F32, Q4_K, IQ2_XXS])("weights of type %d", (type) => {
  const speed = machineSpeed(native(), { bytes: 1 << 20, type, threads: 2, milliseconds: 0 });
  expect(speed.bytes_per_second).toBeGreaterThan(1e6);
  expect(speed.products_per_second).toBeGreaterThan(1e6);
});

test.each([
  { bytes: 1 << 20, type: 4, threads: 1 }, // a type that ggml has removed
  { bytes: 1 << 20, type: 999, threads: 1 },
  { bytes: 1 << 20, type: F32, threads: 0 },
  { bytes: 0, type: F32, threads: 1 },
])("%j is refused", (call) => {
  expect(() => machineSpeed(native(), { ...call, milliseconds: 0 })).toThrow("are not valid");
});
