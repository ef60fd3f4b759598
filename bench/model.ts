// Generates the measured models: GGUF files with random weights in the shape of a real architecture. Speed depends on shapes,
// types and vocabulary, not on weight values, and nothing must be downloaded. Tokenizers come from the vocabulary-only files in
// the llama.cpp source.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type CopierShape, copierTensors, ROPE_BASE } from "./copier.ts";
import { exec } from "./exec.ts";
import { arrayLength, type Field, int32Array, readFields } from "../src/core/gguf.ts";
import { f32Field, stringField, TENSOR, u32Field, writeGguf, type Tensor } from "../src/lora/gguf-write.ts";
import {
  hasState,
  latentTensors,
  type MemoryArch,
  memoryFields,
  memoryNorms,
  stateTensors,
  type Weights,
} from "./memories.ts";
import { FILES, realFile } from "../test/real/models.ts";
import { machineLine } from "./machine.ts";
import { killRunning } from "./processes.ts";
import { CACHE, ensurePeer, ROOT, type Peer } from "./peer.ts";
import { normalSource, type NormalSource } from "./random.ts";

export interface Shape extends CopierShape {
  readonly arch: "qwen3" | "qwen3moe" | "llama" | MemoryArch;
  readonly contextTokens: number;
  /** File in the llama.cpp source's models/ whose tokenizer is copied. */
  readonly vocab: string;
  readonly template: string;
  /** Dimensions of a head that RoPE rotates; absent: all. */
  readonly turning?: number;
  /** Output matrix shared with the token embedding. */
  readonly tied: boolean;
  /** Type llama-quantize converts to; undefined keeps f16. */
  readonly quantization?: string | undefined;
  /** Mixture of experts: `count` feed-forward networks of size `ffn` per layer, of which a token uses `used`. */
  readonly experts?: { readonly count: number; readonly used: number };
  /** Constructed to copy, see copier.ts; requires qwen3 with tied embeddings. */
  readonly copies?: boolean;
}

// Part of the file names; increment it with the recipe, so that old files are not reused.
const RECIPE = 2;

const CHATML =
  "{%- for m in messages -%}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}{%- endfor -%}" +
  "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";
/** Chat template with tools. */
const TOOLED = readFileSync(join(ROOT, "demo-model/template.jinja"), "utf8");

/** Shape of Qwen3-0.6B, a small real model with a vocabulary of 152,000 tokens. */
const QWEN3: Shape = {
  arch: "qwen3",
  embd: 1024,
  layers: 28,
  heads: 16,
  kvHeads: 8,
  headDim: 128,
  ffn: 3072,
  contextTokens: 40_960,
  vocab: "ggml-vocab-qwen2.gguf",
  template: CHATML,
  tied: true,
  quantization: "Q4_K_M",
};

const EIGHT: Shape = {
  arch: "llama",
  embd: 4096,
  layers: 6,
  heads: 32,
  kvHeads: 8,
  headDim: 128,
  ffn: 14_336,
  contextTokens: 40_960,
  vocab: "ggml-vocab-llama-spm.gguf",
  template: TOOLED,
  tied: false,
  quantization: "Q4_K_M",
};

export const SHAPES = {
  "qwen3-0.6b": QWEN3,
  // The same shape, for answers that copy.
  copier: { ...QWEN3, copies: true },
  // A mixture of experts with the same vocabulary: 0.8B parameters, 0.25B active per token.
  moe: {
    ...QWEN3,
    arch: "qwen3moe",
    layers: 12,
    kvHeads: 4,
    headDim: 64,
    ffn: 512,
    experts: { count: 32, used: 4 },
  },
  // Beyond full attention: windows of 512 tokens in five of six layers; a recurrent state in three of four.
  windows: {
    ...QWEN3,
    arch: "gemma3",
    layers: 18,
    heads: 4,
    kvHeads: 1,
    headDim: 256,
    ffn: 4096,
    template: TOOLED,
  },
  hybrid: {
    ...QWEN3,
    arch: "qwen35",
    layers: 24,
    heads: 8,
    kvHeads: 2,
    headDim: 256,
    turning: 64,
    ffn: 3584,
    template: TOOLED,
  },
  // Latent attention: a cache of 576 values a token and layer, which all heads share.
  mla: { ...QWEN3, arch: "deepseek2", layers: 16, kvHeads: 1, template: TOOLED },
  // Six layers of an 8B model: memory bandwidth decides its decode speed.
  "8b-slice": EIGHT,
  // Other types of weights.
  "qwen3-0.6b-f16": { ...QWEN3, quantization: undefined },
  "qwen3-0.6b-q8_0": { ...QWEN3, quantization: "Q8_0" },
  "qwen3-0.6b-iq4_xs": { ...QWEN3, quantization: "IQ4_XS" },
  "qwen3-0.6b-iq3_s": { ...QWEN3, quantization: "IQ3_S" },
  // Almost no computation: shows the server's own overhead. Rows of 64 are too short for K-quants: f16.
  nano: {
    arch: "llama",
    embd: 64,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    ffn: 192,
    contextTokens: 32_768,
    vocab: "ggml-vocab-llama-spm.gguf",
    template: TOOLED,
    tied: false,
  },
} as const satisfies Record<string, Shape>;

/** Models with trained weights. Their answers end by themselves, so tokens/s, not times, can be compared. */
const TRAINED = { "smollm2-135m": FILES.smollm, "gemma-3-270m": FILES.gemma } as const;
const isTrained = (name: string): name is keyof typeof TRAINED => name in TRAINED;

/** Models the bench knows; `builtin` is the one inside the executable. */
export const MODELS = [
  "smollm2-135m",
  "gemma-3-270m",
  "nano",
  "qwen3-0.6b",
  "qwen3-0.6b-f16",
  "qwen3-0.6b-q8_0",
  "qwen3-0.6b-iq4_xs",
  "qwen3-0.6b-iq3_s",
  "8b-slice",
  "moe",
  "windows",
  "hybrid",
  "mla",
  "builtin",
] as const;
export type ModelName = (typeof MODELS)[number];

/**
 * Path of a model's file, generated if missing: 20 s and 1.2 GB of temporary space for those of 0.6B, a minute and 1.6 GB for
 * `moe`.
 */
export async function ensureModel(name: ModelName | "copier", peer: Peer): Promise<string> {
  if (name === "builtin") return join(ROOT, "demo-model/tiny.gguf");
  if (isTrained(name)) {
    const path = await realFile(TRAINED[name]);
    if (path === undefined) throw new Error(`${name} cannot be had here`);
    return path;
  }
  const shape: Shape = SHAPES[name];
  const folder = join(CACHE, "models");
  const type = shape.quantization ?? "f16";
  const target = join(folder, `${name}-${type.toLowerCase()}.r${RECIPE}.gguf`);
  if (existsSync(target)) return target;
  mkdirSync(folder, { recursive: true });
  console.error(`bench: making ${target}, once`);
  const full = `${target}.f16.part`;
  const made = `${target}.part`;
  try {
    writeModel(full, name, shape, join(peer.source, "models", shape.vocab));
    const threads = String(availableParallelism());
    if (shape.quantization === undefined) renameSync(full, made);
    else await exec([peer.quantize, full, made, shape.quantization, threads], folder);
    renameSync(made, target);
  } finally {
    for (const part of [full, made]) rmSync(part, { force: true });
  }
  return target;
}

/** Writes a model of f16 weights with the tokenizer of the file at `vocabPath`. */
export function writeModel(path: string, name: string, shape: Shape, vocabPath: string): void {
  const tokenizer = readFields(readFileSync(vocabPath)).filter((field) => field.key.startsWith("tokenizer."));
  const tokens = arrayLength(fieldNamed(tokenizer, "tokenizer.ggml.tokens"));
  const key = (suffix: string): string => `${shape.arch}.${suffix}`;
  const fields: Field[] = [
    stringField("general.architecture", shape.arch),
    stringField("general.name", `${name} (${shape.copies === true ? "constructed" : "random"} weights)`),
    u32Field("general.file_type", 1), // mostly f16
    u32Field(key("block_count"), shape.layers),
    u32Field(key("context_length"), shape.contextTokens),
    u32Field(key("embedding_length"), shape.embd),
    u32Field(key("feed_forward_length"), shape.ffn),
    ...expertFields(shape, key),
    ...(isOther(shape.arch) ? memoryFields(shape.arch, key, shape.layers) : []),
    u32Field(key("attention.head_count"), shape.heads),
    u32Field(key("attention.head_count_kv"), shape.kvHeads),
    ...headFields(shape, key),
    f32Field(key("attention.layer_norm_rms_epsilon"), 1e-6),
    f32Field(key("rope.freq_base"), ROPE_BASE),
    u32Field(key("vocab_size"), tokens),
    ...tokenizer.filter((field) => field.key !== "tokenizer.chat_template"),
    stringField("tokenizer.chat_template", shape.template),
  ];
  const types = int32Array(fieldNamed(tokenizer, "tokenizer.ggml.token_type"));
  // gguf.md, token types: 1 is normal text; the others are control, unknown, unused and byte tokens.
  const quiet = (row: number): boolean => types[row] !== 1;
  const copying = shape.copies === true ? copierTensors(shape, tokens) : [];
  const made = new Map(copying.map((tensor) => [tensor.name, tensor]));
  const tensors = tensorsOf(shape, tokens, quiet).map((tensor) => made.get(tensor.name) ?? tensor);
  writeGguf(path, fields, tensors);
}

function headFields({ arch, headDim, turning }: Shape, key: (suffix: string) => string): Field[] {
  if (arch === "deepseek2") return []; // with its latent attention
  return [
    u32Field(key("attention.key_length"), headDim),
    u32Field(key("attention.value_length"), headDim),
    u32Field(key("rope.dimension_count"), turning ?? headDim),
  ];
}

function expertFields({ experts, ffn }: Shape, key: (suffix: string) => string): Field[] {
  if (experts === undefined) return [];
  return [
    u32Field(key("expert_count"), experts.count),
    u32Field(key("expert_used_count"), experts.used),
    u32Field(key("expert_feed_forward_length"), ffn),
  ];
}

function fieldNamed(fields: readonly Field[], key: string): Field {
  const found = fields.find((field) => field.key === key);
  if (found === undefined) throw new Error(`the vocabulary file has no ${key}`);
  return found;
}

function tensorsOf(shape: Shape, tokens: number, quiet: (row: number) => boolean): Tensor[] {
  const source = normalSource(1);
  const { embd } = shape;
  // Every answer must reach max_tokens, or the servers would be compared over different lengths: the vocabulary rows of
  // end-of-text and other special tokens are 100 times smaller, so their logits stay near 0, while the best normal token is
  // several standard deviations above. Both servers read the same file.
  const vocabulary = (name: string): Tensor => matrix(source, name, tokens, embd, quiet);
  const tensors: Tensor[] = [vocabulary("token_embd.weight"), ones("output_norm.weight", embd)];
  if (!shape.tied) tensors.push(vocabulary("output.weight"));
  for (let layer = 0; layer < shape.layers; layer++) tensors.push(...layerTensors(source, layer, shape));
  return tensors;
}

function isOther(arch: Shape["arch"]): arch is MemoryArch {
  return arch === "gemma3" || arch === "qwen35" || arch === "deepseek2";
}

function layerTensors(source: NormalSource, layer: number, shape: Shape): Tensor[] {
  const { arch, embd } = shape;
  const block = `blk.${layer}.`;
  const weights: Weights = { matrix: (...of) => matrix(source, ...of), ones };
  return [
    ones(`${block}attn_norm.weight`, embd),
    ...(isOther(arch) ? memoryNorms(arch, block, embd, weights) : [ones(`${block}ffn_norm.weight`, embd)]),
    ...memory(layer, shape, weights, source),
    ...feedForward(source, block, shape),
  ];
}

/** The part of a layer that reads earlier tokens. */
function memory(layer: number, shape: Shape, weights: Weights, source: NormalSource): Tensor[] {
  const block = `blk.${layer}.`;
  if (shape.arch === "deepseek2") return latentTensors(block, shape, weights);
  return hasState(shape.arch, layer) ? stateTensors(block, shape, weights) : attention(source, block, shape);
}

function attention(
  source: NormalSource,
  block: string,
  { arch, embd, heads, kvHeads, headDim }: Shape,
): Tensor[] {
  const q = heads * headDim;
  const kv = kvHeads * headDim;
  const tensors = [
    matrix(source, `${block}attn_q.weight`, arch === "qwen35" ? 2 * q : q, embd), // with gates
    matrix(source, `${block}attn_k.weight`, kv, embd),
    matrix(source, `${block}attn_v.weight`, kv, embd),
    matrix(source, `${block}attn_output.weight`, embd, q),
  ];
  if (arch === "llama") return tensors;
  const norms = [ones(`${block}attn_q_norm.weight`, headDim), ones(`${block}attn_k_norm.weight`, headDim)];
  return [...tensors, ...norms];
}

function feedForward(source: NormalSource, block: string, { embd, ffn, experts }: Shape): Tensor[] {
  if (experts === undefined)
    return [
      matrix(source, `${block}ffn_gate.weight`, ffn, embd),
      matrix(source, `${block}ffn_up.weight`, ffn, embd),
      matrix(source, `${block}ffn_down.weight`, embd, ffn),
    ];
  const each = (name: string, outputs: number, inputs: number): Tensor => ({
    ...matrix(source, `${block}${name}.weight`, outputs * experts.count, inputs),
    shape: [inputs, outputs, experts.count],
  });
  return [
    matrix(source, `${block}ffn_gate_inp.weight`, experts.count, embd),
    each("ffn_gate_exps", ffn, embd),
    each("ffn_up_exps", ffn, embd),
    each("ffn_down_exps", embd, ffn),
  ];
}

/** An f16 matrix [inputs, outputs] of normal values with standard deviation 1/sqrt(inputs), which keeps activations near 1. */
function matrix(
  source: NormalSource,
  name: string,
  outputs: number,
  inputs: number,
  quiet: (row: number) => boolean = () => false,
): Tensor {
  const loud = source.halfTable(1 / Math.sqrt(inputs));
  const low = source.halfTable(0.01 / Math.sqrt(inputs));
  function* chunks(): Generator<Uint8Array> {
    const rowsAtOnce = Math.max(1, Math.floor(2 ** 20 / inputs)); // about 2 MB per write
    for (let first = 0; first < outputs; first += rowsAtOnce) {
      const rows = Math.min(rowsAtOnce, outputs - first);
      const values = new Uint16Array(rows * inputs); // [rows, inputs] f16 bits
      for (let row = 0; row < rows; row++) {
        source.fill(values.subarray(row * inputs, (row + 1) * inputs), quiet(first + row) ? low : loud);
      }
      yield new Uint8Array(values.buffer);
    }
  }
  return { name, shape: [inputs, outputs], type: TENSOR.f16, chunks };
}

/** Weights of an identity norm. */
function ones(name: string, length: number): Tensor {
  const bytes = new Uint8Array(new Float32Array(length).fill(1).buffer);
  return { name, shape: [length], type: TENSOR.f32, chunks: () => [bytes] };
}

/** The model that a flag names, its file and the peer, both made if they are missing. Prints the machine. */
export async function namedModel(
  name: string | undefined,
  threads: number,
): Promise<{ readonly modelPath: string; readonly peer: Peer }> {
  const model = MODELS.find((one) => one === name);
  if (model === undefined) throw new Error(`--model: must be one of ${MODELS.join(", ")}`);
  const peer = await ensurePeer();
  const modelPath = await ensureModel(model, peer);
  console.log(`${await machineLine(peer.release, threads)}\n`);
  return { modelPath, peer };
}

/** Measures the trained models, or those of them that the command line names, and kills what still runs. */
export async function measureTrained(
  measure: (model: "smollm2-135m" | "gemma-3-270m") => Promise<void>,
  names = process.argv.slice(2),
): Promise<void> {
  try {
    for (const model of ["smollm2-135m", "gemma-3-270m"] as const)
      if (names.length === 0 || names.includes(model)) await measure(model);
  } finally {
    killRunning();
  }
}
