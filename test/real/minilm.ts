// all-MiniLM-L6-v2 as a GGUF file, written from its safetensors as llama.cpp's converter writes BERT, in F32.

import { readFileSync } from "node:fs";
import type { Field } from "../../src/core/gguf.ts";
import {
  boolField,
  f32Field,
  int32sField,
  stringField,
  stringsField,
  TENSOR,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";

/** gguf.md: types of tokens. */
const NORMAL = 1;
const CONTROL = 3;
/** llama.h: LLAMA_POOLING_TYPE_MEAN */
const MEAN = 1;

/** Names in safetensors files and in GGUF, of a layer and around them. */
const OF_LAYER = {
  "attention.self.query": "attn_q",
  "attention.self.key": "attn_k",
  "attention.self.value": "attn_v",
  "attention.output.dense": "attn_output",
  "attention.output.LayerNorm": "attn_output_norm",
  "intermediate.dense": "ffn_up",
  "output.dense": "ffn_down",
  "output.LayerNorm": "layer_output_norm",
} as const;
const AROUND = {
  word_embeddings: "token_embd",
  position_embeddings: "position_embd",
  token_type_embeddings: "token_types",
  LayerNorm: "token_embd_norm",
} as const;

/** Fields of an uncased BERT vocabulary. */
export function vocabularyFields(vocabularyPath: string): Field[] {
  const words = readFileSync(vocabularyPath, "utf8")
    .split("\n")
    .filter((word) => word !== "");
  const isSpecial = (word: string): boolean => /^\[\w+\]$/.test(word);
  const tokens = words.map((word) =>
    isSpecial(word) ? word : word.startsWith("##") ? word.slice(2) : `▁${word}`,
  );
  const id = (key: string, name: string): Field =>
    u32Field(`tokenizer.ggml.${key}_token_id`, words.indexOf(name));
  return [
    stringField("tokenizer.ggml.model", "bert"),
    stringField("tokenizer.ggml.pre", "jina-v2-en"),
    stringsField("tokenizer.ggml.tokens", tokens),
    int32sField(
      "tokenizer.ggml.token_type",
      words.map((word) => (isSpecial(word) ? CONTROL : NORMAL)),
    ),
    u32Field("tokenizer.ggml.token_type_count", 2),
    id("unknown", "[UNK]"),
    id("bos", "[CLS]"),
    id("seperator", "[SEP]"),
    id("padding", "[PAD]"),
    id("mask", "[MASK]"),
  ];
}

function ggufName(name: string): string | undefined {
  const [, layer, part = "", kind = ""] = /^encoder\.layer\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? [];
  const inner = OF_LAYER[part as keyof typeof OF_LAYER];
  if (inner !== undefined) return `blk.${layer}.${inner}.${kind}`;
  const [, outer = "", end = ""] = /^embeddings\.(.+)\.(weight|bias)$/.exec(name) ?? [];
  const known = AROUND[outer as keyof typeof AROUND];
  return known === undefined ? undefined : `${known}.${end}`;
}

function tensorsOf(path: string): Tensor[] {
  const bytes = readFileSync(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const entries: Readonly<
    Record<string, { shape?: readonly number[]; data_offsets?: readonly [number, number] }>
  > = JSON.parse(bytes.toString("utf8", 8, start));
  return Object.entries(entries).flatMap(([source, { shape = [], data_offsets: [from, to] = [0, 0] }]) => {
    const name = ggufName(source);
    const chunks = (): Uint8Array[] => [bytes.subarray(start + from, start + to)];
    return name === undefined ? [] : [{ name, shape: shape.toReversed(), type: TENSOR.f32, chunks }];
  });
}

/** Writes the model; the file has 90 MB. */
export function writeMiniLm(path: string, safetensorsPath: string, vocabularyPath: string): void {
  const key = (name: string): string => `bert.${name}`;
  const fields = [
    stringField("general.architecture", "bert"),
    stringField("general.name", "all-MiniLM-L6-v2"),
    u32Field(key("block_count"), 6),
    u32Field(key("context_length"), 512),
    u32Field(key("embedding_length"), 384),
    u32Field(key("feed_forward_length"), 1536),
    u32Field(key("attention.head_count"), 12),
    f32Field(key("attention.layer_norm_epsilon"), 1e-12),
    boolField(key("attention.causal"), false),
    u32Field(key("pooling_type"), MEAN),
    ...vocabularyFields(vocabularyPath),
  ];
  writeGguf(path, fields, tensorsOf(safetensorsPath));
}
