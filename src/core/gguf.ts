// Reads the metadata of a GGUF file. Format: ggml/docs/gguf.md in the llama.cpp source (versions 2 and 3, little-endian).
//
// Why our own: the maintained npm package, @huggingface/gguf, decodes the hundreds of thousands of strings of a tokenizer
// into an array each time, in the process that serves requests, and takes headers of up to 50 MB only. Here values stay
// raw bytes, and keys that are not requested are skipped.

import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Value types of metadata fields, by their numbers in the file. */
export const FIELD = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10 } as const;

/** First piece that is read of a file, and the most, bytes; a header is as long as its vocabulary. */
const HEADER_BYTES = 1 << 20;
const HEADER_BYTES_MAX = 1 << 28;

/** Offset of the fields: after magic, version and two counts. */
const FIELDS_AT = 24;

/** gguf.h: GGUF_DEFAULT_ALIGNMENT. */
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

/** A tensor of a file. */
export interface TensorInfo {
  readonly name: string;
  /** Elements along each axis, the contiguous one first: [inputs, outputs] for a matrix. */
  readonly shape: readonly number[];
  /** Of its elements, by its number in ggml.h: enum ggml_type. */
  readonly type: number;
  /** Of its weights, bytes from the beginning of the file. */
  readonly offset: number;
}

/** Header of a file: fields and tensor list. */
export interface GgufHeader {
  readonly fields: ReadonlyMap<string, Field>;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
}

/** Metadata of a file by key. Throws on anything that is not GGUF 2 or 3. */
export function readGgufFile(path: string): ReadonlyMap<string, Field> {
  return readWithin(path, (start) => fieldsByKey(readFields(start)));
}

/** Metadata of a file and what its tensors are. Throws on anything that is not GGUF 2 or 3. */
export function readGgufHeader(path: string): GgufHeader {
  return readWithin(path, (start) => {
    const list = readFields(start);
    const fields = fieldsByKey(list);
    const alignment = fields.get("general.alignment");
    const tensors = readTensors(start, list.at(-1), (alignment && unsigned(alignment)) ?? ALIGNMENT);
    return { fields, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
  });
}

/** Gives `parse` as much of a file's beginning as it takes; it throws a RangeError where that is too little. */
function readWithin<T>(path: string, parse: (start: Uint8Array) => T): T {
  const { size } = statSync(path);
  for (let bytes = HEADER_BYTES; ; bytes *= 4) {
    try {
      return parse(readStart(path, Math.min(bytes, size)));
    } catch (error) {
      if (!(error instanceof RangeError) || bytes >= size || bytes >= HEADER_BYTES_MAX) throw error;
    }
  }
}

function fieldsByKey(fields: readonly Field[]): ReadonlyMap<string, Field> {
  return new Map(fields.map((field) => [field.key, field]));
}

/** The list of tensors, which begins behind the last field; the data begin behind the list, at the next aligned byte. */
function readTensors(file: Uint8Array, last: Field | undefined, alignment: number): readonly TensorInfo[] {
  const view = viewOf(file);
  const count = Number(view.getBigUint64(8, true));
  let at = last === undefined ? FIELDS_AT : last.raw.byteOffset - file.byteOffset + last.raw.byteLength;
  const tensors = Array.from({ length: count }, () => {
    const nameBytes = Number(view.getBigUint64(at, true));
    const axesAt = at + 8 + nameBytes;
    const axes = view.getUint32(axesAt, true);
    const name = text(file.subarray(at + 8, axesAt));
    const shape = Array.from({ length: axes }, (_, axis) =>
      Number(view.getBigUint64(axesAt + 4 + axis * 8, true)),
    );
    const typeAt = axesAt + 4 + axes * 8;
    const type = view.getUint32(typeAt, true);
    const offset = Number(view.getBigUint64(typeAt + 4, true));
    at = typeAt + 4 + 8;
    return { name, shape, type, offset };
  });
  const dataAt = Math.ceil(at / alignment) * alignment;
  return tensors.map((tensor) => ({ ...tensor, offset: dataAt + tensor.offset }));
}

/** The fields in the first bytes of a file. The last one may be cut; the length of an array can still be read. */
export function readFirstFields(start: Uint8Array): ReadonlyMap<string, Field> {
  const fields: Field[] = [];
  try {
    for (const field of eachField(start, true)) fields.push(field);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return fieldsByKey(fields);
}

/** Metadata fields in file order. Throws a RangeError where `file` ends before they do. */
export function readFields(file: Uint8Array): Field[] {
  return [...eachField(file, false)];
}

function* eachField(file: Uint8Array, mayBeCut: boolean): Generator<Field> {
  const view = viewOf(file);
  const version = view.getUint32(4, true);
  if (text(file.subarray(0, 4)) !== "GGUF" || (version !== 2 && version !== 3)) {
    throw new Error("not a GGUF file of version 2 or 3");
  }
  const count = Number(view.getBigUint64(16, true));
  let at = FIELDS_AT;
  for (let index = 0; index < count; index++) {
    const keyBytes = Number(view.getBigUint64(at, true));
    const typeAt = at + 8 + keyBytes;
    const type = view.getUint32(typeAt, true);
    const end = endWithin(view, typeAt + 4, type);
    if (end === undefined && !mayBeCut) throw new RangeError("the file ends within its metadata");
    yield { key: text(file.subarray(at + 8, typeAt)), type, raw: file.subarray(typeAt + 4, end) };
    at = end ?? file.byteLength;
  }
}

/** Offset just behind a value; undefined where the file ends before. */
function endWithin(view: DataView, at: number, type: number): number | undefined {
  try {
    const end = valueEnd(view, at, type);
    return end > view.byteLength ? undefined : end;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
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

/** Items of an array of texts, one character for each byte; undefined for a field of another type. */
export function stringsOf({ type, raw }: Field): readonly string[] | undefined {
  const view = viewOf(raw);
  if (type !== FIELD.array || view.getUint32(0, true) !== FIELD.string) return undefined;
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const count = Number(view.getBigUint64(4, true));
  let at = 12;
  return Array.from({ length: count }, () => {
    const start = at + 8;
    at = start + Number(view.getBigUint64(at, true));
    return bytes.toString("latin1", start, at);
  });
}

/** An unsigned integer of 32 or 64 bits; undefined for a field of another type. */
export function unsigned({ type, raw }: Field): number | undefined {
  if (type === FIELD.u32) return viewOf(raw).getUint32(0, true);
  return type === FIELD.u64 ? Number(viewOf(raw).getBigUint64(0, true)) : undefined;
}

/** A number of any type, floats as their shortest decimal; undefined for a field of another type. */
export function numberOf(field: Field): number | undefined {
  const { type, raw } = field;
  if (raw.byteLength !== FIXED_BYTES[type]) return undefined;
  const view = viewOf(raw);
  switch (type) {
    case 0:
      return view.getUint8(0);
    case 1:
      return view.getInt8(0);
    case 2:
      return view.getUint16(0, true);
    case 3:
      return view.getInt16(0, true);
    case FIELD.i32:
      return view.getInt32(0, true);
    case FIELD.f32:
      return Number(view.getFloat32(0, true).toPrecision(7));
    case 11:
      return Number(view.getBigInt64(0, true));
    case 12:
      return view.getFloat64(0, true);
    default:
      return unsigned(field);
  }
}

/** A text field; undefined for a field of another type. */
export function textOf({ type, raw }: Field): string | undefined {
  return type === FIELD.string ? text(raw.subarray(8)) : undefined;
}

function readStart(path: string, bytes: number): Uint8Array {
  const buffer = new Uint8Array(bytes);
  const file = openSync(path, "r");
  try {
    let done = 0;
    while (done < bytes) {
      const read = readSync(file, buffer, done, bytes - done, done);
      if (read === 0) break;
      done += read;
    }
    return buffer.subarray(0, done);
  } finally {
    closeSync(file);
  }
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

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
