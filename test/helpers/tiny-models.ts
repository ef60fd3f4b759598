// Model files for tests: the built-in model under other metadata, and a BERT with random weights.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  boolField,
  f32Field,
  int32sField,
  stringField,
  stringsField,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";
import { type Field, int32Array, readFields, stringsOf } from "../../src/core/gguf.ts";
import { uniformSource } from "../../bench/random.ts";
import { f32Tensor } from "./tiny-tensors.ts";
import { tempDir } from "./tmp.ts";

const TINY = join(import.meta.dir, "../../demo-model/tiny.gguf");
/** Where tensor data begins is a multiple of this. */
const ALIGNMENT = 32;
/** Magic, version, number of tensors, number of fields. */
const HEAD_BYTES = 24;

/** gguf.md: a type of tokens. */
const CONTROL = 3;

/** llama.h: enum llama_pooling_type */
export const POOLING = { none: 0, mean: 1, cls: 2, last: 3, rank: 4 } as const;

function fieldBytes(fields: readonly Field[]): Buffer {
  const parts = fields.flatMap(({ key, type, raw }) => {
    const head = Buffer.alloc(8 + Buffer.byteLength(key) + 4);
    head.writeBigUInt64LE(BigInt(Buffer.byteLength(key)));
    head.write(key, 8);
    head.writeUInt32LE(type, head.length - 4);
    return [head, raw];
  });
  return Buffer.concat(parts);
}

/** Offset behind the descriptions of the tensors that begin at `from`: name, dimensions, type, offset of the data. */
function tensorsEnd(file: Buffer, from: number): number {
  let at = from;
  for (let left = Number(file.readBigUInt64LE(8)); left > 0; left--) {
    at += 8 + Number(file.readBigUInt64LE(at));
    at += 4 + 8 * file.readUInt32LE(at) + 4 + 8;
  }
  return at;
}

/** The built-in model as a base model: without a chat template. */
export function tinyBase(): string {
  return tinyWith("tiny-base", [], ["tokenizer.chat_template"]);
}

/** The built-in model with further metadata fields, as a file; a field that it has is replaced. `less`: keys that are left out. */
export function tinyWith(name: string, extra: readonly Field[], less: readonly string[] = []): string {
  const file = readFileSync(TINY);
  const own = readFields(file);
  const fieldsEnd = HEAD_BYTES + fieldBytes(own).length;
  const dataDescribed = tensorsEnd(file, fieldsEnd);
  const keys = new Set([...less, ...extra.map(({ key }) => key)]);
  const fields = [...own.filter(({ key }) => !keys.has(key)), ...extra];
  const head = Buffer.from(file.subarray(0, HEAD_BYTES));
  head.writeBigUInt64LE(BigInt(fields.length), 16);
  const front = Buffer.concat([head, fieldBytes(fields), file.subarray(fieldsEnd, dataDescribed)]);
  const padding = Buffer.alloc(-front.length & (ALIGNMENT - 1));
  const data = file.subarray(Math.ceil(dataDescribed / ALIGNMENT) * ALIGNMENT);
  const path = join(tempDir(), `${name}.gguf`);
  writeFileSync(path, Buffer.concat([front, padding, data]));
  return path;
}

/** The built-in model as one whose token vectors are pooled so. */
export function tinyPooled(pooling: keyof typeof POOLING): string {
  return tinyWith(`tiny-${pooling}`, [u32Field("llama.pooling_type", POOLING[pooling])]);
}

/** Control tokens of the built-in model that tinyFillsGaps declares to mark a gap: <think>, </think>, <tool_call>. */
export const GAP_TOKENS = { prefix: 3, suffix: 4, middle: 5 } as const;

/** Control tokens that tinyKnowsFiles declares to begin a repository and a file: <|user|> and its like follow the gap's. */
export const FILE_TOKENS = { repository: 6, file: 7 } as const;

/** The built-in model as one that fills gaps and knows other files. */
export function tinyKnowsFiles(): string {
  return tinyFillsGaps([
    u32Field("tokenizer.ggml.fim_rep_token_id", FILE_TOKENS.repository),
    u32Field("tokenizer.ggml.fim_sep_token_id", FILE_TOKENS.file),
  ]);
}

/** The built-in model as one that fills gaps. */
export function tinyFillsGaps(extra: readonly Field[] = []): string {
  return tinyWith("tiny-gaps", [
    u32Field("tokenizer.ggml.fim_pre_token_id", GAP_TOKENS.prefix),
    u32Field("tokenizer.ggml.fim_suf_token_id", GAP_TOKENS.suffix),
    u32Field("tokenizer.ggml.fim_mid_token_id", GAP_TOKENS.middle),
    ...extra,
  ]);
}

/** The built-in model under the name of a family whose positions have several dimensions. It talks nonsense, but steadily. */
export function tinyWidePositions(): string {
  const fields = readFields(readFileSync(TINY));
  const rename = (text: string): string => text.replace(/^llama\./, "qwen2vl.");
  const extra = fields
    .filter(({ key }) => key.startsWith("llama."))
    .map((field) => ({ ...field, key: rename(field.key) }));
  const sections = int32sField("qwen2vl.rope.dimension_sections", [4, 6, 6, 0]);
  return tinyWith("tiny-wide", [stringField("general.architecture", "qwen2vl"), ...extra, sections]);
}

/** The built-in model with further control tokens, in place of its rarest words. */
export function tinyWithControls(texts: readonly string[]): string {
  const fields = new Map(readFields(readFileSync(TINY)).map((field) => [field.key, field]));
  const [tokens, types] = ["tokenizer.ggml.tokens", "tokenizer.ggml.token_type"].map((key) =>
    fields.get(key),
  );
  if (tokens === undefined || types === undefined) throw new Error("the built-in model has tokens");
  const names = [...(stringsOf(tokens) ?? [])];
  const kinds = [...int32Array(types)];
  const from = kinds.indexOf(CONTROL) - texts.length;
  names.splice(from, texts.length, ...texts);
  kinds.fill(CONTROL, from, from + texts.length);
  return tinyWith("tiny-controls", [stringsField(tokens.key, names), int32sField(types.key, kinds)]);
}

/** The built-in model with another last token. */
export function tinyOtherVocabulary(): string {
  const tokens = readFields(readFileSync(TINY)).find(({ key }) => key === "tokenizer.ggml.tokens");
  if (tokens === undefined) throw new Error("the built-in model has tokens");
  const raw = Uint8Array.from(tokens.raw);
  raw[raw.length - 1] = (raw.at(-1) ?? 0) === 0x61 ? 0x62 : 0x61; // the last letter of the last one
  return tinyWith("tiny-other-vocabulary", [{ ...tokens, raw }]);
}

const BERT = { embd: 32, ffn: 64, heads: 2, layers: 2, context: 128 } as const;
/** A word is a token with this before it; the rest of one, a token without. */
const WORD = "\u2581";
const BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].concat(
  Array.from("abcdefghijklmnopqrstuvwxyz0123456789", (letter) => [`${WORD}${letter}`, letter]).flat(),
);

/** A BERT with random weights, as a file. A letter is a token; it sees at most 128 of them, two of which are its own. */
export function tinyBert(pooling: keyof typeof POOLING): string {
  const key = (suffix: string): string => `bert.${suffix}`;
  const fields = [
    stringField("general.architecture", "bert"),
    u32Field(key("block_count"), BERT.layers),
    u32Field(key("context_length"), BERT.context),
    u32Field(key("embedding_length"), BERT.embd),
    u32Field(key("feed_forward_length"), BERT.ffn),
    u32Field(key("attention.head_count"), BERT.heads),
    f32Field(key("attention.layer_norm_epsilon"), 1e-12),
    boolField(key("attention.causal"), false),
    u32Field(key("pooling_type"), POOLING[pooling]),
    stringField("tokenizer.ggml.model", "bert"),
    u32Field("tokenizer.ggml.token_type_count", 2),
    ...["padding", "unknown", "bos", "seperator", "mask"].map((name, id) =>
      u32Field(`tokenizer.ggml.${name}_token_id`, id),
    ),
    stringsField("tokenizer.ggml.tokens", BERT_TOKENS),
    int32sField(
      "tokenizer.ggml.token_type",
      BERT_TOKENS.map((token) => (token.startsWith("[") ? CONTROL : 1)),
    ),
  ];
  const path = join(tempDir(), `bert-${pooling}.gguf`);
  const head = pooling === "rank" ? rankHead().flatMap(({ tensors }) => tensors) : [];
  writeGguf(path, fields, [...bertTensors(), ...head]);
  return path;
}

/** Ids of the tokens that mark texts. */
export const BERT_MARKS = { begin: 2, end: 3 } as const;

/** A layer of the head, with the values of its tensors. */
interface HeadLayer {
  /** [outputs][inputs] */
  readonly weight: readonly (readonly number[])[];
  readonly bias: readonly number[];
  readonly tensors: readonly Tensor[];
}

/** The head of the BERT that ranks: a dense layer, of whose result the tangent is taken, and one that gives the score. */
export function rankHead(): readonly [dense: HeadLayer, output: HeadLayer] {
  const uniform = uniformSource(11);
  const layer = (name: string, outputs: number): HeadLayer => {
    const row = (): number[] => Array.from({ length: BERT.embd }, () => Math.fround(uniform() - 0.5));
    const weight = Array.from({ length: outputs }, row);
    const bias = Array.from({ length: outputs }, () => Math.fround(uniform() - 0.5));
    const flat = weight.flat();
    return {
      weight,
      bias,
      tensors: [
        f32Tensor(`${name}.weight`, (index) => flat[index] ?? 0, BERT.embd, outputs),
        f32Tensor(`${name}.bias`, (index) => bias[index] ?? 0, outputs),
      ],
    };
  };
  return [layer("cls", BERT.embd), layer("cls.output", 1)];
}

function bertTensors(): Tensor[] {
  const { embd, ffn, layers, context } = BERT;
  const uniform = uniformSource(7);
  const tensor = (name: string, ...shape: readonly number[]): Tensor =>
    f32Tensor(name, () => 4 * uniform() - 2, ...shape);
  const linear = (name: string, inputs: number, outputs: number): Tensor[] => [
    tensor(`${name}.weight`, inputs, outputs),
    tensor(`${name}.bias`, outputs),
  ];
  const norm = (name: string): Tensor[] => [tensor(`${name}.weight`, embd), tensor(`${name}.bias`, embd)];
  return [
    tensor("token_embd.weight", embd, BERT_TOKENS.length),
    tensor("token_types.weight", embd, 2),
    tensor("position_embd.weight", embd, context),
    ...norm("token_embd_norm"),
    ...Array.from({ length: layers }, (_, layer) => `blk.${layer}.`).flatMap((block) => [
      ...["attn_q", "attn_k", "attn_v", "attn_output"].flatMap((part) => linear(block + part, embd, embd)),
      ...norm(`${block}attn_output_norm`),
      ...linear(`${block}ffn_up`, embd, ffn),
      ...linear(`${block}ffn_down`, ffn, embd),
      ...norm(`${block}layer_output_norm`),
    ]),
  ];
}
