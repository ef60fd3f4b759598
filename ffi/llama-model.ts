// A model file as it is loaded, and what follows from it for the context that is made for it.

import { cacheCells, type CacheType } from "../src/core/cache-size.ts";
import { ServiceError } from "../src/core/error.ts";
import { freeMemory } from "../src/core/free-memory.ts";
import { readGgufHeader } from "../src/core/gguf.ts";
import { modelProblem } from "../src/core/model-problem.ts";
import type { TextOptions } from "../src/engine/protocol.ts";
import type { Native } from "./library.ts";
import type { EmbedModel } from "./llama-embed.ts";
import { cText, type Handle, nativeText } from "./text.ts";

/** Told how loading goes. */
export interface LoadHooks {
  /** Parts per thousand of the weights. */
  readonly onProgress?: (permille: number) => void;
  /** The chat template is about to be run for the first time, which may never end. */
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

/** Progress is read this often while a model loads. */
const LOAD_POLL_MS = 20;
const LOADED = 1001;
/** llama.cpp's own description of a model: svc_model_info. */
export interface ModelInfo extends EmbedModel {
  readonly description: string;
  readonly architecture: string;
  readonly size_bytes: number;
  readonly head_dim_k: number;
  readonly head_dim_v: number;
  readonly n_head_kv: number;
  readonly n_layer: number;
  readonly n_swa: number;
  readonly recurrent: boolean;
  readonly hybrid: boolean;
}

/** What sets an architecture's graph in llama.cpp apart although nothing says so; most of it is a bug there. */
export interface GraphLimits {
  /** Sequences it computes rightly beside each other; absent: any number. */
  readonly sequences?: number;
  /** It gives logits of all rows in order, also of those for which none are wanted. */
  readonly outputsAll?: boolean;
  /** It computes without a cache: a pass sees nothing of the passes before it. */
  readonly uncached?: boolean;
  /** Positions leave a layer's window all at once, where the next one begins. */
  readonly windowsInBlocks?: boolean;
  /** What it keeps can neither be cut nor taken apart: sequences are only copied whole. */
  readonly stateFixed?: boolean;
}

const GRAPH_LIMITS: Readonly<Record<string, GraphLimits>> = {
  // Writes the states of several sequences behind the end of the memory, and the process ends (models/plamo2.cpp).
  plamo2: { sequences: 1 },
  // Take the last token of each of several prompts from a neighbour's (build_rwkv_token_shift_store in llama-graph.cpp).
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
 * Below this size of its weights a token takes well under a millisecond, most of which more threads would spend waiting
 * for each other, and the serving process for a core.
 */
const SMALL_MODEL_BYTES = 32 * 1024 * 1024;

/** Whether one thread decodes fastest. */
export function isSmall({ size_bytes }: ModelInfo): boolean {
  return size_bytes < SMALL_MODEL_BYTES;
}

/** Elements that a model keeps of each token. */
export function cellElements({ n_layer, n_head_kv, head_dim_k, head_dim_v }: ModelInfo): number {
  return n_layer * n_head_kv * (head_dim_k + head_dim_v);
}

/** Cells of the KV cache of a model that is loaded; one that guesses for it keeps as many. */
export function chooseCells(options: TextOptions, info: ModelInfo, draft?: ModelInfo): number {
  const elements = cellElements(info) + (draft === undefined ? 0 : cellElements(draft));
  return cacheCells(options, { elements, trainedContext: info.n_ctx_train }, freeMemory());
}

/** A GGUF file to load. */
export interface ModelFile {
  readonly path: string;
  readonly gpuLayers: number;
  /** With its layers that predict several tokens, if there are any. */
  readonly withHead: boolean;
  /** What errors call it. */
  readonly name: string;
}

/** Of what ends this process instead of being an error, all that the file's header tells. */
function refuseBroken(path: string, name: string): void {
  let problem: string | undefined;
  try {
    problem = modelProblem(readGgufHeader(path));
  } catch {
    return; // llama.cpp says what is wrong with it
  }
  if (problem === undefined) return;
  throw new ServiceError("model_unavailable", `${name} could not be loaded: its file is broken: ${problem}`);
}

/** Loads a file, reporting parts per thousand. Throws ServiceError(model_unavailable) with llama.cpp's reason. */
export async function loadModel(
  native: Native,
  { path, gpuLayers, withHead, name }: ModelFile,
  onProgress: (permille: number) => void,
): Promise<Handle> {
  refuseBroken(path, name);
  const params = Int32Array.of(gpuLayers, 0, 1, 0, 0, 0, withHead ? 1 : 0);
  const load = native.svc_load_begin(cText(path), params, params.length);
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
