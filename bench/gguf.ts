// Reads the metadata of a GGUF file and writes new GGUF files, as far as the bench needs it. Format: ggml/docs/gguf.md in
// the llama.cpp source (version 3, little-endian, data aligned to 32 bytes).
//
// Why our own: the maintained npm package, @huggingface/gguf, reads and re-serialises metadata but writes no tensors, and
// it decodes the 152,000 strings of a tokenizer that are only to be copied. Here values stay raw bytes.

import { closeSync, openSync, writeSync } from "node:fs";

/** Value types of metadata fields, by their numbers in the file. */
export const FIELD = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10 } as const;
/** Tensor element types, by their numbers in the file. */
export const TENSOR = { f32: 0, f16: 1 } as const;

const ALIGNMENT = 32;
// Bytes of one value by type number; strings (8) and arrays (9) say their own length.
const FIXED_BYTES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};

/** One metadata field; `raw` is the value as it lies in the file, after the type number. */
export interface Field {
  readonly key: string;
  readonly type: number;
  readonly raw: Uint8Array;
}

/** A tensor to write. `rows` yields its bytes in order; their sum must be what shape and type say. */
export interface Tensor {
  readonly name: string;
  /** Elements along each axis, the contiguous one first: [inputs, outputs] for a matrix. */
  readonly shape: readonly number[];
  readonly type: (typeof TENSOR)[keyof typeof TENSOR];
  readonly chunks: () => Iterable<Uint8Array>;
}

/** Metadata fields of a GGUF file in file order. Throws on anything that is not GGUF 2 or 3. */
export function readFields(file: Uint8Array): Field[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const version = view.getUint32(4, true);
  if (text(file.subarray(0, 4)) !== "GGUF" || (version !== 2 && version !== 3)) {
    throw new Error("not a GGUF file of version 2 or 3");
  }
  const count = Number(view.getBigUint64(16, true));
  const fields: Field[] = [];
  let at = 24;
  for (let index = 0; index < count; index++) {
    const keyBytes = Number(view.getBigUint64(at, true));
    const key = text(file.subarray(at + 8, at + 8 + keyBytes));
    const typeAt = at + 8 + keyBytes;
    const type = view.getUint32(typeAt, true);
    const end = valueEnd(view, typeAt + 4, type);
    fields.push({ key, type, raw: file.subarray(typeAt + 4, end) });
    at = end;
  }
  return fields;
}

/** Offset just behind the value of `type` that starts at `at`. */
function valueEnd(view: DataView, at: number, type: number): number {
  if (type === FIELD.string) return at + 8 + Number(view.getBigUint64(at, true));
  if (type !== FIELD.array) return at + fixedBytes(type);
  const itemType = view.getUint32(at, true);
  const count = Number(view.getBigUint64(at + 4, true));
  let end = at + 12;
  if (itemType !== FIELD.string && itemType !== FIELD.array) return end + count * fixedBytes(itemType);
  for (let index = 0; index < count; index++) end = valueEnd(view, end, itemType);
  return end;
}

function fixedBytes(type: number): number {
  const bytes = FIXED_BYTES[type];
  if (bytes === undefined) throw new Error(`unknown GGUF value type ${type}`);
  return bytes;
}

/** Number of items of an array field. */
export function arrayLength(field: Field): number {
  if (field.type !== FIELD.array) throw new Error(`${field.key} is not an array`);
  return Number(viewOf(field.raw).getBigUint64(4, true));
}

/** Items of an array field of 32-bit integers. */
export function int32Array(field: Field): Int32Array {
  const view = viewOf(field.raw);
  const itemType = view.getUint32(0, true);
  if (itemType !== FIELD.i32 && itemType !== FIELD.u32)
    throw new Error(`${field.key} holds no 32-bit integers`);
  return Int32Array.from({ length: arrayLength(field) }, (_, index) => view.getInt32(12 + index * 4, true));
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
    offset = aligned(offset + tensorBytes(tensor));
  }
  const file = openSync(path, "w");
  try {
    writePadded(file, head);
    for (const tensor of tensors) {
      const written = writePadded(file, tensor.chunks());
      if (written !== tensorBytes(tensor))
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

function tensorBytes(tensor: Tensor): number {
  const elements = tensor.shape.reduce((product, length) => product * length, 1);
  return elements * (tensor.type === TENSOR.f32 ? 4 : 2);
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
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
