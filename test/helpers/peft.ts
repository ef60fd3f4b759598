// PEFT folders for tests: random or damaged adapters, and bases that they are meant for.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GgufHeader, TensorInfo } from "../../src/core/gguf.ts";
import { stringField, u32Field } from "../../src/lora/gguf-write.ts";

export interface FakeTensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}
export type FakeTensors = Readonly<Record<string, FakeTensor>>;

/** A safetensors file of 32-bit floats. */
export function safetensors(tensors: FakeTensors): Uint8Array {
  let at = 0;
  const header: Record<string, object> = {};
  for (const [name, { shape, values }] of Object.entries(tensors)) {
    header[name] = { dtype: "F32", shape, data_offsets: [at, at + values.byteLength] };
    at += values.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const data = Object.values(tensors).map(({ values }) => new Uint8Array(values.buffer));
  return Buffer.concat([new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer), text, ...data]);
}

/** The formula of test/fixtures/lora/reference.py. */
export function formula(shape: readonly number[], seed: number): FakeTensor {
  const count = shape.reduce((product, axis) => product * axis, 1);
  return { shape, values: Float32Array.from({ length: count }, (_, i) => (((i * 7 + seed) % 61) - 30) / 16) };
}

export const CONFIG = { peft_type: "LORA", r: 2, lora_alpha: 4 };

/** Writes an adapter folder. */
export function writeAdapter(folder: string, weights: Uint8Array, config: object | string = CONFIG): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "adapter_config.json"),
    typeof config === "string" ? config : JSON.stringify(config),
  );
  writeFileSync(join(folder, "adapter_model.safetensors"), weights);
  return folder;
}

/** The header of a model: 4 query and 2 key heads, and tensors by their shapes. */
export function baseHeader(
  architecture: string,
  shapes: Readonly<Record<string, readonly number[]>>,
): GgufHeader {
  const fields = [
    stringField("general.architecture", architecture),
    u32Field(`${architecture}.attention.head_count`, 4),
    u32Field(`${architecture}.attention.head_count_kv`, 2),
  ];
  const tensors = Object.entries(shapes).map(([name, shape]): TensorInfo => ({
    name,
    shape,
    type: 0,
    offset: 0,
  }));
  return {
    fields: new Map(fields.map((field) => [field.key, field])),
    tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
  };
}
