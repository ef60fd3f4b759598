// llama.cpp's C interface, called directly: our libraries, or unpatched ones of the same release beside which ours are
// measured. Knows the layout of the structures that travel by value (llama.h) and no shim.
//
// bun:ffi passes no structures. On x86-64 (System V ABI, 3.2.3) one of more than 16 bytes lies on the stack as it lies in
// memory, behind what did not fit into six registers: with the free registers filled, its words are plain arguments.

import { dlopen, JSCallback, type Pointer, ptr, toArrayBuffer } from "bun:ffi";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { nativeText } from "../../ffi/text.ts";

export type Address = Pointer | null;

/** llama.h: struct llama_model_params, llama_context_params, llama_batch, in words of 8 bytes. */
const MODEL_WORDS = 10;
const CONTEXT_WORDS = 20;
const BATCH_WORDS = 7;
const REGISTERS = 6;

/** Offset of load_mtp in llama_model_params, bytes. */
const LOAD_HEAD_AT = 77;
/** Offsets in llama_context_params, bytes. */
const CONTEXT_AT = {
  ctx: 0,
  batch: 4,
  ubatch: 8,
  threads: 28,
  threadsBatch: 32,
  pooling: 44,
  flashAttention: 52,
  typeK: 104,
  typeV: 108,
  embeddings: 128,
} as const;
/** ggml.h: GGML_TYPE_F32 */
const F32 = 0;
/** llama.h: LLAMA_POOLING_TYPE_MEAN */
const MEAN = 1;
/** Offset of the axes' lengths in struct ggml_tensor (ggml.h). */
const TENSOR_SHAPE_AT = 16;
const AXES = 4;
const UNUSED = 0xa5;

type Argument = "ptr" | "function" | "u64";
const words = (count: number): "u64"[] => Array.from({ length: count }, () => "u64");
/** Arguments of a function whose last one is a structure of so many words by value. */
const withStruct = (plain: readonly Argument[], count: number): Argument[] => [
  ...plain,
  ...words(REGISTERS - plain.length + count),
];

const SYMBOLS = {
  llama_backend_init: { args: [], returns: "void" },
  llama_log_set: { args: ["ptr", "ptr"], returns: "void" },
  llama_model_default_params: { args: ["ptr"], returns: "ptr" },
  llama_context_default_params: { args: ["ptr"], returns: "ptr" },
  llama_model_init_from_user: { args: withStruct(["ptr", "function", "ptr"], MODEL_WORDS), returns: "ptr" },
  llama_model_load_from_file: { args: withStruct(["ptr"], MODEL_WORDS), returns: "ptr" },
  llama_init_from_model: { args: withStruct(["ptr"], CONTEXT_WORDS), returns: "ptr" },
  llama_decode: { args: withStruct(["ptr"], BATCH_WORDS), returns: "i32" },
  llama_encode: { args: withStruct(["ptr"], BATCH_WORDS), returns: "i32" },
  llama_model_has_encoder: { args: ["ptr"], returns: "bool" },
  llama_model_n_embd_out: { args: ["ptr"], returns: "i32" },
  llama_get_embeddings_seq: { args: ["ptr", "i32"], returns: "ptr" },
  llama_get_logits_ith: { args: ["ptr", "i32"], returns: "ptr" },
  llama_get_memory: { args: ["ptr"], returns: "ptr" },
  llama_memory_clear: { args: ["ptr", "bool"], returns: "void" },
  llama_model_get_vocab: { args: ["ptr"], returns: "ptr" },
  llama_vocab_n_tokens: { args: ["ptr"], returns: "i32" },
  llama_tokenize: { args: ["ptr", "ptr", "i32", "ptr", "i32", "bool", "bool"], returns: "i32" },
  llama_chat_apply_template: { args: ["ptr", "ptr", "u64", "bool", "ptr", "i32"], returns: "i32" },
  llama_model_free: { args: ["ptr"], returns: "void" },
} as const;
const BASE_SYMBOLS = {
  gguf_init_from_file: { args: ["ptr", "bool", "ptr"], returns: "ptr" }, // a structure of 16 bytes: two registers
  gguf_free: { args: ["ptr"], returns: "void" },
  ggml_get_name: { args: ["ptr"], returns: "ptr" },
} as const;

/** Where the libraries lie, and their names without folder. */
export interface LlamaFiles {
  readonly dir: string;
  readonly base: string;
  readonly ggml: string;
  readonly llama: string;
}

/** The tensors that an architecture asks for, as it names them. */
export interface WantedTensor {
  readonly name: string;
  readonly shape: readonly number[];
}

function open({ dir, base, ggml, llama }: LlamaFiles) {
  const low = dlopen(join(dir, base), BASE_SYMBOLS).symbols;
  const backends = dlopen(join(dir, ggml), {
    ggml_backend_load_all_from_path: { args: ["ptr"], returns: "void" },
  }).symbols;
  const { symbols } = dlopen(join(dir, llama), SYMBOLS);
  return { ...low, ...backends, ...symbols };
}

type Symbols = ReturnType<typeof open>;

/** Makes libraries that nobody else has opened ready, and silent unless SVC_ZOO_LOG is set. */
function start(llama: Symbols, dir: string): void {
  if (process.env.SVC_ZOO_LOG === undefined) {
    const silent = new JSCallback(() => {}, { args: ["i32", "ptr", "ptr"], returns: "void" });
    llama.llama_log_set(silent.ptr, null);
  }
  llama.ggml_backend_load_all_from_path(Buffer.from(`${dir}\0`));
  llama.llama_backend_init();
}

/** What the library holds to be the defaults, of which some are changed. */
function defaults(fill: (into: Uint8Array) => unknown, count: number): DataView {
  const bytes = new Uint8Array(8 * (count + 1)).fill(UNUSED);
  fill(bytes);
  // Another release may have other structures: then nothing of this would be what it seems.
  const written = bytes.subarray(8 * count).every((byte) => byte === UNUSED);
  if (!written || bytes.subarray(8 * (count - 1), 8 * count).every((byte) => byte === UNUSED))
    throw new Error("llama.h has other structures than this file knows");
  return new DataView(bytes.buffer, 0, 8 * count);
}

function wordsOf(view: DataView): bigint[] {
  return Array.from({ length: view.byteLength / 8 }, (_, index) => view.getBigUint64(8 * index, true));
}

/** Fills the registers that a structure by value must not travel in. */
function spare(used: number): bigint[] {
  return Array.from({ length: REGISTERS - used }, () => 0n);
}

/** The tensors of the model that a GGUF file's metadata describe. Throws when llama.cpp refuses it. The libraries are ready. */
export function wantedTensors(files: LlamaFiles, metadataPath: string): WantedTensor[] {
  const llama = open(files);
  const found = new Map<string, WantedTensor>(); // some have a copy in each layer
  const collect = new JSCallback(
    (tensor: Pointer) => {
      const axes = [...new BigInt64Array(toArrayBuffer(tensor, TENSOR_SHAPE_AT, AXES * 8))].map(Number);
      while (axes.length > 1 && axes.at(-1) === 1) axes.pop();
      const name = nativeText(llama.ggml_get_name(tensor));
      found.set(name, { name, shape: axes });
    },
    { args: ["ptr", "ptr"], returns: "void" },
  );
  const metadata = llama.gguf_init_from_file(Buffer.from(`${metadataPath}\0`), true, null);
  if (metadata === null) throw new Error(`${metadataPath} is no GGUF file`);
  const params = defaults((into) => llama.llama_model_default_params(into), MODEL_WORDS);
  params.setUint8(LOAD_HEAD_AT, 1);
  const call = llama.llama_model_init_from_user as (...args: unknown[]) => Address;
  const model = call(metadata, collect.ptr, null, ...spare(3), ...wordsOf(params));
  if (model === null) throw new Error("llama.cpp refuses this metadata");
  llama.llama_model_free(model);
  llama.gguf_free(metadata);
  collect.close();
  return [...found.values()];
}

export interface ReferenceUse {
  readonly tokens: number;
  readonly embeds: boolean;
  /** Keys and values are kept as F32. */
  readonly isExact?: boolean;
  readonly threads?: number;
}

/** The libraries in a folder. */
export function llamaFilesIn(dir: string): LlamaFiles {
  const find = (pattern: RegExp): string => {
    const file = readdirSync(dir).find((name) => pattern.test(name));
    if (file === undefined) throw new Error(`${dir} has no ${pattern.source}`);
    return file;
  };
  return {
    dir,
    base: find(/^libggml-base\.so/),
    ggml: find(/^libggml\..*so/),
    llama: find(/^libllama\..*so/),
  };
}

/** A model alone in a context of one sequence, without any of our code: the reference. One in a process. */
export class LlamaReference {
  private readonly llama: Symbols;
  private readonly model: Address;
  private readonly context: Address;
  readonly vocabulary: number;

  /** A context of so many tokens, for logits or for embeddings. Throws when llama.cpp refuses the file. */
  constructor(
    files: LlamaFiles,
    path: string,
    { tokens, embeds, isExact = false, threads = 1 }: ReferenceUse,
  ) {
    const llama = open(files);
    start(llama, files.dir);
    this.llama = llama;
    const modelParams = defaults((into) => llama.llama_model_default_params(into), MODEL_WORDS);
    const load = llama.llama_model_load_from_file as (...args: unknown[]) => Address;
    this.model = load(Buffer.from(`${path}\0`), ...spare(1), ...wordsOf(modelParams));
    if (this.model === null) throw new Error(`llama.cpp does not load ${path}`);
    const params = defaults((into) => llama.llama_context_default_params(into), CONTEXT_WORDS);
    params.setUint32(CONTEXT_AT.ctx, tokens, true);
    params.setUint32(CONTEXT_AT.batch, tokens, true);
    params.setUint32(CONTEXT_AT.ubatch, tokens, true);
    params.setInt32(CONTEXT_AT.threads, threads, true);
    params.setInt32(CONTEXT_AT.threadsBatch, threads, true);
    if (isExact) for (const at of [CONTEXT_AT.typeK, CONTEXT_AT.typeV]) params.setInt32(at, F32, true);
    if (embeds) {
      params.setInt32(CONTEXT_AT.pooling, MEAN, true);
      params.setUint8(CONTEXT_AT.embeddings, 1);
    }
    params.setInt32(CONTEXT_AT.flashAttention, 0, true); // it rounds the queries of single rows to half precision
    const init = llama.llama_init_from_model as (...args: unknown[]) => Address;
    this.context = init(this.model, ...spare(1), ...wordsOf(params));
    if (this.context === null) throw new Error("llama.cpp makes no context");
    this.vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(this.model));
  }

  /** Forgets all tokens. */
  clear(): void {
    const memory = this.llama.llama_get_memory(this.context);
    if (memory !== null) this.llama.llama_memory_clear(memory, true); // BERT and its like have none
  }

  /** Computes tokens from a position on and returns the logits after the last one, [vocabulary]; valid until the next call. */
  decode(tokens: readonly number[], position: number): Float32Array {
    this.compute("llama_decode", tokens, position);
    return this.logitsAt(-1);
  }

  /** The logits behind each of these tokens, which begin a text; each is valid until the next call. */
  *logitsOf(tokens: readonly number[]): Generator<Float32Array> {
    this.clear();
    this.compute("llama_decode", tokens, 0);
    for (const index of tokens.keys()) yield this.logitsAt(index);
  }

  private logitsAt(index: number): Float32Array {
    const logits = this.llama.llama_get_logits_ith(this.context, index);
    if (logits === null) throw new Error("llama.cpp has no logits");
    return new Float32Array(toArrayBuffer(logits, 0, this.vocabulary * 4));
  }

  /** Tokens of a text with what the model adds in front; `special`: markup in it becomes control tokens. */
  tokenize(text: string, special: boolean): number[] {
    const bytes = Buffer.from(text);
    const tokens = new Int32Array(bytes.length + 8);
    const vocab = this.llama.llama_model_get_vocab(this.model);
    const count = this.llama.llama_tokenize(vocab, bytes, bytes.length, tokens, tokens.length, true, special);
    if (count < 0) throw new Error("llama.cpp needs more room for tokens");
    return [...tokens.subarray(0, count)];
  }

  /** A conversation as one of the templates that the library has, up to the answer. */
  rendered(
    template: string,
    messages: readonly { readonly role: string; readonly content: string }[],
  ): string {
    const text = (value: string): Buffer => Buffer.from(`${value}\0`);
    const kept = messages.flatMap(({ role, content }) => [text(role), text(content)]);
    const pointers = BigUint64Array.from(kept, (bytes) => BigInt(ptr(bytes)));
    const into = Buffer.alloc(kept.reduce((sum, { length }) => sum + 2 * length, 4096));
    const { llama_chat_apply_template: apply } = this.llama;
    const length = apply(text(template), pointers, BigInt(messages.length), true, into, into.length);
    if (length < 0 || length > into.length) throw new Error("llama.cpp does not render this conversation");
    return into.toString("utf8", 0, length);
  }

  /** The mean of an input's vectors, [dimensions]; valid until the next call. */
  embed(tokens: readonly number[]): Float32Array {
    this.clear();
    const encodes = this.llama.llama_model_has_encoder(this.model);
    this.compute(encodes ? "llama_encode" : "llama_decode", tokens, 0);
    const vector = this.llama.llama_get_embeddings_seq(this.context, 0);
    if (vector === null) throw new Error("llama.cpp has pooled nothing");
    return new Float32Array(toArrayBuffer(vector, 0, this.llama.llama_model_n_embd_out(this.model) * 4));
  }

  private compute(how: "llama_decode" | "llama_encode", tokens: readonly number[], position: number): void {
    const count = tokens.length;
    const columns = {
      token: Int32Array.from(tokens),
      position: Int32Array.from(tokens, (_, index) => position + index),
      sequences: new Int32Array(count).fill(1),
      outputs: new Int8Array(count).fill(1), // some graphs give a row for each token, whatever is asked of them
    };
    const zero = new Int32Array(1);
    const sequence = new BigUint64Array(count).fill(BigInt(ptr(zero)));
    const batch = [columns.token, undefined, columns.position, columns.sequences, sequence, columns.outputs];
    const pointers = batch.map((column) => (column === undefined ? 0n : BigInt(ptr(column))));
    const call = this.llama[how] as (...args: unknown[]) => number;
    const code = call(this.context, ...spare(1), BigInt(count), ...pointers);
    if (code !== 0) throw new Error(`${how}: ${code}`);
  }
}
