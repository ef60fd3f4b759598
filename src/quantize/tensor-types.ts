// Types of single tensors, which `svc quantize --type` names: the tensors of one type are quantized in a file of their own, under
// names that llama.cpp's quantizer has no rules for, and take the places of those in the whole file.

import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { Field, TensorInfo } from "../core/gguf.ts";
import { readWholeHeader } from "../core/gguf-file.ts";
import { tensorBytes } from "../core/gguf-facts.ts";
import { partPaths } from "../core/model-files.ts";
import { type FileType, fileTypeOf } from "../core/quantization.ts";
import { type Tensor, writeGguf } from "../lora/gguf-write.ts";

/** Tensors whose names match, and their type. */
export interface TensorType {
  readonly pattern: RegExp;
  readonly type: FileType;
}

/** Tensors that llama.cpp never quantizes: routers, convolutions, small mixes, positions (llama-quant.cpp). */
const WHOLE =
  /_norm\.weight$|ffn_gate_inp\.|altup|laurel|per_layer_model_proj|position_embd|token_types|ssm_conv1d|shortconv\.conv|time_mix_|attn_rel_b/;
/** Bytes that are copied at a time. */
const PIECE_BYTES = 1 << 24;
/** What an importance matrix keeps of a tensor. */
const STATISTICS = [".in_sum2", ".counts"] as const;

/** `pattern=TYPE`, the pattern a regular expression; a reason where it is none. */
export function tensorTypeOf(text: string): TensorType | string {
  const at = text.lastIndexOf("=");
  const type = at < 1 ? undefined : fileTypeOf(text.slice(at + 1));
  if (type === undefined)
    return `"${text}" is not pattern=TYPE, such as 'ffn_down=Q6_K' or 'blk\\.[0-3]\\..*=Q8_0'`;
  try {
    return { pattern: new RegExp(text.slice(0, at), "u"), type };
  } catch {
    return `"${text.slice(0, at)}" is not a regular expression`;
  }
}

/** A tensor and the file that has its weights. */
interface Placed extends TensorInfo {
  readonly path: string;
}

interface WholeFile {
  readonly fields: readonly Field[];
  readonly tensors: readonly Placed[];
}

function openFile(path: string): WholeFile {
  const parts = partPaths(path).map((part) => ({ part, header: readWholeHeader(part) }));
  return {
    fields: [...(parts[0]?.header.fields.values() ?? [])],
    tensors: parts.flatMap(({ part, header }) =>
      [...header.tensors.values()].map((tensor) => ({ ...tensor, path: part })),
    ),
  };
}

/** The matching tensors of a file by the type that they get: of several patterns the last one counts. Throws for one without a tensor. */
export function typedTensors(
  path: string,
  types: readonly TensorType[],
): ReadonlyMap<FileType, readonly string[]> {
  const names = openFile(path)
    .tensors.filter(({ name, shape }) => shape.length > 1 && name.endsWith(".weight") && !WHOLE.test(name))
    .map(({ name }) => name);
  for (const { pattern } of types)
    if (!names.some((name) => pattern.test(name)))
      throw new Error(`no tensor that can be quantized matches ${pattern.source}`);
  const groups = new Map<FileType, string[]>();
  for (const name of names) {
    const type = types.findLast(({ pattern }) => pattern.test(name))?.type;
    if (type !== undefined) groups.set(type, [...(groups.get(type) ?? []), name]);
  }
  return groups;
}

const plainName = (index: number): string => `plain.${index}.weight`;

/** Writes the tensors of a file alone, renamed, with its metadata. */
export function writePart(path: string, names: readonly string[], output: string): void {
  const { fields, tensors } = openFile(path);
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const chosen = names.flatMap((name, index) => {
    const tensor = byName.get(name);
    return tensor === undefined ? [] : [copyOf({ ...tensor, name: plainName(index) }, tensor)];
  });
  writeGguf(output, fields.filter(isKept), chosen);
}

/** Writes the statistics of these tensors, renamed likewise. */
export function writePartImportance(path: string, names: readonly string[], output: string): void {
  const { fields, tensors } = openFile(path);
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const chosen = names.flatMap((name, index) =>
    STATISTICS.flatMap((what) => {
      const tensor = byName.get(name + what);
      return tensor === undefined ? [] : [copyOf({ ...tensor, name: plainName(index) + what }, tensor)];
    }),
  );
  if (chosen.length > 0) writeGguf(output, fields, chosen);
}

/** A part: the quantized file with the tensors of these names. */
export interface QuantizedPart {
  readonly path: string;
  readonly names: readonly string[];
}

/** Writes a whole file again, with the tensors of the parts in their places. */
export function mergeParts(whole: string, parts: readonly QuantizedPart[], output: string): void {
  const { fields, tensors } = openFile(whole);
  const replaced = new Map<string, Placed>();
  for (const { path, names } of parts) {
    const byName = new Map(openFile(path).tensors.map((tensor) => [tensor.name, tensor]));
    for (const [index, name] of names.entries()) {
      const tensor = byName.get(plainName(index));
      if (tensor !== undefined) replaced.set(name, tensor);
    }
  }
  writeGguf(
    output,
    fields,
    tensors.map((tensor) => {
      const { shape, type, ...from } = replaced.get(tensor.name) ?? tensor;
      return copyOf({ name: tensor.name, shape, type }, { shape, type, ...from });
    }),
  );
}

/** The parts of a split file are written as one. */
function isKept({ key }: Field): boolean {
  return !key.startsWith("split.");
}

function copyOf({ name, shape, type }: Pick<Placed, "name" | "shape" | "type">, from: Placed): Tensor {
  return { name, shape, type, chunks: () => bytesOf(from) };
}

function* bytesOf(tensor: Placed): Generator<Uint8Array> {
  const bytes = tensorBytes(tensor) ?? 0;
  if (tensor.offset + bytes > statSync(tensor.path).size) throw new Error(`${tensor.name} is cut short`);
  const file = openSync(tensor.path, "r");
  try {
    for (let done = 0; done < bytes;) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES, bytes - done));
      const read = readSync(file, piece, 0, piece.byteLength, tensor.offset + done);
      if (read === 0) throw new Error(`${tensor.name} is cut short`);
      yield piece.subarray(0, read);
      done += read;
    }
  } finally {
    closeSync(file);
  }
}
