// Headers of model files that would end the process that loads them are refused, by the field; sound ones are not.

import { describe, expect, test } from "bun:test";
import { f32Field, int32sField, stringField, stringsField, u32Field } from "../../src/lora/gguf-write.ts";
import { type Field, type TensorInfo } from "../../src/core/gguf.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { modelProblem } from "../../src/core/model-problem.ts";
import { TINY_FILE } from "../helpers/binary.ts";
import { tinyBert, tinyWidePositions } from "../helpers/tiny-models.ts";

const TINY = readGgufHeader(TINY_FILE);
const number = (key: string, value: number): Field => u32Field(`llama.${key}`, value);
const real = (key: string, value: number): Field => f32Field(`llama.${key}`, value);

/** What is wrong with the built-in model once these fields are in it. */
function problemWith(...fields: readonly Field[]): string | undefined {
  const all = [...TINY.fields.values(), ...fields];
  return modelProblem({ ...TINY, fields: new Map(all.map((field) => [field.key, field])) });
}

function problemOf(name: string, change: Partial<TensorInfo>): string | undefined {
  const tensor = TINY.tensors.get(name) ?? { name, shape: [1], type: 0, offset: 0 };
  return modelProblem({ ...TINY, tensors: new Map([...TINY.tensors, [name, { ...tensor, ...change }]]) });
}

test.each([TINY_FILE, tinyBert("cls"), tinyWidePositions()])("%s is sound", (path) => {
  expect(modelProblem(readGgufHeader(path))).toBeUndefined();
});

test.each<[string, readonly Field[]]>([
  ["llama.block_count is 0, not 1 to 512", [number("block_count", 0)]],
  ["llama.block_count is 513, not 1 to 512", [number("block_count", 513)]],
  ["llama.nextn_predict_layers is 7, more than there are layers", [number("nextn_predict_layers", 7)]],
  ["llama.context_length is 4294967295, not 1 to 2147483647", [number("context_length", 4294967295)]],
  ["llama.decoder_block_count is 513, not 1 to 512", [number("decoder_block_count", 513)]],
  ["llama.block_count is a list, not a number", [int32sField("llama.block_count", [6, 6])]],
  ["llama.expert_used_count holds no 32-bit integers", [stringsField("llama.expert_used_count", ["2"])]],
  [
    "llama.expert_group_count is 1000, not less than the number of experts (8)",
    [number("expert_count", 8), number("expert_used_count", 2), number("expert_group_count", 1000)],
  ],
  [
    "llama.expert_group_count is 2, not less than the number of experts (0)",
    [number("expert_group_count", 2)],
  ],
  [
    "llama.expert_group_count is 3, which does not divide the 8 experts",
    [number("expert_count", 8), number("expert_used_count", 2), number("expert_group_count", 3)],
  ],
  [
    "llama.expert_group_used_count is 4, not 1 to 3",
    [
      number("expert_count", 8),
      number("expert_used_count", 2),
      number("expert_group_count", 4),
      number("expert_group_used_count", 4),
    ],
  ],
  [
    "llama.attention.sliding_window_pattern names no layer, although there is a sliding window",
    [number("attention.sliding_window", 512), int32sField("llama.attention.sliding_window_pattern", [])],
  ],
  ["llama.expert_count is 1025, more than 1024", [number("expert_count", 1025)]],
  ["llama.expert_used_count is 2, more than there are experts (0)", [number("expert_used_count", 2)]],
  [
    "llama.expert_used_count is 9, more than there are experts (8)",
    [number("expert_count", 8), int32sField("llama.expert_used_count", [2, 9, 2, 2, 2, 2])],
  ],
  ["llama.expert_used_count is 0, although there are 8 experts", [number("expert_count", 8)]],
  [
    "llama.attention.head_count_kv is 3, which does not divide the 8 heads",
    [number("attention.head_count_kv", 3)],
  ],
  [
    "llama.attention.head_count_kv is 16, which does not divide the 8 heads",
    [number("attention.head_count_kv", 16)],
  ],
  ["llama.rope.dimension_count is 31, an odd number", [number("rope.dimension_count", 31)]],
  [
    "llama.rope.scaling.type is not one of none, linear, yarn, longrope",
    [stringField("llama.rope.scaling.type", "x")],
  ],
  [
    "llama.attention.layer_norm_rms_epsilon is -1, not a number of at least 0",
    [real("attention.layer_norm_rms_epsilon", -1)],
  ],
  [
    "llama.attention.layer_norm_epsilon is NaN, not a number of at least 0",
    [real("attention.layer_norm_epsilon", NaN)],
  ],
  [
    "tokenizer.ggml.model is no_vocab: there is no vocabulary",
    [stringField("tokenizer.ggml.model", "no_vocab")],
  ],
  [
    "tokenizer.ggml.tokens has the token 2 a second time",
    [stringsField("tokenizer.ggml.tokens", ["a", "b", "a"])],
  ],
  [
    "tokenizer.ggml.tokens has the token 1 a second time",
    [stringsField("tokenizer.ggml.tokens", ["a", "a\0b"])],
  ],
])("%s", (problem, fields) => {
  expect(problemWith(...fields)).toBe(problem);
});

test.each<[string, readonly Field[]]>([
  ["as many layers as there may be", [number("block_count", 512)]],
  ["experts", [number("expert_count", 8), number("expert_used_count", 2)]],
  ["no key heads of its own", [number("attention.head_count_kv", 0)]],
  ["a number of heads for each layer", [int32sField("llama.attention.head_count_kv", [4, 0, 3, 4, 4, 4])]],
  ["a scaling", [stringField("llama.rope.scaling.type", "yarn")]],
  ["no epsilon", [real("attention.layer_norm_rms_epsilon", 0)]],
  ["tokens without text", [stringsField("tokenizer.ggml.tokens", ["a", "", ""])]],
  ["tokens that begin alike", [stringsField("tokenizer.ggml.tokens", ["a", "\0b", "b\0"])]],
  ["tokens that differ in one byte", [stringsField("tokenizer.ggml.tokens", ["é", "è"])]],
  [
    "tokens that its tokenizer tells apart",
    [stringField("tokenizer.ggml.model", "hybriddna"), stringsField("tokenizer.ggml.tokens", ["A", "A"])],
  ],
  ["fields of other types, which llama.cpp refuses", [stringField("llama.block_count", "x")]],
])("%s: sound", (_, fields) => {
  expect(problemWith(...fields)).toBeUndefined();
});

describe("tensors", () => {
  test("begin where the engine can map them", () => {
    expect(problemOf("blk.0.ffn_up.weight", { offset: 16 })).toBe(
      "its weights begin at byte 16, which is no multiple of 32",
    );
  });

  test.each<[string, Partial<TensorInfo>]>([
    ["blk.0.ffn_up.weight", { shape: [256, 0] }],
    ["token_embd.weight", { type: 9 }],
    ["blk.3.some_table", { type: 15 }],
    ["blk.3.attn_q.weight", { type: 26 }],
    ["output_norm.weight", { type: 8 }],
  ])("%s with %j cannot be computed with", (name, change) => {
    const problem = change.type === undefined ? "is empty" : `has the type ${change.type}, which is`;
    expect(problemOf(name, change)).toStartWith(`the tensor "${name}" ${problem}`);
  });

  test.each<[string, Partial<TensorInfo>]>([
    ["blk.0.ffn_up.weight", { type: 12 }],
    ["blk.0.expert_table", { type: 26 }],
    ["output_norm.weight", { type: 1 }],
  ])("%s with %j can", (name, change) => {
    expect(problemOf(name, change)).toBeUndefined();
  });
});
