// Reads safetensors files: eight bytes of header length, a JSON header, raw little-endian tensors. Format:
// github.com/huggingface/safetensors, README. No maintained npm package reads local files; the checks are those of the
// reference reader.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isObject } from "../core/json.ts";
import { AdapterError } from "./adapter-error.ts";

type Dtype = "F32" | "F16" | "BF16";
const DTYPE_BYTES: Readonly<Record<Dtype, number>> = { F32: 4, F16: 2, BF16: 2 };
const HEADER_BYTES_MAX = 100 * 1024 * 1024; // as the reference reader

/** A tensor of a file; the last axis is the contiguous one. */
export interface SafeTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly offset: number; // from the beginning of the file
  readonly bytes: number;
}

/** An open file. `close` it. */
export class Safetensors {
  readonly tensors: ReadonlyMap<string, SafeTensor>;
  private readonly file: number;

  /** Opens a file and checks its header. Throws AdapterError. */
  constructor(path: string) {
    this.file = openSync(path, "r");
    try {
      this.tensors = readTensors(this.file);
    } catch (error) {
      closeSync(this.file);
      throw error;
    }
  }

  /** The values of a tensor, converted from their type in the file. Throws AdapterError where one is no number: all answers would be. */
  read(tensor: SafeTensor): Float32Array {
    const values = this.values(tensor);
    if (!values.every(Number.isFinite)) throw notFinite(tensor.name);
    return values;
  }

  private values(tensor: SafeTensor): Float32Array {
    const raw = new Uint8Array(tensor.bytes);
    readFully(this.file, raw, tensor.offset);
    switch (tensor.dtype) {
      case "F32":
        return new Float32Array(raw.buffer);
      case "F16":
        return Float32Array.from(new Float16Array(raw.buffer));
      case "BF16":
        return new Float32Array(Uint32Array.from(new Uint16Array(raw.buffer), (bits) => bits << 16).buffer);
    }
  }

  close(): void {
    closeSync(this.file);
  }
}

function readTensors(file: number): ReadonlyMap<string, SafeTensor> {
  const { size } = fstatSync(file);
  if (size < 8) throw broken("it is shorter than its header");
  const prefix = new Uint8Array(8);
  readFully(file, prefix, 0);
  const length = new DataView(prefix.buffer).getBigUint64(0, true);
  if (length > BigInt(Math.min(HEADER_BYTES_MAX, size - 8)))
    throw broken("its header is longer than the file");
  const header = new Uint8Array(Number(length));
  readFully(file, header, 8);
  const start = 8 + header.length;
  const tensors = new Map<string, SafeTensor>();
  let next = 0;
  for (const [name, entry] of entriesOf(header)) {
    if (name === "__metadata__") continue;
    const tensor = tensorOf(name, entry, start);
    tensors.set(name, tensor);
    next += tensor.bytes;
    if (tensor.offset + tensor.bytes > size) throw broken(`the data of ${name} is cut off`);
  }
  if (start + next !== size) throw broken("its tensors do not fill it exactly");
  return tensors;
}

function entriesOf(header: Uint8Array): readonly (readonly [string, unknown])[] {
  try {
    const json: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(header));
    if (isObject(json)) return Object.entries(json);
  } catch {
    // reported below
  }
  throw broken("its header is not a JSON object");
}

function tensorOf(name: string, entry: unknown, start: number): SafeTensor {
  if (typeof entry !== "object" || entry === null) throw broken(`the entry of ${name} is not an object`);
  const { dtype, shape, data_offsets: span } = entry as Readonly<Record<string, unknown>>;
  if (typeof dtype !== "string" || !isDtype(dtype)) {
    const type = typeof dtype === "string" ? dtype.slice(0, 20) : "no type";
    throw new AdapterError(`${name} has the type ${type}; save the adapter as F32, F16 or BF16`);
  }
  if (!isSizes(shape) || !isSizes(span) || span.length !== 2)
    throw broken(`the entry of ${name} is incomplete`);
  const [from = 0, to = 0] = span;
  const elements = shape.reduce((product, axis) => product * axis, 1);
  if (to - from !== elements * DTYPE_BYTES[dtype])
    throw broken(`the size of ${name} does not match its shape`);
  return { name, dtype, shape, offset: start + from, bytes: to - from };
}

function isDtype(dtype: string): dtype is Dtype {
  return Object.hasOwn(DTYPE_BYTES, dtype);
}

function isSizes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((one) => Number.isSafeInteger(one) && one >= 0);
}

function readFully(file: number, into: Uint8Array, position: number): void {
  for (let at = 0; at < into.length;) {
    const read = readSync(file, into, at, into.length - at, position + at);
    if (read === 0) throw broken("it ends too early");
    at += read;
  }
}

/** The error of values that are infinite or not numbers. */
export function notFinite(name: string): AdapterError {
  return new AdapterError(`${name} has values that are infinite or not numbers: its training has failed`);
}

function broken(what: string): AdapterError {
  return new AdapterError(`adapter_model.safetensors is damaged or not a safetensors file: ${what}`);
}
