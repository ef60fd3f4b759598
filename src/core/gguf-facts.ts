// What a GGUF file says of its model, for people: architecture, parameters, types of tensors, licence, metadata as text.

import {
  type Field,
  FIELD,
  type GgufHeader,
  type TensorInfo,
  arrayLength,
  numberOf,
  textOf,
  unsigned,
} from "./gguf.ts";
import type { ModelFileFacts, TextAbilities } from "./model-info.ts";
import { fileTypeOfNumber } from "./quantization.ts";

/** Number of a tensor type (ggml.h: enum ggml_type) → name, elements of a block, bytes of a block (ggml-common.h). */
const TENSOR_TYPES: Readonly<Record<number, readonly [string, number, number]>> = {
  0: ["F32", 1, 4],
  1: ["F16", 1, 2],
  2: ["Q4_0", 32, 18],
  3: ["Q4_1", 32, 20],
  6: ["Q5_0", 32, 22],
  7: ["Q5_1", 32, 24],
  8: ["Q8_0", 32, 34],
  10: ["Q2_K", 256, 84],
  11: ["Q3_K", 256, 110],
  12: ["Q4_K", 256, 144],
  13: ["Q5_K", 256, 176],
  14: ["Q6_K", 256, 210],
  16: ["IQ2_XXS", 256, 66],
  17: ["IQ2_XS", 256, 74],
  18: ["IQ3_XXS", 256, 98],
  19: ["IQ1_S", 256, 50],
  20: ["IQ4_NL", 32, 18],
  21: ["IQ3_S", 256, 110],
  22: ["IQ2_S", 256, 82],
  23: ["IQ4_XS", 256, 136],
  24: ["I8", 1, 1],
  25: ["I16", 1, 2],
  26: ["I32", 1, 4],
  27: ["I64", 1, 8],
  28: ["F64", 1, 8],
  29: ["IQ1_M", 256, 56],
  30: ["BF16", 1, 2],
  34: ["TQ1_0", 256, 54],
  35: ["TQ2_0", 256, 66],
  39: ["MXFP4", 32, 17],
  40: ["NVFP4", 64, 36],
  41: ["Q1_0", 128, 18],
  42: ["Q2_0", 64, 18],
};

/** Types that files come in and `svc quantize` does not make (llama.h: enum llama_ftype). */
const OTHER_FILE_TYPES: Readonly<Record<number, string>> = {
  38: "MXFP4",
  39: "NVFP4",
  40: "Q1_0",
  41: "Q2_0",
};

/** Facts of a model's file. */
export interface GgufFacts extends Pick<
  ModelFileFacts,
  "architecture" | "license" | "quantization" | "contextTokens" | "parameters"
> {
  readonly name: string | undefined;
  readonly hasChatTemplate: boolean;
  readonly card: GgufCard;
}

/** What a header says on cards, before the model is loaded. */
export interface GgufCard {
  /** Plain values of `general.…` and of the architecture's fields. */
  readonly metadata: Readonly<Record<string, string | number | boolean>>;
  readonly abilities: TextAbilities;
}

/** Longest value and most values of a card. */
const CARD_TEXT_CHARS_MAX = 300;
const CARD_VALUES_MAX = 128;
/** Architectures that embed texts and generate none. */
const EMBEDDERS = /bert|embed|t5encoder/;
/** Words of a chat template that lets its model think. */
const THINKING = /enable_thinking|reasoning_content|<think>|thinking/;
/** Pooling of rerankers (llama.h: LLAMA_POOLING_TYPE_RANK). */
const RANKS = 4;

function cardOf(fields: ReadonlyMap<string, Field>, architecture: string | undefined): GgufCard {
  const value = (key: string): string | number | boolean | undefined => {
    const field = fields.get(key);
    if (field === undefined) return undefined;
    if (field.type === FIELD.bool) return field.raw[0] === 1;
    return textOf(field) ?? numberOf(field);
  };
  const told = [...fields.keys()].filter(
    (key) => key.startsWith("general.") || key.startsWith(`${architecture}.`),
  );
  const metadata = told.slice(0, CARD_VALUES_MAX).flatMap((key) => {
    const one = value(key);
    const isShort = typeof one !== "string" || one.length <= CARD_TEXT_CHARS_MAX;
    return one === undefined || !isShort ? [] : [[key, one] as const];
  });
  const pooling = Number(value(`${architecture}.pooling_type`) ?? 0);
  const isEmbedder =
    EMBEDDERS.test(architecture ?? "") || pooling > 0 || value(`${architecture}.attention.causal`) === false;
  const template = value("tokenizer.chat_template");
  const gaps = ["tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id"];
  return {
    metadata: Object.fromEntries(metadata),
    abilities: {
      generates: !isEmbedder,
      embeds: isEmbedder && pooling !== RANKS,
      ranks: pooling === RANKS,
      thinks: !isEmbedder && typeof template === "string" && THINKING.test(template),
      fillsGaps: !isEmbedder && gaps.some((key) => fields.has(key)),
      ...(template === undefined ? { isBase: true as const } : {}),
    },
  };
}

/** Whether a vocabulary of byte pairs does not say how text is split before they are merged. */
export function lacksPreTokenizer(fields: ReadonlyMap<string, Field>): boolean {
  const model = fields.get("tokenizer.ggml.model");
  return model !== undefined && textOf(model) === "gpt2" && !fields.has("tokenizer.ggml.pre");
}

/** Tensors of one type. */
export interface TensorGroup {
  readonly type: string;
  readonly count: number;
  readonly bytes: number;
}

/** Facts of a model from the headers of all its parts, the first one first. */
export function ggufFacts(headers: readonly GgufHeader[]): GgufFacts {
  const fields: ReadonlyMap<string, Field> = headers[0]?.fields ?? new Map<string, Field>();
  const text = (key: string): string | undefined => {
    const field = fields.get(key);
    return field === undefined ? undefined : textOf(field);
  };
  const number = (key: string): number | undefined => {
    const field = fields.get(key);
    return field === undefined ? undefined : unsigned(field);
  };
  const architecture = text("general.architecture");
  const type = number("general.file_type");
  return {
    architecture,
    name: text("general.name"),
    license: text("general.license"),
    quantization: type === undefined ? undefined : (fileTypeOfNumber(type) ?? OTHER_FILE_TYPES[type]),
    contextTokens: number(`${architecture}.context_length`),
    hasChatTemplate: fields.has("tokenizer.chat_template"),
    card: cardOf(fields, architecture),
    parameters: headers.flatMap(tensorsOf).reduce((sum, { shape }) => sum + elementsOf(shape), 0),
  };
}

/** Tensors of all parts by type, the largest group first. */
export function tensorGroups(headers: readonly GgufHeader[]): readonly TensorGroup[] {
  const groups = Map.groupBy(headers.flatMap(tensorsOf), ({ type }) => type);
  return [...groups]
    .map(([type, tensors]) => ({
      type: TENSOR_TYPES[type]?.[0] ?? `type ${type}`,
      count: tensors.length,
      bytes: tensors.reduce((sum, tensor) => sum + (tensorBytes(tensor) ?? 0), 0),
    }))
    .toSorted((a, b) => b.bytes - a.bytes);
}

/** Tensors of types that this version does not know: their size is unknown. */
export function unknownTensors({ tensors }: GgufHeader): number {
  return [...tensors.values()].filter((tensor) => tensorBytes(tensor) === undefined).length;
}

/**
 * What is wrong with the tensors of a file of this size; undefined where all lie within it. Tensors of unknown types must begin
 * within it.
 */
export function rangeProblem({ tensors }: GgufHeader, fileBytes: number): string | undefined {
  for (const tensor of tensors.values()) {
    const name = JSON.stringify(tensor.name.slice(0, 64));
    const bytes = tensorBytes(tensor) ?? 1;
    if (tensor.offset + bytes > fileBytes)
      return `the tensor ${name} ends ${tensor.offset + bytes - fileBytes} bytes behind the end of the file`;
  }
  return undefined;
}

/** Metadata as lines `key = value`; of arrays the length. */
export function metadataLines(fields: ReadonlyMap<string, Field>): readonly string[] {
  return [...fields.values()].map((field) => `${field.key.replaceAll(/\s/g, " ")} = ${valueText(field)}`);
}

function valueText(field: Field): string {
  const { type, raw } = field;
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  switch (type) {
    case FIELD.string:
      return JSON.stringify(textOf(field));
    case FIELD.array:
      return `[${arrayLength(field)} items]`;
    case FIELD.bool:
      return String(view.getUint8(0) !== 0);
    case FIELD.f32:
      return String(Number(view.getFloat32(0, true).toPrecision(7)));
    case FIELD.i32:
      return String(view.getInt32(0, true));
    default:
      return String(unsigned(field) ?? `(${raw.byteLength} bytes)`);
  }
}

function tensorsOf({ tensors }: GgufHeader): readonly TensorInfo[] {
  return [...tensors.values()];
}

/** Values of a tensor. */
export function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

/** Bytes of a tensor; undefined for types that this version does not know. */
export function tensorBytes({ shape, type }: Pick<TensorInfo, "shape" | "type">): number | undefined {
  const [, elements, bytes] = TENSOR_TYPES[type] ?? [];
  return elements === undefined || bytes === undefined ? undefined : (elementsOf(shape) / elements) * bytes;
}
