// Reads the beginning of a GGUF file: its metadata and what its tensors are. Never reads the tensors themselves.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type Field, fieldsEnd, FIELD, readFields, TruncatedGgufError } from "./gguf.ts";

/** A tensor of a file. */
export interface TensorInfo {
  readonly name: string;
  /** Elements along each axis, the contiguous one first: [inputs, outputs] for a matrix. */
  readonly shape: readonly number[];
  /** ggml type number. */
  readonly type: number;
}

export interface GgufHeader {
  readonly fields: ReadonlyMap<string, Field>;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
}

/** A header is looked for within so many bytes at first, then within twice as many, and so on. */
const FIRST_READ_BYTES = 1024 * 1024;
/** Tokenizers with a quarter of a million tokens stay below 20 MB. */
const HEADER_BYTES_MAX = 256 * 1024 * 1024;

/** Reads the header of a file. Throws an Error with one sentence when there is none or it is cut off. */
export function readHeader(path: string): GgufHeader {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    for (let bytes = FIRST_READ_BYTES; ; bytes *= 2) {
      const head = readHead(file, Math.min(bytes, size, HEADER_BYTES_MAX));
      try {
        return parseHeader(head);
      } catch (error) {
        const whole = head.length >= size || bytes >= HEADER_BYTES_MAX;
        if (whole || !(error instanceof TruncatedGgufError)) throw error;
      }
    }
  } finally {
    closeSync(file);
  }
}

function readHead(file: number, bytes: number): Uint8Array {
  const head = new Uint8Array(bytes);
  let at = 0;
  for (let read = -1; read !== 0 && at < bytes; at += read) read = readSync(file, head, at, bytes - at, at);
  return head.subarray(0, at);
}

function parseHeader(head: Uint8Array): GgufHeader {
  const fields = readFields(head);
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  try {
    return {
      fields: new Map(fields.map((field) => [field.key, field])),
      tensors: new Map(
        readTensors(head, view, fieldsEnd(head, fields)).map((tensor) => [tensor.name, tensor]),
      ),
    };
  } catch (error) {
    if (error instanceof RangeError) throw new TruncatedGgufError();
    throw error;
  }
}

function readTensors(head: Uint8Array, view: DataView, start: number): readonly TensorInfo[] {
  const count = Number(view.getBigUint64(8, true));
  const tensors: TensorInfo[] = [];
  let at = start;
  for (let index = 0; index < count; index++) {
    const nameBytes = Number(view.getBigUint64(at, true));
    const name = new TextDecoder().decode(head.subarray(at + 8, at + 8 + nameBytes));
    at += 8 + nameBytes;
    const axes = view.getUint32(at, true);
    const shape = Array.from({ length: axes }, (_, axis) =>
      Number(view.getBigUint64(at + 4 + axis * 8, true)),
    );
    at += 4 + axes * 8;
    tensors.push({ name, shape, type: view.getUint32(at, true) });
    at += 4 + 8; // the type and the offset of its data
  }
  return tensors;
}

/** An unsigned or signed 32-bit integer of the metadata. */
export function integerOf({ fields }: GgufHeader, key: string): number | undefined {
  const field = fields.get(key);
  if (field === undefined || (field.type !== FIELD.u32 && field.type !== FIELD.i32)) return undefined;
  return new DataView(field.raw.buffer, field.raw.byteOffset).getUint32(0, true);
}

/** A string of the metadata. */
export function stringOf({ fields }: GgufHeader, key: string): string | undefined {
  const field = fields.get(key);
  return field?.type === FIELD.string ? new TextDecoder().decode(field.raw.subarray(8)) : undefined;
}
