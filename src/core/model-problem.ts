// Header values of a model file that would end the process that loads it. llama.cpp answers most broken files with an
// error; these it asserts (llama-model.cpp, llama-vocab.cpp, and ggml where it computes). Each rule holds for every file
// that can be served; problems beyond the header are found by the process that ends.

import { type Field, FIELD, type GgufHeader, int32Array, stringsOf, textOf, unsigned } from "./gguf.ts";

/** llama-hparams.h: LLAMA_MAX_LAYERS, LLAMA_MAX_EXPERTS. */
const LAYERS_MAX = 512;
const EXPERTS_MAX = 1024;

/** llama-model.cpp: LLAMA_ROPE_SCALING_TYPES. */
const SCALINGS: readonly string[] = ["none", "linear", "yarn", "longrope"];

/** Tensor types by their numbers in the file: formats in between, which no file has, and those that are not multiplied. */
const INTERNAL: ReadonlySet<number> = new Set([9, 15]); // q8_1, q8_K
const NUMBERS: ReadonlySet<number> = new Set([24, 25, 26, 27, 28]); // i8, i16, i32, i64, f64
const NORM_TYPES: ReadonlySet<number> = new Set([0, 1, 30]); // f32, f16, bf16

/** Tensors that every model computes with; others may be tables of integers. */
const WEIGHTS = /^(token_embd|output|blk\.\d+\.(attn_(q|k|v|qkv|output)|ffn_(gate|up|down)))\.weight$/;
const NORMS = /^(output_norm|blk\.\d+\.(attn|ffn)_norm)\.weight$/;

/** First problem, naming the field or the tensor; undefined for a valid file. */
export function modelProblem(header: GgufHeader): string | undefined {
  const { fields, tensors } = header;
  const name = fields.get("general.architecture");
  const architecture = (name === undefined ? undefined : textOf(name)) ?? "";
  const own = (key: string): Field | undefined => fields.get(`${architecture}.${key}`);
  const problem = layerProblem(own) ?? expertProblem(own, architecture) ?? attentionProblem(own);
  if (problem !== undefined) return `${architecture}.${problem}`;
  return vocabularyProblem(fields) ?? tensorProblem(tensors);
}

type Own = (key: string) => Field | undefined;

function numberOf(field: Field | undefined): number | undefined {
  return field === undefined ? undefined : unsigned(field);
}

function layerProblem(own: Own): string | undefined {
  const layers = numberOf(own("block_count"));
  if (layers === undefined) return undefined;
  if (layers < 1 || layers > LAYERS_MAX) return `block_count is ${layers}, not 1 to ${LAYERS_MAX}`;
  const predicting = numberOf(own("nextn_predict_layers")) ?? 0;
  if (predicting > layers) return `nextn_predict_layers is ${predicting}, more than there are layers`;
  return undefined;
}

function expertProblem(own: Own, architecture: string): string | undefined {
  const experts = numberOf(own("expert_count")) ?? 0;
  if (architecture.startsWith("hunyuan") && experts <= 1) return undefined; // taken for none
  const field = own("expert_used_count");
  const list = field?.type === FIELD.array ? [...int32Array(field)] : [numberOf(field) ?? 0];
  const used = Math.max(0, ...list);
  if (experts > EXPERTS_MAX) return `expert_count is ${experts}, more than ${EXPERTS_MAX}`;
  if (used > experts) return `expert_used_count is ${used}, more than there are experts (${experts})`;
  if (experts > 0 && used === 0) return `expert_used_count is 0, although there are ${experts} experts`;
  return undefined;
}

function attentionProblem(own: Own): string | undefined {
  const heads = numberOf(own("attention.head_count")) ?? 0;
  const shared = numberOf(own("attention.head_count_kv")) ?? 0;
  if (heads > 0 && shared > 0 && heads % shared !== 0)
    return `attention.head_count_kv is ${shared}, which does not divide the ${heads} heads`;
  const rotated = numberOf(own("rope.dimension_count")) ?? 0;
  if (rotated % 2 !== 0) return `rope.dimension_count is ${rotated}, an odd number`;
  const scaling = own("rope.scaling.type");
  const type = scaling === undefined ? undefined : textOf(scaling);
  if (type !== undefined && !SCALINGS.includes(type))
    return `rope.scaling.type is not one of ${SCALINGS.join(", ")}`;
  for (const key of ["attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon"]) {
    const field = own(key);
    if (field?.type !== FIELD.f32) continue;
    const epsilon = new DataView(field.raw.buffer, field.raw.byteOffset).getFloat32(0, true);
    if (!(epsilon >= 0)) return `${key} is ${epsilon}, not a number of at least 0`;
  }
  return undefined;
}

function vocabularyProblem(fields: GgufHeader["fields"]): string | undefined {
  const model = fields.get("tokenizer.ggml.model");
  const kind = model === undefined ? undefined : textOf(model);
  if (kind === "none" || kind === "no_vocab")
    return `tokenizer.ggml.model is ${kind}: there is no vocabulary`;
  const tokens = fields.get("tokenizer.ggml.tokens");
  if (tokens === undefined || kind === "hybriddna") return undefined; // equal tokens have different ids
  const seen = new Set<string>();
  for (const [id, token] of (stringsOf(tokens) ?? []).entries()) {
    if (seen.has(token)) return `tokenizer.ggml.tokens has the token ${id} a second time`;
    if (token !== "") seen.add(token);
  }
  return undefined;
}

function tensorProblem(tensors: GgufHeader["tensors"]): string | undefined {
  for (const { name, shape, type } of tensors.values()) {
    if (shape.includes(0)) return `the tensor ${shown(name)} is empty`;
    const isOdd = INTERNAL.has(type) || (WEIGHTS.test(name) && NUMBERS.has(type));
    if (isOdd || (NORMS.test(name) && !NORM_TYPES.has(type)))
      return `the tensor ${shown(name)} has the type ${type}, which is not supported`;
  }
  return undefined;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
