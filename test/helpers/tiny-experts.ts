// A mixture of experts with the built-in model's vocabulary and random weights, wide enough for every type of weights.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { f32Field, stringField, type Tensor, u32Field, writeGguf } from "../../src/lora/gguf-write.ts";
import { arrayLength, readFields } from "../../src/core/gguf.ts";
import { uniformSource } from "../../bench/random.ts";
import { TINY_PATH } from "./native.ts";
import { type Fill, onesTensor, f32Tensor } from "./tiny-tensors.ts";
import { tempDir } from "./tmp.ts";

const EMBD = 256; // a block of K-quants
const FFN = 256;
const HEADS = 4;
const HEAD_DIM = 64;
const LAYERS = 2;
const EXPERTS = 4;
/** Of which each token takes so many: with 16 tokens an expert has about eight rows, some have more. */
const USED = 2;

/** What is added to the weights of some tensors, by their names. */
type Updates = Readonly<Record<string, Fill>>;

/** The file's path. Its weights are F32. */
export function tinyExperts(updates: Updates = {}): string {
  const own = readFields(readFileSync(TINY_PATH));
  const tokens = own.find(({ key }) => key === "tokenizer.ggml.tokens");
  if (tokens === undefined) throw new Error("the built-in model has tokens");
  const key = (suffix: string): string => `qwen3moe.${suffix}`;
  const fields = [
    stringField("general.architecture", "qwen3moe"),
    u32Field(key("block_count"), LAYERS),
    u32Field(key("context_length"), 2048),
    u32Field(key("embedding_length"), EMBD),
    u32Field(key("feed_forward_length"), FFN),
    u32Field(key("expert_count"), EXPERTS),
    u32Field(key("expert_used_count"), USED),
    u32Field(key("expert_feed_forward_length"), FFN),
    u32Field(key("attention.head_count"), HEADS),
    u32Field(key("attention.head_count_kv"), HEADS),
    u32Field(key("attention.key_length"), HEAD_DIM),
    u32Field(key("attention.value_length"), HEAD_DIM),
    f32Field(key("attention.layer_norm_rms_epsilon"), 1e-6),
    ...own.filter(({ key: name }) => name.startsWith("tokenizer.")),
  ];
  const path = join(tempDir(), "experts.gguf");
  writeGguf(path, fields, tensors(arrayLength(tokens), updates));
  return path;
}

function tensors(vocabulary: number, updates: Updates): Tensor[] {
  const uniform = uniformSource(5);
  const random = (name: string, ...shape: readonly number[]): Tensor =>
    f32Tensor(
      name,
      (i) => (2 * uniform() - 1) * Math.sqrt(3 / (shape[0] ?? 1)) + (updates[name]?.(i) ?? 0), // variance 1 / inputs
      ...shape,
    );
  return [
    random("token_embd.weight", EMBD, vocabulary),
    random("output.weight", EMBD, vocabulary),
    onesTensor("output_norm.weight", EMBD),
    ...Array.from({ length: LAYERS }, (_, layer) => `blk.${layer}.`).flatMap((block) => [
      onesTensor(`${block}attn_norm.weight`, EMBD),
      onesTensor(`${block}ffn_norm.weight`, EMBD),
      onesTensor(`${block}attn_q_norm.weight`, HEAD_DIM),
      onesTensor(`${block}attn_k_norm.weight`, HEAD_DIM),
      ...["attn_q", "attn_k", "attn_v", "attn_output"].map((name) =>
        random(`${block}${name}.weight`, EMBD, HEADS * HEAD_DIM),
      ),
      random(`${block}ffn_gate_inp.weight`, EMBD, EXPERTS),
      random(`${block}ffn_gate_exps.weight`, EMBD, FFN, EXPERTS),
      random(`${block}ffn_up_exps.weight`, EMBD, FFN, EXPERTS),
      random(`${block}ffn_down_exps.weight`, FFN, EMBD, EXPERTS),
    ]),
  ];
}
