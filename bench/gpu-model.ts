// Models for graphics cards, made without the network: random weights in the shape of real models, and the built-in model's
// tokenizer, filled up to their number of tokens.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exec } from "./exec.ts";
import { type Field, int32Array, readFields, stringsOf } from "../src/core/gguf.ts";
import { int32sField, stringsField, writeGguf } from "../src/lora/gguf-write.ts";
import { SHAPES, writeModel } from "./model.ts";
import { CACHE, ROOT, SVC } from "./peer.ts";

/** Tokens of Qwen's vocabulary: logits of that many are computed and copied for each sampled token. */
const VOCABULARY = 151_936;
const QUANTIZATION = "Q4_K_M";
const BUILT_IN = join(ROOT, "demo-model/tiny.gguf");
/** gguf.md, token types. */
const UNUSED = 5;

/** Shapes to measure; `tiny`, the built-in model, only shows that the script runs. */
export const GPU_MODELS = { "0.6b": "qwen3-0.6b", "8b": "8b", tiny: undefined } as const;
export type GpuModel = keyof typeof GPU_MODELS;

/** Path of a model, made if missing: a minute for 0.6B, some ten minutes and 25 GB of temporary space for 8B. */
export async function ensureGpuModel(name: GpuModel): Promise<string> {
  const shapeName = GPU_MODELS[name];
  if (shapeName === undefined) return BUILT_IN;
  const shape = SHAPES[shapeName];
  const folder = join(CACHE, "models");
  const target = join(folder, `gpu-${name}-${QUANTIZATION}.gguf`);
  if (existsSync(target)) return target;
  mkdirSync(folder, { recursive: true });
  console.error(`bench: making ${target}, once`);
  const vocabulary = join(folder, `gpu-${name}.vocabulary.gguf`);
  const full = join(folder, `gpu-${name}.part.gguf`);
  const made = join(folder, `gpu-${name}.made.gguf`);
  try {
    writeVocabulary(vocabulary, VOCABULARY);
    writeModel(full, name, shape, vocabulary);
    await exec([SVC, "quantize", full, QUANTIZATION, "--output", made], folder);
    renameSync(made, target);
  } finally {
    for (const part of [vocabulary, full, made]) rmSync(part, { force: true });
  }
  return target;
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
