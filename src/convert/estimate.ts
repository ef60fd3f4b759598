// Size of the GGUF file that a conversion writes, estimated from the headers of the safetensors. Their format:
// github.com/huggingface/safetensors, README. The reader of adapters (src/lora) takes three types only.

import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { HEADER_BYTES_MAX, HEADERS_BYTES_MAX } from "./limits.ts";
import type { ConverterType } from "./run.ts";

/** Bytes of a weight by type; `auto` writes 16 bits. */
const WEIGHT_BYTES: Readonly<Record<ConverterType, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  auto: 2,
};

const Tensor = Type.Object({
  dtype: Type.String(),
  shape: Type.Array(Type.Integer({ minimum: 0 })),
  data_offsets: Type.Tuple([Type.Integer({ minimum: 0 }), Type.Integer({ minimum: 0 })]),
});

/** Bytes of the file that the converter writes for a folder. Packed weights count with their own size. */
export function convertedBytes(folder: string, type: ConverterType): number {
  const files = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
  const budget = { left: HEADERS_BYTES_MAX };
  const bytes = files.reduce((sum, name) => sum + fileBytes(join(folder, name), type, budget), 0);
  return Math.min(Math.ceil(Math.max(0, bytes)), Number.MAX_SAFE_INTEGER);
}

/** Bytes of headers that may still be read. */
interface Budget {
  left: number;
}

function fileBytes(path: string, type: ConverterType, budget: Budget): number {
  const { size } = statSync(path);
  const header = readHeader(path, Math.min(size, budget.left, HEADER_BYTES_MAX), budget);
  if (header === undefined) return size; // the converter will say what is wrong with it
  const tensors = Object.values(header).filter((entry) => Value.Check(Tensor, entry));
  return tensors.reduce((sum, tensor) => sum + tensorBytes(tensor, type), 0);
}

function tensorBytes(
  { dtype, shape, data_offsets: [start, end] }: Static<typeof Tensor>,
  type: ConverterType,
) {
  const isWeight = /^B?F\d/.test(dtype);
  return isWeight ? shape.reduce((product, size) => product * size, 1) * WEIGHT_BYTES[type] : end - start;
}

function readHeader(
  path: string,
  bytesMax: number,
  budget: Budget,
): Readonly<Record<string, unknown>> | undefined {
  const file = openSync(path, "r");
  try {
    const prefix = Buffer.alloc(8);
    if (readSync(file, prefix) < 8) return undefined;
    const length = prefix.readBigUInt64LE();
    if (length > bytesMax) return undefined;
    budget.left -= Number(length);
    const text = Buffer.alloc(Number(length));
    readSync(file, text, 0, text.length, 8);
    const header: unknown = JSON.parse(text.toString());
    return typeof header === "object" && header !== null ? { ...header } : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}
