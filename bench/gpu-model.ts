// Models for graphics cards, made without the network: random weights in the shape of real models, and the built-in model's
// tokenizer, filled up to their number of tokens.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exec } from "./exec.ts";
import { tensorBytes } from "../src/core/gguf-facts.ts";
import { type Field, int32Array, readFields, stringsOf } from "../src/core/gguf.ts";
import { readGgufHeader } from "../src/core/gguf-file.ts";
import { int32sField, stringsField, type Tensor, u32Field, writeGguf } from "../src/lora/gguf-write.ts";
import type { ModelSize } from "./gpu-plan.ts";
import { SHAPES, writeModel } from "./model.ts";
import { CACHE, ROOT, SVC } from "./peer.ts";

/** Tokens of Qwen's vocabulary: logits of that many are computed and copied for each sampled token. */
const VOCABULARY = 151_936;
const QUANTIZATION = "Q4_K_M";
const BUILT_IN = join(ROOT, "demo-model/tiny.gguf");
/** gguf.md, token types. */
const UNUSED = 5;

const MIXTURE = {
  ...SHAPES.moe,
  layers: 2,
  embd: 2048,
  heads: 32,
  kvHeads: 4,
  headDim: 128,
  ffn: 768,
  experts: { count: 128, used: 8 },
};

/**
 * Shapes to measure; `tiny`, the built-in model, only shows that the script runs. `times`: how often the layers are written, because
 * speed depends on shapes and types, not on values.
 */
export const GPU_MODELS = {
  "0.6b": { shape: SHAPES["qwen3-0.6b"], times: 1 },
  moe: { shape: SHAPES.moe, times: 1 },
  "8b": { shape: { ...SHAPES["8b-slice"], layers: 8 }, times: 4 },
  // 30 billion parameters, 3 of them active: the shape of a mixture that many people serve.
  "30b-a3b": { shape: MIXTURE, times: 24 },
  tiny: undefined,
} as const;
export type GpuModel = keyof typeof GPU_MODELS;

/** Whether a model has been made. */
export function hasGpuModel(name: GpuModel): boolean {
  return GPU_MODELS[name] === undefined || existsSync(gpuModelPath(name));
}

function gpuModelPath(name: GpuModel): string {
  return join(CACHE, "models", `gpu-${name}-${QUANTIZATION}.gguf`);
}

/** Path of a model, made if missing: in less than a minute, with 8 GB of temporary space for 8B. */
export async function ensureGpuModel(name: GpuModel): Promise<string> {
  const model = GPU_MODELS[name];
  if (model === undefined) return BUILT_IN;
  const folder = join(CACHE, "models");
  const target = gpuModelPath(name);
  if (existsSync(target)) return target;
  mkdirSync(folder, { recursive: true });
  console.error(`bench: making ${target}, once`);
  const vocabulary = join(folder, `gpu-${name}.vocabulary.gguf`);
  const full = join(folder, `gpu-${name}.part.gguf`);
  const made = join(folder, `gpu-${name}.made.gguf`);
  const repeated = `${target}.part`;
  try {
    writeVocabulary(vocabulary, VOCABULARY);
    writeModel(full, name, model.shape, vocabulary);
    await exec([SVC, "quantize", full, QUANTIZATION, "--output", made], folder);
    if (model.times > 1) repeatLayers(made, repeated, model.shape.layers, model.times);
    renameSync(model.times > 1 ? repeated : made, target);
  } finally {
    for (const part of [vocabulary, full, made, repeated]) rmSync(part, { force: true });
  }
  return target;
}

/** Figures that bound a model's speed; `bytes` of its file. */
export function sizeOf(name: GpuModel, bytes: number): ModelSize {
  const model = GPU_MODELS[name];
  if (model === undefined)
    return { bytes, activeBytes: bytes, activeParams: 4e6, cellBytes: 6 * 2 * 128 * 2 };
  const { shape, times } = model;
  const layers = shape.layers * times;
  const experts = "experts" in shape ? shape.experts : { count: 1, used: 1 };
  const attention = shape.embd * shape.headDim * (2 * shape.heads + 2 * shape.kvHeads);
  const ffn = 3 * shape.embd * shape.ffn;
  const params = layers * (attention + ffn * experts.count) + shape.embd * VOCABULARY;
  const activeParams = layers * (attention + ffn * experts.used) + shape.embd * VOCABULARY;
  const cellBytes = layers * 2 * shape.kvHeads * shape.headDim * 2;
  return { bytes, activeBytes: (bytes * activeParams) / params, activeParams, cellBytes };
}

/** A small model for counting, with Qwen's vocabulary unless another number of tokens is given. */
export async function ensureBusModel(tokens = VOCABULARY): Promise<string> {
  const target = join(CACHE, "models", `bus-f16${tokens === VOCABULARY ? "" : `-${tokens}`}.gguf`);
  if (existsSync(target)) return target;
  mkdirSync(join(CACHE, "models"), { recursive: true });
  const vocabulary = `${target}.vocabulary`;
  writeVocabulary(vocabulary, tokens);
  const shape = { ...SHAPES["qwen3-0.6b"], layers: 2, embd: 64, heads: 2, kvHeads: 1, headDim: 32, ffn: 128 };
  writeModel(`${target}.part`, "bus", shape, vocabulary);
  renameSync(`${target}.part`, target);
  rmSync(vocabulary);
  return target;
}

/** Writes the model of `layers` layers at `from` with all of them `times` times. */
function repeatLayers(from: string, to: string, layers: number, times: number): void {
  const { fields, tensors } = readGgufHeader(from);
  const file = Bun.mmap(from);
  const copies = [...tensors.values()].flatMap((info): Tensor[] => {
    const chunks = () => [file.subarray(info.offset, info.offset + (tensorBytes(info) ?? 0))];
    const layer = /^blk\.(\d+)\./.exec(info.name)?.[1];
    if (layer === undefined) return [{ ...info, chunks }];
    return Array.from({ length: times }, (_, time) => {
      const name = info.name.replace(layer, String(Number(layer) + time * layers));
      return { ...info, name, chunks };
    });
  });
  const renumbered = [...fields.values()].map((field) =>
    field.key.endsWith(".block_count") ? u32Field(field.key, layers * times) : field,
  );
  writeGguf(to, renumbered, copies);
}

/** The built-in model's tokenizer with unused tokens up to `count`. */
export function writeVocabulary(path: string, count: number): void {
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
