// The format of GGUF headers: metadata fields and the list of tensors. Format: ggml/docs/gguf.md in the llama.cpp source (versions
// 2 and 3, little-endian). Headers come from third parties: every count and length has a limit before it is used, and what llama.cpp
// refuses (empty and repeated keys, arrays of arrays, long names of tensors) is refused here. Knows bytes, no files.
//
// Why our own: the maintained npm package, @huggingface/gguf, decodes the hundreds of thousands of strings of a tokenizer
// into an array each time, in the process that serves requests, and takes headers of up to 50 MB only. Here values stay
// raw bytes, and keys that are not requested are skipped.

import { foreignFormat } from "./foreign-format.ts";
import {
  ARRAY_ITEMS_MAX,
  FIELD_BYTES_MAX,
  FIELDS_MAX,
  HEADER_BYTES_MAX,
  KEY_BYTES_MAX,
  TENSOR_AXES_MAX,
  TENSOR_NAME_BYTES_MAX,
  TENSORS_MAX,
} from "./limits.ts";

/** Value types of metadata fields, by their numbers in the file. */
export const FIELD = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10 } as const;

/** Of an array: item type and count, before the items. */
const ARRAY_HEAD_BYTES = 12;

/** gguf.h: GGUF_DEFAULT_ALIGNMENT. */
const ALIGNMENT = 32;

/** Items after which a reader may pause. */
const PAUSE_ITEMS = 1 << 14;

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

/** What is wrong with a header, in a few words that name no file: `the tensor "x" has 7 axes, more than 4`. */
export class GgufProblem extends Error {}

/** The bytes end within the header. */
export class HeaderCut extends GgufProblem {
  constructor() {
    super("it ends within its header: it is truncated, or the header is damaged");
  }
}

/**
 * Reads a header. Yields now and then, so that the caller can do something else meanwhile. Throws HeaderCut where the bytes end
 * before the header does, GgufProblem for what no model has.
 */
export function* headerSteps(start: Uint8Array): Generator<undefined, GgufHeader> {
  const cursor = new Cursor(start);
  const { fieldCount, tensorCount } = preamble(cursor, start);
  const fields = new Map<string, Field>();
  for (let index = 0; index < fieldCount; index++) yield* readField(cursor, fields);
  const alignment = alignmentOf(fields);
  const tensors: TensorInfo[] = [];
  for (let index = 0; index < tensorCount; index++) {
    tensors.push(readTensor(cursor));
    if (index % PAUSE_ITEMS === PAUSE_ITEMS - 1) yield;
  }
  const dataAt = Math.ceil(cursor.at / alignment) * alignment;
  const byName = new Map(
    tensors.map((tensor) => [tensor.name, { ...tensor, offset: dataAt + tensor.offset }]),
  );
  if (byName.size < tensors.length) throw new GgufProblem("two of its tensors have the same name");
  return { fields, tensors: byName };
}

/** Metadata fields in file order. Throws as `headerSteps` does. */
export function readFields(start: Uint8Array): Field[] {
  const fields = new Map<string, Field>();
  addFields(start, fields);
  return [...fields.values()];
}

/** The fields in the first bytes of a file. Of an array that is cut the length can still be read. Throws GgufProblem. */
export function readFirstFields(start: Uint8Array): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  try {
    addFields(start, fields);
  } catch (error) {
    if (!(error instanceof HeaderCut)) throw error;
  }
  return fields;
}

function addFields(start: Uint8Array, fields: Map<string, Field>): void {
  const cursor = new Cursor(start);
  const { fieldCount } = preamble(cursor, start);
  for (let index = 0; index < fieldCount; index++) finish(readField(cursor, fields));
}

/** The field without the items of a long array, in memory of its own: what may be kept while the file's bytes are released. */
export function compactField(field: Field): Field {
  const isLong = field.type === FIELD.array && field.raw.byteLength > KEPT_ARRAY_BYTES;
  return { ...field, raw: field.raw.slice(0, isLong ? ARRAY_HEAD_BYTES : undefined) };
}

/** Longest array that a kept header has the items of, bytes: lists by layer are shorter. */
const KEPT_ARRAY_BYTES = 1 << 14;

/** Runs a reader without a pause. */
export function finish<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Reads little-endian numbers, one after the other; throws HeaderCut at the end. */
class Cursor {
  at = 0;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  u32(): number {
    const from = this.skip(4);
    return this.view.getUint32(from, true);
  }

  /** A count or length; `what` it is of, where it is above `max`. */
  count(max: number, what: string): number {
    const from = this.skip(8);
    const count = this.view.getUint32(from, true) + this.view.getUint32(from + 4, true) * 2 ** 32;
    if (count > max) throw new GgufProblem(`its header claims ${count} ${what}, more than ${max}`);
    return count;
  }

  /** The next bytes; the offset where they begin. */
  skip(bytes: number): number {
    const from = this.at;
    if (from + bytes > this.bytes.byteLength) throw new HeaderCut();
    this.at = from + bytes;
    return from;
  }

  /** Of a string whose length precedes it. */
  text(max: number, what: string): string {
    const bytes = this.count(max, what);
    const from = this.skip(bytes);
    return text(this.bytes.subarray(from, from + bytes));
  }

  since(from: number): Uint8Array {
    return this.bytes.subarray(from, this.at);
  }
}

function preamble(cursor: Cursor, start: Uint8Array): { fieldCount: number; tensorCount: number } {
  if (text(start.subarray(0, 4)) !== "GGUF") throw new GgufProblem(`it is ${foreignFormat(start)}`);
  cursor.skip(4);
  const version = cursor.u32();
  if (version % 2 ** 16 === 0) throw new GgufProblem("it is a GGUF file for big-endian processors");
  if (version !== 2 && version !== 3) throw new GgufProblem(`it is GGUF of version ${version}, not 2 or 3`);
  const tensorCount = cursor.count(TENSORS_MAX, "tensors");
  return { tensorCount, fieldCount: cursor.count(FIELDS_MAX, "metadata fields") };
}

/** Adds the next field. One that is cut within an array is added, too, before HeaderCut. */
function* readField(cursor: Cursor, fields: Map<string, Field>): Generator<undefined, void> {
  const key = cursor.text(KEY_BYTES_MAX, "bytes of a metadata key");
  if (key === "") throw new GgufProblem("it has a metadata field without a key");
  if (fields.has(key)) throw new GgufProblem(`it has the metadata field ${shown(key)} twice`);
  const type = cursor.u32();
  const from = cursor.at;
  if (type === FIELD.string) cursor.skip(cursor.count(FIELD_BYTES_MAX, `bytes of ${shown(key)}`));
  else if (type !== FIELD.array) cursor.skip(fixedBytes(type, key));
  else {
    try {
      yield* skipArray(cursor, key);
    } catch (error) {
      const raw = cursor.since(from);
      if (error instanceof HeaderCut && raw.byteLength >= ARRAY_HEAD_BYTES)
        fields.set(key, { key, type, raw });
      throw error;
    }
  }
  fields.set(key, { key, type, raw: cursor.since(from) });
}

function* skipArray(cursor: Cursor, key: string): Generator<undefined, void> {
  const itemType = cursor.u32();
  const isTexts = itemType === FIELD.string;
  const bytes = isTexts ? 0 : fixedBytes(itemType, key);
  const count = cursor.count(ARRAY_ITEMS_MAX, `items of ${shown(key)}`);
  if (!isTexts) {
    cursor.skip(count * bytes);
    return;
  }
  const what = `bytes of an item of ${shown(key)}`; // not for each of a vocabulary's texts
  for (let index = 0; index < count; index++) {
    cursor.skip(cursor.count(HEADER_BYTES_MAX, what));
    if (index % PAUSE_ITEMS === PAUSE_ITEMS - 1) yield;
  }
}

function readTensor(cursor: Cursor): TensorInfo {
  const name = cursor.text(TENSOR_NAME_BYTES_MAX, "bytes of a tensor's name");
  const axes = cursor.u32();
  if (axes > TENSOR_AXES_MAX)
    throw new GgufProblem(`the tensor ${shown(name)} has ${axes} axes, more than ${TENSOR_AXES_MAX}`);
  const size = (): number => cursor.count(Number.MAX_SAFE_INTEGER, `elements of the tensor ${shown(name)}`);
  const shape: number[] = [];
  for (let axis = 0; axis < axes; axis++) shape.push(size());
  if (!Number.isSafeInteger(shape.reduce((product, length) => product * length, 1)))
    throw new GgufProblem(`the tensor ${shown(name)} is larger than any file: ${shape.join(" × ")}`);
  const type = cursor.u32();
  const offset = cursor.count(Number.MAX_SAFE_INTEGER, `bytes before the tensor ${shown(name)}`);
  return { name, shape, type, offset };
}

function alignmentOf(fields: ReadonlyMap<string, Field>): number {
  const field = fields.get("general.alignment");
  const alignment = field === undefined ? ALIGNMENT : unsigned(field);
  // Of a power of two one bit alone is set.
  if (alignment === undefined || alignment < 1 || alignment >= 2 ** 31 || (alignment & (alignment - 1)) !== 0)
    throw new GgufProblem("general.alignment is not a power of two");
  return alignment;
}

/** Number of items of an array field. */
export function arrayLength(field: Field): number {
  if (field.type !== FIELD.array) throw new GgufProblem(`${field.key} is not an array`);
  return Number(viewOf(field.raw).getBigUint64(4, true));
}

/** Items of an array field of 32-bit integers. Throws GgufProblem. */
export function int32Array(field: Field): Int32Array {
  const length = arrayLength(field);
  const view = viewOf(field.raw);
  const itemType = view.getUint32(0, true);
  if (itemType !== FIELD.i32 && itemType !== FIELD.u32)
    throw new GgufProblem(`${field.key} holds no 32-bit integers`);
  if (isCut(field, length * 4)) throw new GgufProblem(`${field.key} has ${length} items, more than are kept`);
  return Int32Array.from({ length }, (_, index) => view.getInt32(ARRAY_HEAD_BYTES + index * 4, true));
}

/** Items of an array of texts, one character for each byte; undefined for a field of another type, and for an array that was cut. */
export function stringsOf(field: Field): readonly string[] | undefined {
  const { type, raw } = field;
  const view = viewOf(raw);
  if (type !== FIELD.array || view.getUint32(0, true) !== FIELD.string) return undefined;
  const count = arrayLength(field);
  if (isCut(field, count * 8)) return undefined;
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  let at = ARRAY_HEAD_BYTES;
  return Array.from({ length: count }, () => {
    const start = at + 8;
    at = start + Number(view.getBigUint64(at, true));
    return bytes.toString("latin1", start, at);
  });
}

/** Whether an array's items take more bytes than the field has. */
function isCut({ raw }: Field, itemBytes: number): boolean {
  return raw.byteLength < ARRAY_HEAD_BYTES + itemBytes;
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

function fixedBytes(type: number, key: string): number {
  const bytes = FIXED_BYTES[type];
  if (bytes === undefined)
    throw new GgufProblem(`the metadata field ${shown(key)} is of the unknown type ${type}`);
  return bytes;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** A key or name in a message. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
