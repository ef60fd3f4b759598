// Models for graphics cards, made without the network: random weights in the shape of real models, and the built-in model's
// tokenizer, filled up to their number of tokens.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { exec } from "./exec.ts";
import { tensorBytes } from "../src/core/gguf-facts.ts";
import { type Field, int32Array, readFields, readGgufHeader, stringsOf } from "../src/core/gguf.ts";
import { int32sField, stringsField, type Tensor, u32Field, writeGguf } from "../src/lora/gguf-write.ts";
import { SHAPES, writeModel } from "./model.ts";
import { CACHE, ROOT, SVC } from "./peer.ts";

/** Tokens of Qwen's vocabulary: logits of that many are computed and copied for each sampled token. */
const VOCABULARY = 151_936;
const QUANTIZATION = "Q4_K_M";
const BUILT_IN = join(ROOT, "demo-model/tiny.gguf");
/** gguf.md, token types. */
const UNUSED = 5;

/** Shapes to measure; `tiny`, the built-in model, only shows that the script runs. */
export const GPU_MODELS = { "0.6b": "qwen3-0.6b", moe: "moe", "8b": "8b", tiny: undefined } as const;
export type GpuModel = keyof typeof GPU_MODELS;

/** Layers that are made; a larger model has them several times, because speed depends on shapes and types, not on values. */
const LAYERS_MADE = { "qwen3-0.6b": 28, moe: 12, "8b": 8 } as const;
const CHUNK_BYTES = 1 << 26;

/** Path of a model, made if missing: in less than a minute, with 8 GB of temporary space for 8B. */
export async function ensureGpuModel(name: GpuModel): Promise<string> {
  const shapeName = GPU_MODELS[name];
  if (shapeName === undefined) return BUILT_IN;
  const shape = { ...SHAPES[shapeName], layers: LAYERS_MADE[shapeName] };
  const folder = join(CACHE, "models");
  const target = join(folder, `gpu-${name}-${QUANTIZATION}.gguf`);
  if (existsSync(target)) return target;
  mkdirSync(folder, { recursive: true });
  console.error(`bench: making ${target}, once`);
  const vocabulary = join(folder, `gpu-${name}.vocabulary.gguf`);
  const full = join(folder, `gpu-${name}.part.gguf`);
  const made = join(folder, `gpu-${name}.made.gguf`);
  const repeated = `${target}.part`;
  try {
    writeVocabulary(vocabulary, VOCABULARY);
    writeModel(full, name, shape, vocabulary);
    await exec([SVC, "quantize", full, QUANTIZATION, "--output", made], folder);
    repeatLayers(made, repeated, SHAPES[shapeName].layers / shape.layers);
    renameSync(repeated, target);
  } finally {
    for (const part of [vocabulary, full, made, repeated]) rmSync(part, { force: true });
  }
  return target;
}

/** Writes the model at `from` with all its layers `times` times. */
function repeatLayers(from: string, to: string, times: number): void {
  const { fields, tensors } = readGgufHeader(from);
  const layers = new Set([...tensors.keys()].flatMap((name) => /^blk\.(\d+)\./.exec(name)?.[1] ?? [])).size;
  const file = openSync(from, "r");
  try {
    const copies = [...tensors.values()].flatMap((info): Tensor[] => {
      const chunks = (): Iterable<Uint8Array> => chunksOf(file, info.offset, tensorBytes(info) ?? 0);
      const [head = "", layer] = /^blk\.(\d+)/.exec(info.name) ?? [];
      if (layer === undefined) return [{ ...info, chunks }];
      return Array.from({ length: times }, (_, time) => ({
        ...info,
        name: `blk.${Number(layer) + time * layers}${info.name.slice(head.length)}`,
        chunks,
      }));
    });
    const renumbered = [...fields.values()].map((field) =>
      field.key.endsWith(".block_count") ? u32Field(field.key, layers * times) : field,
    );
    writeGguf(to, renumbered, copies);
  } finally {
    closeSync(file);
  }
}

function* chunksOf(file: number, offset: number, bytes: number): Generator<Uint8Array> {
  for (let done = 0; done < bytes;) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, bytes - done));
    const read = readSync(file, chunk, 0, chunk.byteLength, offset + done);
    if (read === 0) throw new Error("a model of the bench ends too early");
    yield chunk.subarray(0, read);
    done += read;
  }
}

/** The built-in model's tokenizer with unused tokens up to `count`. */
function writeVocabulary(path: string, count: number): void {
  const own = readFields(readFileSync(BUILT_IN));
  const fields = own.filter(({ key }) => key.startsWith("tokenizer.")).map((field) => filled(field, count));
  writeGguf(path, fields, []);
}

function filled(field: Field, count: number): Field {
  if (field.key === "tokenizer.ggml.tokens") {
    const tokens = stringsOf(field) ?? [];
    const more = Array.from({ length: Math.max(0, count - tokens.length) }, (_, i) => `[unused ${i}]`);
    return stringsField(field.key, [...tokens, ...more]);
  }
  if (field.key === "tokenizer.ggml.token_type") {
    const types = [...int32Array(field)];
    const more = Array.from({ length: Math.max(0, count - types.length) }, () => UNUSED);
    return int32sField(field.key, [...types, ...more]);
  }
  return field;
}
