// Weights that are larger once they are packed, and the kernels of an engine by the memory that is free for them.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { tensorBytes } from "../../src/core/gguf-facts.ts";
import { engineEnvironment } from "../../src/engine/host.ts";
import { packedGrowth } from "../../src/engine/packed-growth.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { stringField, writeGguf } from "../../src/lora/gguf-write.ts";
import { TEXT_OPTIONS } from "../helpers/text-options.ts";
import { tempDir } from "../helpers/tmp.ts";

const [F32, IQ2_XXS, IQ3_S] = [0, 16, 21];
const MIB = 2 ** 20;
const WITHOUT_GROWTH = { SVC_KERNELS: "-packed-grids" };

/** A model with 256 rows of 1,024 values of each type. */
function options(...types: readonly number[]): TextOptions {
  const modelPath = join(tempDir(), "m.gguf");
  const tensors = types.map((type, i) => {
    const tensor = { name: `t${i}`, shape: [1024, 256], type };
    return { ...tensor, chunks: () => [new Uint8Array(tensorBytes(tensor) ?? 0)] };
  });
  writeGguf(modelPath, [stringField("general.architecture", "toy")], tensors);
  return { ...TEXT_OPTIONS, modelPath, maxSeqs: 1, contextLen: 256 };
}

test("growth is that of the types with larger packed weights", () => {
  expect(packedGrowth(options(F32).modelPath ?? "")).toBe(0);
  expect(packedGrowth(options(F32, IQ2_XXS, IQ3_S).modelPath ?? "")).toBeCloseTo(1024 * (48 + 28), 3);
  expect(packedGrowth(join(tempDir(), "missing.gguf"))).toBe(0);
});

test("weights stay as in the file where their packed form would fill the memory", () => {
  const model = options(IQ2_XXS);
  expect(engineEnvironment(model, { A: "b" }, 100 * MIB)).toEqual({ A: "b" });
  expect(engineEnvironment(model, { A: "b" }, MIB / 8)).toEqual({ A: "b", ...WITHOUT_GROWTH });
  expect(engineEnvironment(options(F32), {}, 1)).toEqual({});
});

test("a selection of kernels by the user is kept", () => {
  const chosen = { SVC_KERNELS: "off" };
  expect(engineEnvironment(options(IQ3_S), chosen, 1)).toEqual(chosen);
});

test("answers that do not depend on their batch are asked for", () => {
  const model = { ...options(F32), batchInvariant: true as const };
  expect(engineEnvironment(model, {}, MIB)).toEqual({ SVC_BATCH_INVARIANT: "1" });
});
