// The header of a file of safetensors; its form: github.com/huggingface/safetensors, README. The reader of adapters (src/lora) takes
// three types only.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { isObject } from "../core/json.ts";

const Entry = Type.Object({
  dtype: Type.String(),
  shape: Type.Array(Type.Integer({ minimum: 0 })),
  data_offsets: Type.Tuple([Type.Integer({ minimum: 0 }), Type.Integer({ minimum: 0 })]),
});

export interface SafeTensorEntry extends Pick<Static<typeof Entry>, "dtype" | "shape"> {
  readonly name: string;
  /** Its data among that of the file. */
  readonly from: number;
  readonly to: number;
  /** Of an element; undefined for a type that is not known here. */
  readonly bits: number | undefined;
}

export interface SafeTensors {
  readonly tensors: readonly SafeTensorEntry[];
  readonly headerBytes: number;
  readonly dataBytes: number;
  /** A name occurs more than once: JSON keeps the last. */
  readonly repeated: boolean;
}

/** A header with more bytes than were to be read; it may be right. */
export const TOO_LARGE = "its header is larger than what is read of it";

/** Reads a header of at most `bytesMax` bytes; a text says why it cannot be. */
export function readSafetensors(path: string, bytesMax: number): SafeTensors | string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const prefix = Buffer.alloc(8);
    if (readSync(file, prefix) < 8) return "it is shorter than its header";
    const length = prefix.readBigUInt64LE();
    if (length > size - 8) return "its header is longer than the file";
    if (length > bytesMax) return TOO_LARGE;
    const text = Buffer.alloc(Number(length));
    readSync(file, text, 0, text.length, 8);
    return parsed(text.toString(), size - 8 - text.length);
  } finally {
    closeSync(file);
  }
}

function parsed(text: string, dataBytes: number): SafeTensors | string {
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch {
    return "its header is not JSON";
  }
  if (!isObject(header)) return "its header is not an object";
  const tensors: SafeTensorEntry[] = [];
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    if (!Value.Check(Entry, entry)) return `the entry of ${name} in its header has no type, shape and place`;
    const {
      dtype,
      shape,
      data_offsets: [from, to],
    } = entry;
    tensors.push({ name, dtype, shape, from, to, bits: bitsOf(dtype) });
  }
  const places = text.match(/"data_offsets"\s*:/g)?.length ?? 0;
  return { tensors, headerBytes: text.length, dataBytes, repeated: places > tensors.length };
}

/** `BF16`, `F8_E4M3`, `U8`; two of `F4` share a byte. */
function bitsOf(dtype: string): number | undefined {
  if (dtype === "BOOL") return 8;
  const bits = /^(?:BF|F|I|U)(4|8|16|32|64)(?:_\w+)?$/.exec(dtype)?.[1];
  return bits === undefined ? undefined : Number(bits);
}
