// The context of a loaded model: how large it becomes, what of its memory sequences can share, and its native handle.

import { cellBytes } from "../src/core/cache-size.ts";
import { ServiceError } from "../src/core/error.ts";
import { freeMemory } from "../src/core/free-memory.ts";
import { SLOTS_MAX } from "../src/core/limits.ts";
import type { TextOptions } from "../src/engine/protocol.ts";
import type { ReuseMode } from "../src/worker/text/backend.ts";
import type { Native } from "./library.ts";
import { CACHE_TYPES, cellElements, chooseCells, type GraphLimits, type ModelInfo } from "./llama-model.ts";
import { type Handle, nativeText } from "./text.ts";

/** What is decided before a context is made. */
export interface ContextPlan {
  readonly cells: number;
  readonly reuse: ReuseMode;
  /** Native sequences that hold tokens: those that run and kept prefixes. */
  readonly slots: number;
  /** Native sequences in all: slots, their guards (llama-windows.ts), and one for saving states (llama-states.ts). */
  readonly sequences: number;
  /** Layers with a sliding window keep all tokens, as the others do. */
  readonly fullWindows: boolean;
  /** How states can be saved, where they can. */
  readonly states: "alone" | "with cells" | undefined;
}

/** Share of the free memory that full windows may take where the cache's size was asked for by its cells. */
const FULL_WINDOWS_SHARE = 0.5;
/** Smaller windows pass by within a few steps. */
const GUARDED_WINDOW_MIN = 16;

/** Slots of hybrid models for kept prefixes, whose attention cells checkpoints need; each has memory for a state. */
const HYBRID_KEPT_MAX = 4;

/** Threads of a context. */
export interface ContextThreads {
  readonly threads: number;
  readonly threadsBatch: number;
}

/** What the model's memory lets us do with cached prefixes, and what that takes. */
export function planContext(
  info: ModelInfo,
  limits: GraphLimits,
  options: TextOptions,
  draft?: ModelInfo,
): ContextPlan {
  const cells = chooseCells(options, info, draft);
  const { maxSeqs, prefixesMax, unified, speculative } = options;
  const dear = info.recurrent || info.hybrid || !unified; // each sequence has memory of its own
  const fullWindows = info.n_swa > 0 && canKeepWindows(info, limits, options, cells);
  const states = limits.stateFixed === true ? undefined : statesOf(info, options, fullWindows);
  const kept = states === "with cells" ? Math.min(HYBRID_KEPT_MAX, prefixesMax) : dear ? 0 : prefixesMax;
  const scratch = states === "with cells" ? 1 : 0;
  const ofSlot = fullWindows ? 2 : 1;
  const slots = Math.min(Math.floor((SLOTS_MAX - scratch) / ofSlot), maxSeqs + kept);
  const sequences = slots * ofSlot + scratch;
  const plan = { cells, slots, sequences, states };
  // A recurrent state has no positions to cut at, and a sliding window has dropped the older ones.
  if (info.recurrent || info.hybrid) return { ...plan, reuse: "whole", fullWindows };
  if (info.n_swa > 0 && !fullWindows)
    return { ...plan, reuse: "whole", fullWindows: speculative?.type === "mtp" };
  return { ...plan, reuse: unified ? "prefix" : "own", fullWindows }; // separate streams share nothing
}

/** A state alone is saved as it is; one with cells by a native sequence of its own, which has none. */
function statesOf(
  info: ModelInfo,
  { prefixesMax, unified }: TextOptions,
  fullWindows: boolean,
): ContextPlan["states"] {
  if (prefixesMax === 0) return undefined;
  if (info.recurrent && !info.hybrid) return "alone";
  const cellsCanBeShared = unified && (info.n_swa === 0 || fullWindows);
  return info.hybrid && cellsCanBeShared ? "with cells" : undefined;
}

/** Whether layers with windows may keep all tokens: it takes the memory that the cache is counted with anyway. */
function canKeepWindows(info: ModelInfo, limits: GraphLimits, options: TextOptions, cells: number): boolean {
  const { prefixesMax, unified, ubatch, maxSeqs, cacheType } = options;
  if (!unified || prefixesMax === 0 || !info.causal || info.has_encoder) return false;
  if (limits.stateFixed === true || info.n_swa < GUARDED_WINDOW_MIN) return false;
  if (2 * maxSeqs >= SLOTS_MAX) return false; // guards need native sequences, too
  if (maxSeqs > ubatch) return false; // a pass of several compute batches could lose cells before they are guarded
  const windowed = info.n_swa * (maxSeqs + prefixesMax) + ubatch;
  if (options.cells === undefined || windowed >= cells) return true;
  const shape = { elements: cellElements(info), trainedContext: info.n_ctx_train };
  return cells * cellBytes(shape, cacheType) <= freeMemory() * FULL_WINDOWS_SHARE;
}

/** Makes the context. Throws ServiceError(model_unavailable) with the reason. */
export function openContext(
  native: Native,
  model: Handle,
  options: TextOptions,
  { cells, sequences, fullWindows }: ContextPlan,
  { threads, threadsBatch }: ContextThreads,
): Handle {
  const type = CACHE_TYPES[options.cacheType];
  const { ubatch, speculative } = options;
  const guessed = speculative?.type === "mtp" ? speculative.most : 0; // must be possible to take back
  const batch = Math.max(options.batch, options.maxSeqs); // every sequence must be able to take part in a step
  const unified = options.unified ? 1 : 0;
  const sizes = [cells, batch, ubatch, sequences, threads, threadsBatch, type, type];
  // embeddings, pooling, unified, flash attention, offload, full windows
  const switches = [0, -1, unified, -1, 1, fullWindows ? 1 : 0];
  const params = Int32Array.from([...sizes, ...switches, guessed]);
  const context = native.svc_context_new(model, params, params.length);
  if (context !== null) return context;
  const reason = nativeText(native.svc_last_error());
  throw new ServiceError("model_unavailable", `${reason} (asked for ${cells} cells of ${options.cacheType})`);
}
