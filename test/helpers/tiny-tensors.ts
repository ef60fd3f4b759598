// Tensors of model files that tests write.

import { TENSOR, type Tensor } from "../../src/lora/gguf-write.ts";

/** ggml.h: GGML_TYPE_I64 */
const GGML_I64 = 27;

/** What a value is, by its place. */
export type Fill = (index: number) => number;

/** A tensor of F32 values; `shape` as GGUF has it, the length of a row first. */
export function f32Tensor(name: string, fill: Fill, ...shape: readonly number[]): Tensor {
  const elements = shape.reduce((product, length) => product * length, 1);
  const values = Float32Array.from({ length: elements }, (_, index) => fill(index));
  return { name, shape, type: TENSOR.f32, chunks: () => [new Uint8Array(values.buffer)] };
}

/** The weights of a norm that changes nothing. */
export function onesTensor(name: string, length: number): Tensor {
  return f32Tensor(name, () => 1, length);
}

/** A list of 64-bit integers. */
export function i64Tensor(name: string, values: readonly number[]): Tensor {
  const bytes = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  return { name, shape: [values.length], type: GGML_I64, chunks: () => [bytes] };
}
