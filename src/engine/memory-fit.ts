// Memory estimate of a model before its engine starts: a model that cannot fit is rejected with advice instead of making
// the machine swap. The estimate is a lower bound; unknown parts count as nothing, and llama.cpp rejects what is still too
// large.
// Rejected: @huggingface/gguf, which builds arrays of all 150,000 tokens in the serving process.

import { cacheCells, type CacheShape, isCacheChosen } from "../core/cache-size.ts";
import { ServiceError } from "../core/error.ts";
import { filesBytes, imageShortage } from "../core/image-memory.ts";
import { arrayLength, type GgufHeader, textOf, unsigned, FIELD } from "../core/gguf.ts";
import { tensorBytes } from "../core/gguf-facts.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { modelBytes } from "../core/model-bytes.ts";
import { cacheBytes, type CacheLayers, cacheLayers, isEncoder, type Metadata } from "./cache-layers.ts";
import { ENCODER_PROCESS_BYTES, ENGINE_PROCESS_BYTES } from "./limits.ts";
import type { EngineOptions, ImageOptions, TextOptions } from "./protocol.ts";
import { type Shortage, waysToFit } from "../core/shortage.ts";
import { sizeText } from "../core/size-text.ts";

/** Memory by purpose, bytes. */
export interface MemoryNeed {
  readonly weights: number;
  readonly cache: number;
  /** Cells of the cache. */
  readonly cells: number;
  /** Buffers of one micro-batch, logits, activations, the attention mask; and a table of tokens that counts twice. */
  readonly compute: number;
  /** Part of all three for projector and draft model. */
  readonly companions: number;
  /** Layers of the model. */
  readonly layers: number;
  /** Of the engine besides, in main memory: code, libraries, heap. */
  readonly process: number;
}

/** Cache of a model in estimates for people, where no size is configured, tokens. */
const ESTIMATED_TOKENS = 8192;

/**
 * Memory of a loaded model for people who choose one, bytes: its process, weights, compute buffers, and a cache of the configured size,
 * else of 8,192 tokens.
 */
export function memoryEstimate(file: EstimatedFile, freeBytes: number): number {
  return memoryWith(file, estimatedCells(file, freeBytes));
}

/** Cells of the cache in estimates for people: of the configured size, else 8,192, or what a model was trained for. */
function estimatedCells({ metadata, weightBytes, options }: EstimatedFile, freeBytes: number): number {
  const shape = shapeOf(metadata, cacheLayers(metadata));
  return isCacheChosen(options)
    ? chosenCells(options, shape, Math.max(0, freeBytes - weightBytes))
    : Math.min(options.maxSeqLen ?? ESTIMATED_TOKENS, shape.trainedContext, ESTIMATED_TOKENS);
}

/** What a model of that estimate lacks of this memory; undefined where nothing. */
export function estimatedShortage(file: EstimatedFile, freeBytes: number): Shortage | undefined {
  const { metadata, options } = file;
  const cells = estimatedCells(file, freeBytes);
  const missing = memoryWith(file, cells) - freeBytes;
  if (missing <= 0) return undefined;
  return {
    missing,
    cells,
    cache: cacheBytes(cacheLayers(metadata), { ...options, cells }),
    cellBytes: (memoryWith(file, cells) - memoryWith(file, 0)) / cells,
    compute: computeBytes(metadata, options, cells),
  };
}

/**
 * The vectors of a model's tokens. Passes read them from the mapped file, of which pages count once they are used; the packed weights
 * have them again where they are the output too.
 */
export interface TokenTable {
  readonly bytes: number;
  readonly isOutput: boolean;
}

/** A file that is estimated. */
export interface EstimatedFile {
  readonly metadata: Metadata;
  /** Of all its files, projector and draft model included. */
  readonly weightBytes: number;
  readonly options: TextOptions;
  /** Absent: not known. */
  readonly table?: TokenTable;
}

/** The table of tokens of a model by the headers of its parts. */
export function tokenTable(parts: readonly GgufHeader[]): TokenTable {
  const find = (name: string) => parts.map(({ tensors }) => tensors.get(name)).find(Boolean);
  const table = find("token_embd.weight");
  const bytes = (table === undefined ? undefined : tensorBytes(table)) ?? 0;
  const answers = !parts.some(({ fields }) => isEncoder(fields)); // an encoder has no output layer at all
  return { bytes, isOutput: answers && find("output.weight") === undefined };
}

/** What of it comes on top of the file's bytes. */
function tableAgain({ bytes, isOutput }: TokenTable): number {
  return isOutput ? bytes : 0;
}

/** Memory of a model after long use, when all of a cache of that many cells is, its process included, bytes. */
export function memoryWith(file: EstimatedFile, cells: number): number {
  const { metadata, weightBytes, options, table } = file;
  const cache = cacheBytes(cacheLayers(metadata), { ...options, cells });
  const compute = computeBytes(metadata, options, cells) + (table === undefined ? 0 : tableAgain(table));
  return Math.ceil(processBytes(metadata) + weightBytes + cache + compute);
}

/** Memory of a model right after its load, when no cell of its cache is in use, bytes. */
export function memoryLoaded({ metadata, weightBytes, table }: EstimatedFile): number {
  const unread = table === undefined || table.isOutput ? 0 : table.bytes;
  return Math.ceil(processBytes(metadata) + weightBytes - unread);
}

/** Longest context that the model was trained for, tokens; 0 where the file does not say it. */
export function trainedContext(metadata: Metadata): number {
  return forArchitecture(metadata)("context_length") ?? 0;
}

/** Cells by which a context that fits is looked for. */
const CONTEXT_STEP = 256;

/** The longest context, at most the trained one, with which a model fits into this memory, tokens; 0: none does. */
export function contextThatFits(file: EstimatedFile, bytes: number): number {
  const most = trainedContext(file.metadata);
  if (memoryWith(file, most) <= bytes) return most;
  let [fits, tooLong] = [0, Math.ceil(most / CONTEXT_STEP)]; // in steps
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (memoryWith(file, middle * CONTEXT_STEP) <= bytes) fits = middle;
    else tooLong = middle;
  }
  return fits * CONTEXT_STEP;
}

/** Layers of a model, the output layer among them; undefined where the file does not say it. */
export function layerCount(metadata: Metadata): number | undefined {
  const blocks = forArchitecture(metadata)("block_count");
  return blocks === undefined ? undefined : blocks + 1;
}

/**
 * The most that a model takes of main memory, its process included, bytes: weights, buffers, and the whole cache that its engine
 * allots, of which pages count only once they are used. Copies of evicted prefixes (cache_ram) come on top.
 */
export function memoryAtMost(file: EstimatedFile, freeBytes: number): number {
  const { metadata, weightBytes, options } = file;
  const shape = shapeOf(metadata, cacheLayers(metadata));
  const cells = chosenCells(options, shape, Math.max(0, freeBytes - weightBytes));
  return memoryWith(file, cells);
}

const F32_BYTES = 4;

/**
 * Minimum memory of the model at `modelPath` with these options; undefined where its metadata cannot be read. `loadedCells`:
 * the cells of its cache, where it is loaded.
 */
export function memoryNeed(
  modelPath: string,
  options: TextOptions,
  freeBytes: number,
  loadedCells?: number,
): MemoryNeed | undefined {
  let header: GgufHeader;
  try {
    header = readGgufHeader(modelPath);
  } catch {
    return undefined; // llama.cpp will say what is wrong with the file
  }
  const metadata = header.fields;
  const projector = options.mmprojPath === undefined ? 0 : modelBytes(options.mmprojPath);
  const draft = draftFile(options);
  const weights = modelBytes(modelPath) + projector + (draft?.weights ?? 0);
  const layers = cacheLayers(metadata);
  // A cache of default size shrinks to the memory that is left.
  const left = isCacheChosen(options) ? Math.max(0, freeBytes - weights) : 0;
  const cells = loadedCells ?? chosenCells(options, shapeOf(metadata, layers), left);
  const sizes = { ...options, cells };
  const draftCache = draft === undefined ? 0 : cacheBytes(cacheLayers(draft.metadata), sizes);
  const draftCompute =
    draft === undefined ? 0 : computeBytes(draft.metadata, options, cells) + tableAgain(draft.table);
  return {
    weights,
    cells,
    layers: forArchitecture(metadata)("block_count") ?? 0,
    cache: cacheBytes(layers, sizes) + draftCache,
    compute: computeBytes(metadata, options, cells) + tableAgain(tokenTable([header])) + draftCompute,
    process: processBytes(metadata),
    companions: projector + (draft?.weights ?? 0) + draftCache + draftCompute,
  };
}

/** All memory of a need, bytes. */
export function totalBytes({ weights, cache, compute }: MemoryNeed): number {
  return weights + cache + compute;
}

/** Throws ServiceError(model_unavailable) with advice when the model needs more than `freeBytes`. */
export function checkMemory(options: EngineOptions, freeBytes: number): void {
  if (options.kind === "image") checkImageMemory(options, freeBytes);
  if (options.kind === "text") checkTextMemory(options, freeBytes); // a voice takes next to nothing
}

function checkImageMemory(options: ImageOptions, freeBytes: number): void {
  if ((options.backends ?? []).length > 0) return; // the engine finds the devices
  const shortage = imageShortage(filesBytes(Object.values(options.files)), freeBytes);
  if (shortage !== undefined) throw shortage;
}

function checkTextMemory(options: TextOptions, freeBytes: number): void {
  const usesOtherMemory = (options.backends?.length ?? 0) + (options.rpcEndpoints?.length ?? 0) > 0;
  if (options.modelPath === undefined || usesOtherMemory) return; // llama.cpp places the layers
  const need = memoryNeed(options.modelPath, options, freeBytes);
  if (need === undefined) return;
  const total = totalBytes(need);
  if (total <= freeBytes) return;
  const parts = `weights ${sizeText(need.weights)}, ${need.cells} cache cells ${sizeText(need.cache)}, compute buffers ${sizeText(need.compute)}`;
  throw new ServiceError(
    "model_unavailable",
    `the model needs about ${sizeText(total)} of memory (${parts}), but only ${sizeText(freeBytes)} are free; ${advice(need, options, total - freeBytes)}`,
  );
}

function advice(need: MemoryNeed, options: TextOptions, missing: number): string {
  const ways = [
    ...waysToFit(
      { ...need, missing, cellBytes: need.cache / need.cells + options.ubatch * MASK_BYTES },
      options,
    ),
    "a smaller quantization of the model (quant)",
    "fewer pinned models (pin)",
    "a larger models_memory_mb, where it is set",
  ];
  return `use ${ways.join(", or ")}`;
}

/** The draft model's file; undefined without one, or where it cannot be read. */
function draftFile({
  speculative,
}: TextOptions):
  | { readonly weights: number; readonly metadata: Metadata; readonly table: TokenTable }
  | undefined {
  const path = speculative?.type === "mtp" ? speculative.mtpModel : undefined;
  if (path === undefined) return undefined;
  try {
    const header = readGgufHeader(path);
    return { weights: modelBytes(path), metadata: header.fields, table: tokenTable([header]) };
  } catch {
    return undefined; // llama.cpp will say what is wrong with it
  }
}

/** The engine chooses the number of cells as if windows kept all tokens. */
function shapeOf(metadata: Metadata, { full, windowed }: CacheLayers): CacheShape {
  return {
    elements: full + windowed,
    trainedContext: trainedContext(metadata),
  };
}

/** Where a token takes nothing, a size in bytes says nothing of cells. */
function chosenCells(options: TextOptions, shape: CacheShape, freeBytes: number): number {
  const cells = cacheCells(options, shape, freeBytes);
  return shape.elements > 0 ? cells : Math.min(cells, shape.trainedContext * options.maxSeqs);
}

function processBytes(metadata: Metadata): number {
  if (isEncoder(metadata)) return ENCODER_PROCESS_BYTES;
  return ENGINE_PROCESS_BYTES + Math.max(0, vocabularyOf(metadata) - USUAL_TOKENS) * TOKEN_BYTES;
}

/** Tokens of the vocabularies that the process was measured with, and what it takes for each beyond, bytes: Gemma's has 262,144. */
const USUAL_TOKENS = 50_000;
const TOKEN_BYTES = 250;

function vocabularyOf(metadata: Metadata): number {
  const tokens = metadata.get("tokenizer.ggml.tokens");
  return tokens?.type === FIELD.array ? arrayLength(tokens) : 0;
}

/**
 * Rows of a pass with logits: of each sequence one, of a prompt whose log probabilities are wanted 32 (worker/text/sequence.ts). llama.cpp
 * reserves them for all rows, of which pages count only once they are used.
 */
const LOGIT_ROWS = 32;
/** Buffers of a row in layers with a delta net, in units of its inner size, as measured. */
const DELTA_BUFFERS = 16;
/** Bytes of a mask's entry for one row and one cell. */
const MASK_BYTES = 2;

function computeBytes(metadata: Metadata, { ubatch, maxSeqs }: TextOptions, cells: number): number {
  const of = forArchitecture(metadata);
  const encodes = isEncoder(metadata); // it has no logits, and attends within the micro-batch
  const vocabulary = encodes ? 0 : vocabularyOf(metadata);
  const delta = of("full_attention_interval") === undefined ? 0 : DELTA_BUFFERS * (of("ssm.inner_size") ?? 0);
  const width = (of("embedding_length") ?? 0) + (of("feed_forward_length") ?? 0) + delta;
  const logits = Math.min(ubatch, Math.max(maxSeqs, LOGIT_ROWS)) * vocabulary * F32_BYTES;
  return logits + ubatch * (width * F32_BYTES + (encodes ? ubatch : cells) * MASK_BYTES);
}

function forArchitecture(metadata: Metadata): (key: string) => number | undefined {
  const name = architecture(metadata);
  return (key) => {
    const field = metadata.get(`${name}.${key}`);
    return field === undefined ? undefined : unsigned(field);
  };
}

function architecture(metadata: Metadata): string {
  const field = metadata.get("general.architecture");
  return (field === undefined ? undefined : textOf(field)) ?? "";
}
