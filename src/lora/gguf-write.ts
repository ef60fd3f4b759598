// Writes new GGUF files, as adapters and the bench need it. Format: ggml/docs/gguf.md in the llama.cpp source (version 3,
// little-endian, data aligned to 32 bytes). The maintained npm package, @huggingface/gguf, writes no tensors.

import { closeSync, openSync, writeSync } from "node:fs";
import { tensorBytes } from "../core/gguf-facts.ts";
import { type Field, FIELD, type TensorInfo } from "../core/gguf.ts";

/** Element types of the tensors that svc writes, by their numbers in the file. */
export const TENSOR = { f32: 0, f16: 1, bf16: 30 } as const;

const ALIGNMENT = 32;

/** A tensor to write. `rows` yields its bytes in order; their sum must be what shape and type say. */
export interface Tensor extends Pick<TensorInfo, "name" | "shape" | "type"> {
  readonly chunks: () => Iterable<Uint8Array>;
}

/** A field with an unsigned 32-bit value. */
export function u32Field(key: string, value: number): Field {
  return { key, type: FIELD.u32, raw: u32(value) };
}

/** A field with a 32-bit float value. */
export function f32Field(key: string, value: number): Field {
  return { key, type: FIELD.f32, raw: new Uint8Array(Float32Array.of(value).buffer) };
}

/** A field with a UTF-8 string value. */
export function stringField(key: string, value: string): Field {
  return { key, type: FIELD.string, raw: string(value) };
}

/** A field that is true or false. */
export function boolField(key: string, value: boolean): Field {
  return { key, type: FIELD.bool, raw: Uint8Array.of(value ? 1 : 0) };
}

/** A list of UTF-8 strings. */
export function stringsField(key: string, values: readonly string[]): Field {
  const head = [u32(FIELD.string), u64(values.length)];
  return { key, type: FIELD.array, raw: Buffer.concat([...head, ...values.map(string)]) };
}

/** A list of signed 32-bit integers. */
export function int32sField(key: string, values: readonly number[]): Field {
  const bytes = new Uint8Array(Int32Array.from(values).buffer);
  return { key, type: FIELD.array, raw: Buffer.concat([u32(FIELD.i32), u64(values.length), bytes]) };
}

/** Writes a GGUF 3 file, one chunk of tensor data at a time. A failure leaves an incomplete file behind. */
export function writeGguf(path: string, fields: readonly Field[], tensors: readonly Tensor[]): void {
  const head: Uint8Array[] = [
    new TextEncoder().encode("GGUF"),
    u32(3),
    u64(tensors.length),
    u64(fields.length),
    ...fields.flatMap((field) => [string(field.key), u32(field.type), field.raw]),
  ];
  let offset = 0;
  for (const tensor of tensors) {
    head.push(
      string(tensor.name),
      u32(tensor.shape.length),
      ...tensor.shape.map(u64),
      u32(tensor.type),
      u64(offset),
    );
    offset = aligned(offset + bytesOf(tensor));
  }
  const file = openSync(path, "w");
  try {
    writePadded(file, head);
    for (const tensor of tensors) {
      const written = writePadded(file, tensor.chunks());
      if (written !== bytesOf(tensor))
        throw new Error(`${tensor.name}: ${written} bytes do not fit its shape`);
    }
  } finally {
    closeSync(file);
  }
}

/** Writes the chunks and zeros up to the next aligned length; returns the bytes of the chunks alone. */
function writePadded(file: number, chunks: Iterable<Uint8Array>): number {
  let bytes = 0;
  for (const chunk of chunks) {
    for (let done = 0; done < chunk.byteLength;) done += writeSync(file, chunk, done);
    bytes += chunk.byteLength;
  }
  const padding = aligned(bytes) - bytes;
  if (padding > 0) writeSync(file, new Uint8Array(padding));
  return bytes;
}

function bytesOf(tensor: Tensor): number {
  return tensorBytes(tensor) ?? 0;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

function string(value: string): Uint8Array {
  const bytes = new TextEncoder().encode(value);
  return Buffer.concat([u64(bytes.byteLength), bytes]);
}

function u32(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

function u64(value: number): Uint8Array {
  return new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
}
