// Whether a GGUF file can be what it says: its header is read, and its last tensor must begin before the file ends. Finds
// files that are none and downloads that broke off, without reading the weights.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export interface GgufFacts {
  readonly bytes: number;
  readonly tensors: number;
}

/** Bytes read at once. */
const CHUNK_BYTES = 1 << 20;
/** A header that says more than this is damaged, not large. */
const ENTRIES_MAX = 1_000_000;
const TEXT_BYTES_MAX = 1 << 28;
const DIMENSIONS_MAX = 8;

/** gguf.h: enum gguf_type → bytes; 8 is a text, 9 a list. */
const VALUE_BYTES: Readonly<Record<number, number>> = {
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
const TEXT = 8;
const LIST = 9;

/** Facts of a sound file. Throws an Error that says what is wrong, without naming the file. */
export function checkGguf(path: string): GgufFacts {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    throw new Error("it cannot be opened");
  }
  try {
    return readHeader(new Reader(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function readHeader(reader: Reader): GgufFacts {
  if (reader.bytes(4).toString("latin1") !== "GGUF") throw new Error("it is not a GGUF file");
  const version = reader.u32();
  if (version !== 2 && version !== 3) throw new Error(`its GGUF version is ${version}; 2 and 3 can be read`);
  const tensors = reader.count();
  const entries = reader.count();
  let alignment = 32; // gguf.h: GGUF_DEFAULT_ALIGNMENT
  for (let i = 0; i < entries; i++) {
    const key = reader.text();
    const type = reader.u32();
    if (key === "general.alignment" && type === 4) alignment = reader.u32();
    else skipValue(reader, type);
  }
  if (alignment === 0) throw new Error("its header is damaged");
  let lastOffset = 0;
  for (let i = 0; i < tensors; i++) lastOffset = Math.max(lastOffset, readTensor(reader));
  const dataStart = Math.ceil(reader.position / alignment) * alignment;
  if (tensors > 0 && dataStart + lastOffset >= reader.size) throw broken();
  return { bytes: reader.size, tensors };
}

function skipValue(reader: Reader, type: number): void {
  if (type === TEXT) return reader.skip(reader.textBytes());
  if (type !== LIST) return reader.skip(valueBytes(type));
  const itemType = reader.u32();
  const items = reader.u64();
  if (itemType !== TEXT) return reader.skip(items * valueBytes(itemType));
  for (let i = 0; i < items; i++) reader.skip(reader.textBytes());
}

function valueBytes(type: number): number {
  const bytes = VALUE_BYTES[type];
  if (bytes === undefined) throw new Error("its header is damaged");
  return bytes;
}

/** Offset of a tensor in the data. */
function readTensor(reader: Reader): number {
  reader.skip(reader.textBytes());
  const dimensions = reader.u32();
  if (dimensions > DIMENSIONS_MAX) throw new Error("its header is damaged");
  reader.skip(dimensions * 8 + 4); // sizes, type
  return reader.u64();
}

function broken(): Error {
  return new Error("it breaks off: the download or copy was not finished");
}

/** Reads forward through a file. Numbers are little-endian. */
class Reader {
  readonly size: number;
  position = 0;
  private readonly descriptor: number;
  private chunk = Buffer.alloc(0);
  private chunkStart = 0;

  constructor(descriptor: number) {
    this.descriptor = descriptor;
    this.size = fstatSync(descriptor).size;
  }

  bytes(count: number): Buffer {
    if (this.position + count > this.size) throw broken();
    const at = this.position - this.chunkStart;
    if (at < 0 || at + count > this.chunk.length) {
      this.chunk = Buffer.alloc(Math.min(Math.max(count, CHUNK_BYTES), this.size - this.position));
      this.chunkStart = this.position;
      readSync(this.descriptor, this.chunk, 0, this.chunk.length, this.position);
    }
    const start = this.position - this.chunkStart;
    this.position += count;
    return this.chunk.subarray(start, start + count);
  }

  skip(count: number): void {
    this.position += count;
    if (this.position > this.size) throw broken();
  }

  u32(): number {
    return this.bytes(4).readUInt32LE();
  }

  /** Beyond 2^53 the value loses its last digits, which no sound file has. */
  u64(): number {
    return Number(this.bytes(8).readBigUInt64LE());
  }

  count(): number {
    const count = this.u64();
    if (count > ENTRIES_MAX) throw new Error("its header is damaged");
    return count;
  }

  textBytes(): number {
    const bytes = this.u64();
    if (bytes > TEXT_BYTES_MAX) throw new Error("its header is damaged");
    return bytes;
  }

  text(): string {
    return this.bytes(this.textBytes()).toString("utf8");
  }
}
