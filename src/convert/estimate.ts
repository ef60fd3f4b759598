// Size of the GGUF file that a conversion writes, estimated from the headers of the safetensors.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { HEADER_BYTES_MAX, HEADERS_BYTES_MAX } from "./limits.ts";
import type { ConverterType } from "./run.ts";
import { readSafetensors, type SafeTensorEntry } from "./safetensors-header.ts";

/** Bytes of a weight by type; `auto` writes 16 bits. */
const WEIGHT_BYTES: Readonly<Record<ConverterType, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  auto: 2,
};

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
  const read = readSafetensors(path, Math.min(budget.left, HEADER_BYTES_MAX));
  if (typeof read === "string") return statSync(path).size;
  budget.left -= read.headerBytes;
  return read.tensors.reduce((sum, tensor) => sum + tensorBytes(tensor, type), 0);
}

function tensorBytes({ dtype, shape, from, to }: SafeTensorEntry, type: ConverterType): number {
  const isWeight = /^B?F\d/.test(dtype);
  return isWeight ? shape.reduce((product, size) => product * size, 1) * WEIGHT_BYTES[type] : to - from;
}
