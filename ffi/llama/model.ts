// Loads a model file, and derives what its context needs.

import { cacheCells, type CacheShape, type CacheType, cellBytes } from "../../src/core/cache-size.ts";
import { ServiceError } from "../../src/core/error.ts";
import { GgufProblem, HeaderCut } from "../../src/core/gguf.ts";
import { readWholeHeader } from "../../src/core/gguf-file.ts";
import { partPaths } from "../../src/core/model-files.ts";
import { modelProblem } from "../../src/core/model-problem.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import type { Native } from "../library.ts";
import type { EmbedModel } from "./embed.ts";
import { cText, type Handle, nativeText, takeText } from "../text.ts";

/** Progress of loading. */
export interface LoadHooks {
  /** Parts per thousand of the weights. */
  readonly onProgress?: (permille: number) => void;
  /** Where the layers go, for the operator, and the devices that get some; before the weights are read. */
  readonly onPlaced?: (summary: string, devices: string) => void;
  /** Free main memory, bytes; that of the machine unless given. */
  readonly freeBytes?: () => number;
  /** The chat template is about to run for the first time, and may loop. */
  readonly onTemplate?: () => void;
}

/** ggml.h: enum ggml_type */
export const CACHE_TYPES: Readonly<Record<CacheType, number>> = {
  f32: 0,
  f16: 1,
  q4_0: 2,
  q4_1: 3,
  q5_0: 6,
  q5_1: 7,
  q8_0: 8,
  iq4_nl: 20,
  bf16: 30,
};

/** Interval at which the progress of loading is polled, milliseconds. */
const LOAD_POLL_MS = 20;
const LOADED = 1001;
/** llama.h: LLAMA_SPLIT_MODE_NONE */
const ONE_DEVICE = 0;

/** llama.cpp's description of a model: svc_model_info. */
export interface ModelInfo extends EmbedModel {
  readonly description: string;
  readonly architecture: string;
  readonly size_bytes: number;
  readonly head_dim_k: number;
  readonly head_dim_v: number;
  readonly n_head_kv: number;
  readonly n_layer: number;
  /** Layers of a head that predicts several tokens. */
  readonly n_layer_nextn: number;
  readonly n_swa: number;
  /** Experts of a mixture, and those that compute a token; 0 in other models. */
  readonly n_expert: number;
  readonly n_expert_used: number;
  readonly recurrent: boolean;
  readonly hybrid: boolean;
}

/** Quirks of an architecture's graph in llama.cpp that nothing reports; most are bugs there. */
export interface GraphLimits {
  /** Maximum sequences with correct results; absent: any number. */
  readonly sequences?: number;
  /** It returns logits of all rows, including those without output. */
  readonly outputsAll?: boolean;
  /** It has no cache: a pass does not see earlier passes. */
  readonly uncached?: boolean;
  /** Chunked attention: all positions leave a layer's window when the next chunk begins. */
  readonly windowsInBlocks?: boolean;
  /** Its memory can be neither truncated nor split: sequences are only copied as a whole. */
  readonly stateFixed?: boolean;
}

const GRAPH_LIMITS: Readonly<Record<string, GraphLimits>> = {
  // Writes the states of several sequences past the end of the memory, which crashes the process (models/plamo2.cpp).
  plamo2: { sequences: 1 },
  // Mixes up the last tokens of several prompts (build_rwkv_token_shift_store in llama-graph.cpp).
  arwkv7: { sequences: 1 },
  rwkv6qwen2: { sequences: 1 },
  llama4: { windowsInBlocks: true },
  deepseek4: { stateFixed: true },
  cogvlm: { outputsAll: true },
  "llama-embed": { uncached: true },
  t5encoder: { uncached: true },
};

export function graphLimits({ architecture }: ModelInfo): GraphLimits {
  return GRAPH_LIMITS[architecture] ?? {};
}

/**
 * Weights below this size take well under 1 ms a token. More threads would mostly wait for each other, and keep cores from
 * the serving process.
 */
const SMALL_MODEL_BYTES = 32 * 1024 * 1024;

/** Whether one thread decodes fastest. */
export function isSmall({ size_bytes }: ModelInfo): boolean {
  return size_bytes < SMALL_MODEL_BYTES;
}

/** KV cache elements of one token. */
export function cellElements({ n_layer, n_head_kv, head_dim_k, head_dim_v }: ModelInfo): number {
  return n_layer * n_head_kv * (head_dim_k + head_dim_v);
}

/** As requested, with the sequences that the architecture can run. */
export function lowered(asked: TextOptions, { sequences = asked.maxSeqs }: GraphLimits): TextOptions {
  return { ...asked, maxSeqs: Math.min(asked.maxSeqs, sequences) };
}

export function infoOf(native: Native, model: Handle): ModelInfo {
  return JSON.parse(takeText(native, native.svc_model_info(model)));
}

/** Memory for a cache. */
export interface CacheMemory {
  readonly freeBytes: number;
  /** Share of it that a cache without a configured size may take. */
  readonly share: number;
}

/** KV cells of a model; its draft model has the same number. */
export function chooseCells(
  options: TextOptions,
  { freeBytes, share }: CacheMemory,
  info: ModelInfo,
  draft?: ModelInfo,
): number {
  return cacheCells(options, shapeOf(info, draft), freeBytes, share);
}

/** Bytes of that many cells of a model and its draft model. */
export function cellsBytes(
  cells: number,
  { cacheType }: Pick<TextOptions, "cacheType">,
  info: ModelInfo,
  draft?: ModelInfo,
): number {
  return cells * cellBytes(shapeOf(info, draft), cacheType);
}

function shapeOf(info: ModelInfo, draft: ModelInfo | undefined): CacheShape {
  const elements = cellElements(info) + (draft === undefined ? 0 : cellElements(draft));
  return { elements, trainedContext: info.n_ctx_train };
}

/** Where the weights of a file go. */
export type LoadPlace =
  /** Layers by an earlier plan. */
  | { readonly type: "plan"; readonly handle: Handle }
  | { readonly type: "cpu" }
  /** Nowhere: the model is good for its description alone. */
  | { readonly type: "header" };

/** A GGUF file to load. */
export interface ModelFile {
  readonly path: string;
  readonly place: LoadPlace;
  /** Including its multi-token prediction layers, if any. */
  readonly withHead: boolean;
  /** Its name in errors. */
  readonly name: string;
}

/** Rejects files whose header shows that llama.cpp would end the process instead of returning an error. */
function refuseBroken(path: string, name: string): void {
  const problem = firstProblem(partPaths(path));
  if (problem === undefined) return;
  throw new ServiceError(
    "model_unavailable",
    `${name} could not be loaded: its file is damaged: ${problem}; copy or download it again`,
  );
}

/** What is wrong with the first of these files that has a fault; undefined as well where llama.cpp reports it. */
function firstProblem(paths: readonly string[]): string | undefined {
  try {
    return paths.map((path) => modelProblem(readWholeHeader(path))).find((problem) => problem !== undefined);
  } catch (error) {
    return error instanceof GgufProblem && !(error instanceof HeaderCut) ? error.message : undefined;
  }
}

/** Loads a file, reporting parts per thousand. Throws ServiceError(model_unavailable) with llama.cpp's reason. */
export async function loadModel(
  native: Native,
  { path, place, withHead, name }: ModelFile,
  onProgress: (permille: number) => void = () => undefined,
): Promise<Handle> {
  refuseBroken(path, name);
  const header = place.type === "header" ? 1 : 0;
  const params = Int32Array.of(0, 0, 1, 0, 0, 0, withHead ? 1 : 0, ONE_DEVICE, header);
  const plan = place.type === "plan" ? place.handle : null;
  const load = native.svc_load_begin(cText(path), params, params.length, plan);
  if (load === null) throw new Error(nativeText(native.svc_last_error()));
  for (let state = 0; state >= 0 && state < LOADED;) {
    await Bun.sleep(LOAD_POLL_MS);
    state = native.svc_load_state(load);
    if (state >= 0 && state < LOADED) onProgress(state);
  }
  const model = native.svc_load_finish(load);
  if (model === null) {
    throw new ServiceError(
      "model_unavailable",
      `${name} could not be loaded: ${nativeText(native.svc_last_error())}`,
    );
  }
  return model;
}
