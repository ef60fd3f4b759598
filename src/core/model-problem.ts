// Header values of a model file that no model has, and those that would end the process that loads it. llama.cpp answers most broken
// files with an error; these it asserts (llama-model.cpp, llama-vocab.cpp, and ggml where it computes). Each rule holds for every file
// that can be served; problems beyond the header are found by the process that ends.
// Of 1,258 broken files 96 ended the process, 90 of them for these causes. Check the rules at each llama.cpp update.

import {
  type Field,
  FIELD,
  type GgufHeader,
  GgufProblem,
  int32Array,
  stringsOf,
  textOf,
  unsigned,
} from "./gguf.ts";
import { EXPERTS_MAX, LAYERS_MAX, MODEL_NUMBER_MAX } from "./limits.ts";

/** llama.h: llama_model_n_ctx_train answers 31 bits. */
const CONTEXT_MAX = 2 ** 31 - 1;

/** llama-model.cpp: LLAMA_ROPE_SCALING_TYPES. */
const SCALINGS: readonly string[] = ["none", "linear", "yarn", "longrope"];

/** Tensor types by their numbers in the file: formats in between, which no file has, and those that are not multiplied. */
const INTERNAL: ReadonlySet<number> = new Set([9, 15]); // q8_1, q8_K
const NUMBERS: ReadonlySet<number> = new Set([24, 25, 26, 27, 28]); // i8, i16, i32, i64, f64
const NORM_TYPES: ReadonlySet<number> = new Set([0, 1, 30]); // f32, f16, bf16

/** ggml-backend.cpp: TENSOR_ALIGNMENT. A file may name a smaller one. */
const WEIGHTS_ALIGNMENT = 32;

/** Tensors that every model computes with; others may be tables of integers. */
const WEIGHTS = /^(token_embd|output|blk\.\d+\.(attn_(q|k|v|qkv|output)|ffn_(gate|up|down)))\.weight$/;
const NORMS = /^(output_norm|blk\.\d+\.(attn|ffn)_norm)\.weight$/;

/** First problem, naming the field or the tensor; undefined for a valid file. */
export function modelProblem({ fields, tensors }: GgufHeader): string | undefined {
  return fieldProblem(fields) ?? vocabularyProblem(fields) ?? tensorProblem(tensors);
}

/** First problem of the numbers of a model, which others compute with; undefined for sound ones. Fast for any header. */
export function fieldProblem(fields: GgufHeader["fields"]): string | undefined {
  const name = fields.get("general.architecture");
  const architecture = (name === undefined ? undefined : textOf(name)) ?? "";
  const own = (key: string): Field | undefined => fields.get(`${architecture}.${key}`);
  try {
    const problem =
      numberProblem(fields, architecture) ??
      layerProblem(own) ??
      expertProblem(own, architecture) ??
      attentionProblem(own);
    return problem === undefined ? undefined : `${architecture}.${problem}`;
  } catch (error) {
    if (error instanceof GgufProblem) return error.message; // a list of another type
    throw error;
  }
}

/** llama.cpp reads 32 bits of each. */
function numberProblem(fields: GgufHeader["fields"], architecture: string): string | undefined {
  const prefix = `${architecture}.`;
  for (const [key, field] of fields) {
    const number = key.startsWith(prefix) ? unsigned(field) : undefined;
    if (number !== undefined && number > MODEL_NUMBER_MAX)
      return `${key.slice(prefix.length)} is ${number}, more than ${MODEL_NUMBER_MAX}`;
  }
  return undefined;
}

type Own = (key: string) => Field | undefined;

function numberOf(field: Field | undefined): number | undefined {
  return field === undefined ? undefined : unsigned(field);
}

/** Values of a number, or of a list with one for each layer. */
function valuesOf(field: Field | undefined): readonly number[] {
  if (field?.type !== FIELD.array) return [numberOf(field) ?? 0];
  return [...int32Array(field)];
}

function layerProblem(own: Own): string | undefined {
  for (const key of ["block_count", "decoder_block_count"]) {
    const field = own(key);
    const layers = numberOf(field);
    if (field?.type === FIELD.array) return `${key} is a list, not a number`;
    if (layers !== undefined && (layers < 1 || layers > LAYERS_MAX))
      return `${key} is ${layers}, not 1 to ${LAYERS_MAX}`;
  }
  const context = numberOf(own("context_length"));
  if (context !== undefined && (context < 1 || context > CONTEXT_MAX))
    return `context_length is ${context}, not 1 to ${CONTEXT_MAX}`;
  const layers = numberOf(own("block_count"));
  const predicting = numberOf(own("nextn_predict_layers")) ?? 0;
  if (layers !== undefined && predicting > layers)
    return `nextn_predict_layers is ${predicting}, more than there are layers`;
  return undefined;
}

function expertProblem(own: Own, architecture: string): string | undefined {
  const experts = numberOf(own("expert_count")) ?? 0;
  if (architecture.startsWith("hunyuan") && experts <= 1) return undefined; // taken for none
  const used = valuesOf(own("expert_used_count")).reduce((most, number) => Math.max(most, number), 0);
  if (experts > EXPERTS_MAX) return `expert_count is ${experts}, more than ${EXPERTS_MAX}`;
  if (used > experts) return `expert_used_count is ${used}, more than there are experts (${experts})`;
  if (experts > 0 && used === 0) return `expert_used_count is 0, although there are ${experts} experts`;
  const groups = numberOf(own("expert_group_count")) ?? 0;
  const groupsUsed = numberOf(own("expert_group_used_count")) ?? 0;
  if (groups > 0 && groups >= experts)
    return `expert_group_count is ${groups}, not less than the number of experts (${experts})`;
  if (groups <= 1) return undefined;
  if (experts % groups !== 0)
    return `expert_group_count is ${groups}, which does not divide the ${experts} experts`;
  if (groupsUsed < 1 || groupsUsed >= groups)
    return `expert_group_used_count is ${groupsUsed}, not 1 to ${groups - 1}`;
  return undefined;
}

function attentionProblem(own: Own): string | undefined {
  const heads = numberOf(own("attention.head_count")) ?? 0;
  const shared = numberOf(own("attention.head_count_kv")) ?? 0;
  if (heads > 0 && shared > 0 && heads % shared !== 0)
    return `attention.head_count_kv is ${shared}, which does not divide the ${heads} heads`;
  const windows = own("attention.sliding_window_pattern");
  if (
    windows?.type === FIELD.array &&
    (numberOf(own("attention.sliding_window")) ?? 0) > 0 &&
    !hasAny(windows)
  )
    return "attention.sliding_window_pattern names no layer, although there is a sliding window";
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

/** Whether one item of a list is not 0 or false. */
function hasAny({ raw }: Field): boolean {
  return raw.subarray(12).some((byte) => byte !== 0);
}

function vocabularyProblem(fields: GgufHeader["fields"]): string | undefined {
  const model = fields.get("tokenizer.ggml.model");
  const kind = model === undefined ? undefined : textOf(model);
  if (kind === "none" || kind === "no_vocab")
    return `tokenizer.ggml.model is ${kind}: there is no vocabulary`;
  const tokens = fields.get("tokenizer.ggml.tokens");
  if (tokens === undefined || kind === "hybriddna") return undefined; // equal tokens have different ids
  const seen = new Set<string>();
  for (const [id, text] of (stringsOf(tokens) ?? []).entries()) {
    const [token = ""] = text.split("\0", 1); // as llama.cpp reads it
    if (seen.has(token)) return `tokenizer.ggml.tokens has the token ${id} a second time`;
    if (token !== "") seen.add(token);
  }
  return undefined;
}

function tensorProblem(tensors: GgufHeader["tensors"]): string | undefined {
  const first = [...tensors.values()].reduce((least, { offset }) => Math.min(least, offset), Infinity);
  if (tensors.size > 0 && first % WEIGHTS_ALIGNMENT !== 0)
    return `its weights begin at byte ${first}, which is no multiple of ${WEIGHTS_ALIGNMENT}`;
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
