// Models of gigabytes whose weights are holes in the file: for plans, which read headers alone. With the built-in model's vocabulary.

import { existsSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { arrayLength, readFields } from "../../src/core/gguf.ts";
import { tensorBytes } from "../../src/core/gguf-facts.ts";
import {
  f32Field,
  stringField,
  TENSOR,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";
import { TINY_PATH } from "./native.ts";
import { tempDir } from "./tmp.ts";

const [EMBD, HEADS, KV_HEADS, HEAD_DIM] = [1024, 8, 4, 128];
/** Data of tensors begin at multiples of this in writeGguf's files. */
const ALIGNMENT = 32;

export const HOLLOW = {
  // 2.5 GB, all but 0.1 of them in experts, 24 KB a cell.
  mixture: { arch: "qwen3moe", layers: 12, ffn: 512, experts: { count: 64, used: 4 } },
  // 2.1 GB, 48 KB a cell.
  dense: { arch: "qwen3", layers: 24, ffn: 12_288, experts: undefined },
} as const;
export type Hollow = keyof typeof HOLLOW;

/** Ends writing at the first tensor's data. */
class AtData extends Error {}

export function hollowModel(name: Hollow): string {
  const path = join(tempDir(), `hollow-${name}.gguf`);
  if (existsSync(path)) return path;
  const { arch, layers, ffn, experts } = HOLLOW[name];
  const own = readFields(readFileSync(TINY_PATH)).filter(({ key }) => key.startsWith("tokenizer."));
  const tokens = own.find(({ key }) => key === "tokenizer.ggml.tokens");
  if (tokens === undefined) throw new Error("the built-in model has tokens");
  const number = (key: string, value: number) => u32Field(`${arch}.${key}`, value);
  const fields = [
    stringField("general.architecture", arch),
    number("block_count", layers),
    number("context_length", 131_072),
    number("embedding_length", EMBD),
    number("feed_forward_length", ffn),
    number("attention.head_count", HEADS),
    number("attention.head_count_kv", KV_HEADS),
    number("attention.key_length", HEAD_DIM),
    number("attention.value_length", HEAD_DIM),
    f32Field(`${arch}.attention.layer_norm_rms_epsilon`, 1e-6),
    ...(experts === undefined
      ? []
      : [
          number("expert_count", experts.count),
          number("expert_used_count", experts.used),
          number("expert_feed_forward_length", ffn),
        ]),
    ...own,
  ];
  const tensors = [
    hole("token_embd", TENSOR.f16, EMBD, arrayLength(tokens)),
    hole("output", TENSOR.f16, EMBD, arrayLength(tokens)),
    hole("output_norm", TENSOR.f32, EMBD),
    ...Array.from({ length: layers }, (_, layer) => layerOf(`blk.${layer}.`, ffn, experts?.count)).flat(),
  ];
  try {
    writeGguf(path, fields, tensors);
  } catch (error) {
    if (!(error instanceof AtData)) throw error;
  }
  const data = tensors.reduce((sum, tensor) => sum + aligned(tensorBytes(tensor) ?? 0), 0);
  truncateSync(path, aligned(statSync(path).size) + data);
  return path;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

function layerOf(block: string, ffn: number, experts: number | undefined): readonly Tensor[] {
  const matrix = (name: string, ...shape: readonly number[]) => hole(`${block}${name}`, TENSOR.f16, ...shape);
  const kind = experts === undefined ? "" : "_exps";
  const many = experts === undefined ? [] : [experts];
  return [
    hole(`${block}attn_norm`, TENSOR.f32, EMBD),
    hole(`${block}ffn_norm`, TENSOR.f32, EMBD),
    hole(`${block}attn_q_norm`, TENSOR.f32, HEAD_DIM),
    hole(`${block}attn_k_norm`, TENSOR.f32, HEAD_DIM),
    matrix("attn_q", EMBD, HEADS * HEAD_DIM),
    matrix("attn_k", EMBD, KV_HEADS * HEAD_DIM),
    matrix("attn_v", EMBD, KV_HEADS * HEAD_DIM),
    matrix("attn_output", HEADS * HEAD_DIM, EMBD),
    ...(experts === undefined ? [] : [hole(`${block}ffn_gate_inp`, TENSOR.f32, EMBD, experts)]),
    matrix(`ffn_gate${kind}`, EMBD, ffn, ...many),
    matrix(`ffn_up${kind}`, EMBD, ffn, ...many),
    matrix(`ffn_down${kind}`, ffn, EMBD, ...many),
  ];
}

function hole(name: string, type: number, ...shape: readonly number[]): Tensor {
  const chunks = (): never => {
    throw new AtData(name);
  };
  return { name: `${name}.weight`, shape, type, chunks };
}
