// Files of block drafters for the silent hybrid of tiny-heads.ts, whose next token follows from the last one alone. EAGLE-3 and
// DSpark are built to know it, the former for most tokens; DFlash has random weights.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { uniformSource } from "../../bench/random.ts";
import { itemAt } from "../../src/core/assert.ts";
import { arrayLength, type Field, readFields } from "../../src/core/gguf.ts";
import {
  boolField,
  f32Field,
  int32sField,
  stringField,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";
import { TINY_PATH } from "./native.ts";
import { EMBD, embeddingsOf, FFN, HEAD_DIM, HEADS } from "./tiny-heads.ts";
import { f32Tensor as tensor, type Fill, i64Tensor, onesTensor as ones } from "./tiny-tensors.ts";
import { tempDir } from "./tmp.ts";

export type DrafterKind = "eagle3" | "dflash" | "dspark";

/** What of a file may be another way, or wrong. */
export interface DrafterFlaws {
  readonly layers?: readonly number[];
  readonly embd?: number;
  readonly maskToken?: boolean;
  /** Tokens of the model that the drafter has (d2t), instead of all. */
  readonly tokens?: readonly number[];
  /** They are listed as 32-bit floats. */
  readonly floatTokens?: true;
  /** The file has no output weights, though it has some of the tokens. */
  readonly sharesOutput?: true;
}

/** Of 2,048 tokens every other one, in another order: drafters that know what follows are right about half. */
export const EVERY_OTHER = Array.from({ length: 1024 }, (_, i) => 2 * ((i * 389) % 1024) + 1);

const BLOCK = 4;
/** Dimension that is the same for all tokens, so that positions alone decide what an EAGLE-3 drafter attends to: the last one. */
const SAME = EMBD - 1;
/** Of queries and keys: rows see themselves. */
const SHARPNESS = 8;

/** Path of a new file. */
export function tinyDrafter(kind: DrafterKind, flaws: DrafterFlaws = {}): string {
  const own = readFields(readFileSync(TINY_PATH));
  const tokens = own.find(({ key }) => key === "tokenizer.ggml.tokens");
  if (tokens === undefined) throw new Error("the built-in model has tokens");
  const path = join(tempDir(), `${kind}.gguf`);
  const kept = own.filter(({ key }) => key.startsWith("tokenizer."));
  const mask = flaws.maskToken === false ? [] : [u32Field("tokenizer.ggml.mask_token_id", 3)];
  const made = kind === "eagle3" ? eagleTensors : blockTensors;
  const all = [...made(arrayLength(tokens), kind), ...outputOf(kind, flaws, arrayLength(tokens))];
  const tensors = all.map((one) => reduced(one, flaws.tokens));
  writeGguf(path, [...fieldsOf(kind, flaws), ...kept, ...mask], [...tensors, ...listOf(flaws)]);
  return path;
}

/** Block drafters share the model's output weights, where they have all tokens. */
function outputOf(kind: DrafterKind, { tokens, sharesOutput }: DrafterFlaws, vocabulary: number): Tensor[] {
  if (kind === "eagle3" || tokens === undefined || sharesOutput === true) return [];
  const { output } = embeddingsOf(vocabulary);
  return [tensor("output.weight", (i) => itemAt(output, i), EMBD, vocabulary)];
}

function listOf({ tokens, floatTokens }: DrafterFlaws): Tensor[] {
  if (tokens === undefined) return [];
  return [
    floatTokens === true ? tensor("d2t", (i) => itemAt(tokens, i), tokens.length) : i64Tensor("d2t", tokens),
  ];
}

/** Of weights with a row for each token that may follow, the rows of some. */
function reduced(whole: Tensor, tokens: readonly number[] | undefined): Tensor {
  if (tokens === undefined || !["output.weight", "markov_w2.weight"].includes(whole.name)) return whole;
  const [width = 0, rows = 0] = whole.shape;
  const bytes = Buffer.concat([...whole.chunks()]);
  const row = bytes.length / rows;
  const rowOf = (token: number): Buffer => bytes.subarray(row * token, row * (token + 1));
  const kept = Buffer.concat(tokens.map((token) => rowOf(Math.abs(token) % rows)));
  return { ...whole, shape: [width, tokens.length], chunks: () => [kept] };
}

function fieldsOf(kind: DrafterKind, { layers, embd = EMBD }: DrafterFlaws): Field[] {
  const arch = kind === "eagle3" ? "eagle3" : "dflash";
  const key = (suffix: string): string => `${arch}.${suffix}`;
  return [
    stringField("general.architecture", arch),
    u32Field(key("block_count"), 1),
    u32Field(key("context_length"), 2048),
    u32Field(key("embedding_length"), EMBD),
    u32Field(key("feed_forward_length"), FFN),
    u32Field(key("attention.head_count"), HEADS),
    u32Field(key("attention.head_count_kv"), HEADS),
    u32Field(key("attention.key_length"), HEAD_DIM),
    u32Field(key("attention.value_length"), HEAD_DIM),
    u32Field(key("rope.dimension_count"), HEAD_DIM),
    f32Field(key("attention.layer_norm_rms_epsilon"), 1e-6),
    int32sField(key("target_layers"), [...(layers ?? (arch === "eagle3" ? [0, 1, 1] : [0, 1]))]),
    ...(arch === "eagle3"
      ? [u32Field(key("target_hidden_size"), embd), boolField(key("norm_before_residual"), true)]
      : [u32Field(key("block_size"), BLOCK)]),
  ];
}

const NOTHING: Fill = () => 0;
/** Row `i` of the output is column `from + i` of the input. */
const taking =
  (inputs: number, from: number): Fill =>
  (index) =>
    index % inputs === from + Math.floor(index / inputs) ? 1 : 0;

/** Attends to itself alone, where the last token is, and outputs what follows it; inputs of layers add nothing. */
function eagleTensors(vocabulary: number): Tensor[] {
  const { embeddings, output } = embeddingsOf(vocabulary);
  const same: Fill = (index) => (index % (2 * EMBD) === SAME ? SHARPNESS : 0);
  return [
    tensor("token_embd.weight", (i) => (i % EMBD === SAME ? 1 : itemAt(embeddings, i)), EMBD, vocabulary),
    tensor("output.weight", (i) => (i % EMBD === SAME ? 0 : itemAt(output, i)), EMBD, vocabulary),
    ones("output_norm.weight", EMBD),
    tensor("fc.weight", NOTHING, 3 * EMBD, EMBD),
    ones("blk.0.attn_norm.weight", EMBD),
    tensor("blk.0.attn_norm_2.weight", NOTHING, EMBD),
    tensor("blk.0.attn_q.weight", same, 2 * EMBD, HEADS * HEAD_DIM),
    tensor("blk.0.attn_k.weight", same, 2 * EMBD, HEADS * HEAD_DIM),
    tensor("blk.0.attn_v.weight", taking(2 * EMBD, 0), 2 * EMBD, HEADS * HEAD_DIM),
    tensor("blk.0.attn_output.weight", taking(EMBD, 0), HEADS * HEAD_DIM, EMBD),
    ...feedForward(NOTHING),
  ];
}

/** DSpark: layers add nothing, and the Markov head knows what follows a token. DFlash: random. */
function blockTensors(vocabulary: number, kind: DrafterKind): Tensor[] {
  const uniform = uniformSource(17);
  const weight: Fill = () => 0.4 * (2 * uniform() - 1);
  const isKnowing = kind === "dspark";
  const out = isKnowing ? NOTHING : weight;
  const { embeddings, output } = embeddingsOf(vocabulary);
  return [
    tensor("fc.weight", weight, 2 * EMBD, EMBD),
    ones("enc.output_norm.weight", EMBD),
    ones("output_norm.weight", EMBD),
    ones("blk.0.attn_norm.weight", EMBD),
    tensor("blk.0.attn_q.weight", weight, EMBD, HEADS * HEAD_DIM),
    tensor("blk.0.attn_k.weight", weight, EMBD, HEADS * HEAD_DIM),
    tensor("blk.0.attn_v.weight", weight, EMBD, HEADS * HEAD_DIM),
    tensor("blk.0.attn_output.weight", out, HEADS * HEAD_DIM, EMBD),
    ones("blk.0.attn_q_norm.weight", HEAD_DIM),
    ones("blk.0.attn_k_norm.weight", HEAD_DIM),
    ...feedForward(out),
    ...(isKnowing
      ? [
          tensor("markov_w1.weight", (i) => 100 * itemAt(embeddings, i), EMBD, vocabulary),
          tensor("markov_w2.weight", (i) => itemAt(output, i), EMBD, vocabulary),
        ]
      : []),
  ];
}

function feedForward(out: Fill): Tensor[] {
  const uniform = uniformSource(19);
  const weight: Fill = () => 0.4 * (2 * uniform() - 1);
  return [
    ones("blk.0.ffn_norm.weight", EMBD),
    tensor("blk.0.ffn_gate.weight", weight, EMBD, FFN),
    tensor("blk.0.ffn_up.weight", weight, EMBD, FFN),
    tensor("blk.0.ffn_down.weight", out, FFN, EMBD),
  ];
}
