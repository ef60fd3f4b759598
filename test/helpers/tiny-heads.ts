// Model files with a head that predicts the token after the next: a small hybrid of the qwen35 family (a recurrent layer, one
// with attention, then the head's block) with the built-in model's vocabulary and random weights.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  f32Field,
  int32sField,
  stringField,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";
import { itemAt } from "../../src/core/assert.ts";
import { arrayLength, type Field, readFields } from "../../src/core/gguf.ts";
import { uniformSource } from "../../bench/random.ts";
import { TINY_PATH } from "./native.ts";
import { f32Tensor as tensor, type Fill, onesTensor as ones } from "./tiny-tensors.ts";
import { tempDir } from "./tmp.ts";

export const EMBD = 64;
export const FFN = 64;
export const HEADS = 2;
export const HEAD_DIM = 32;
/** Of the recurrent layer: heads, and the size of a head of its state. */
const STATES = 2;
const STATE_DIM = 32;
const CONV = 4;
const TRUNK_LAYERS = 2;
const SEED = 11;

/** What of the file matters to a test. */
export interface HeadOptions {
  /** Layers add nothing, so that a token alone tells the next one, and the head knows it. */
  readonly silent: boolean;
  /** The file has the head. */
  readonly head: boolean;
}

export function tinyHybrid({ silent, head }: HeadOptions): string {
  const own = readFields(readFileSync(TINY_PATH));
  const tokens = own.find(({ key }) => key === "tokenizer.ggml.tokens");
  if (tokens === undefined) throw new Error("the built-in model has tokens");
  const path = join(tempDir(), `hybrid-${silent ? "silent" : "random"}-${head ? "head" : "plain"}.gguf`);
  const kept = own.filter(({ key }) => key.startsWith("tokenizer."));
  writeGguf(path, [...hybridFields(head), ...kept], hybridTensors(arrayLength(tokens), { silent, head }));
  return path;
}

function hybridFields(head: boolean): Field[] {
  const key = (suffix: string): string => `qwen35.${suffix}`;
  return [
    stringField("general.architecture", "qwen35"),
    u32Field(key("block_count"), TRUNK_LAYERS + (head ? 1 : 0)),
    ...(head ? [u32Field(key("nextn_predict_layers"), 1)] : []),
    u32Field(key("context_length"), 2048),
    u32Field(key("embedding_length"), EMBD),
    u32Field(key("feed_forward_length"), FFN),
    u32Field(key("attention.head_count"), HEADS),
    u32Field(key("attention.head_count_kv"), 1),
    u32Field(key("attention.key_length"), HEAD_DIM),
    u32Field(key("attention.value_length"), HEAD_DIM),
    f32Field(key("attention.layer_norm_rms_epsilon"), 1e-6),
    u32Field(key("full_attention_interval"), TRUNK_LAYERS),
    u32Field(key("rope.dimension_count"), HEAD_DIM),
    int32sField(key("rope.dimension_sections"), [6, 5, 5, 0]),
    u32Field(key("ssm.conv_kernel"), CONV),
    u32Field(key("ssm.inner_size"), STATES * STATE_DIM),
    u32Field(key("ssm.state_size"), STATE_DIM),
    u32Field(key("ssm.time_step_rank"), STATES),
    u32Field(key("ssm.group_count"), STATES),
  ];
}

/** Rows of EMBD values a token: of the embeddings, and of the output weights. */
export function embeddingsOf(
  vocabulary: number,
  uniform = uniformSource(SEED),
): { readonly embeddings: Float32Array; readonly output: Float32Array } {
  const random = (scale: number): Float32Array =>
    Float32Array.from({ length: EMBD * vocabulary }, () => scale * (2 * uniform() - 1));
  const embeddings = random(1);
  return { embeddings, output: random(2) };
}

function hybridTensors(vocabulary: number, { silent, head }: HeadOptions): Tensor[] {
  const uniform = uniformSource(SEED);
  const { embeddings, output } = embeddingsOf(vocabulary, uniform);
  const random =
    (scale: number): Fill =>
    () =>
      scale * (2 * uniform() - 1);
  const weight = random(0.2);
  const out: Fill = silent ? () => 0 : weight; // what a layer adds goes through one of these
  const attention = (block: string): Tensor[] => [
    tensor(`${block}attn_q.weight`, weight, EMBD, 2 * HEADS * HEAD_DIM), // queries and gates
    tensor(`${block}attn_k.weight`, weight, EMBD, HEAD_DIM),
    tensor(`${block}attn_v.weight`, weight, EMBD, HEAD_DIM),
    tensor(`${block}attn_output.weight`, out, HEADS * HEAD_DIM, EMBD),
    ones(`${block}attn_q_norm.weight`, HEAD_DIM),
    ones(`${block}attn_k_norm.weight`, HEAD_DIM),
  ];
  const recurrent = (block: string): Tensor[] => [
    tensor(`${block}attn_qkv.weight`, weight, EMBD, 3 * STATES * STATE_DIM),
    tensor(`${block}attn_gate.weight`, weight, EMBD, STATES * STATE_DIM),
    tensor(`${block}ssm_conv1d.weight`, random(0.5), CONV, 3 * STATES * STATE_DIM),
    tensor(`${block}ssm_dt.bias`, weight, STATES),
    tensor(`${block}ssm_a`, () => -0.2, STATES), // the state decays
    tensor(`${block}ssm_beta.weight`, weight, EMBD, STATES),
    tensor(`${block}ssm_alpha.weight`, weight, EMBD, STATES),
    ones(`${block}ssm_norm.weight`, STATE_DIM),
    tensor(`${block}ssm_out.weight`, out, STATES * STATE_DIM, EMBD),
  ];
  const common = (block: string): Tensor[] => [
    ones(`${block}attn_norm.weight`, EMBD),
    ones(`${block}post_attention_norm.weight`, EMBD),
    tensor(`${block}ffn_gate.weight`, weight, EMBD, FFN),
    tensor(`${block}ffn_up.weight`, weight, EMBD, FFN),
    tensor(`${block}ffn_down.weight`, out, FFN, EMBD),
  ];
  const last = `blk.${TRUNK_LAYERS}.`;
  // The head sees the last token and what the model made of the one before: it goes by the token alone.
  const byToken: Fill = (index) => (index % (2 * EMBD) === Math.floor(index / (2 * EMBD)) ? 1 : 0);
  return [
    tensor("token_embd.weight", (i) => itemAt(embeddings, i), EMBD, vocabulary),
    tensor("output.weight", (i) => itemAt(output, i), EMBD, vocabulary),
    ones("output_norm.weight", EMBD),
    ...common("blk.0."),
    ...recurrent("blk.0."),
    ...common("blk.1."),
    ...attention("blk.1."),
    ...(head
      ? [
          ...common(last),
          ...attention(last),
          tensor(`${last}nextn.eh_proj.weight`, byToken, 2 * EMBD, EMBD),
          ones(`${last}nextn.enorm.weight`, EMBD),
          ones(`${last}nextn.hnorm.weight`, EMBD),
        ]
      : []),
  ];
}
