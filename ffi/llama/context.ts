// Creates the context of a loaded model: its size, how sequences can share its memory, its native handle.

import { cellBytes } from "../../src/core/cache-size.ts";
import { profileOf } from "../../src/core/device-profile.ts";
import { ServiceError } from "../../src/core/error.ts";
import { SLOTS_MAX } from "../../src/core/limits.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import type { ReuseMode } from "../../src/worker/text/backend.ts";
import type { Native } from "../library.ts";
import { requireInvariance } from "./invariance.ts";
import {
  CACHE_TYPES,
  type CacheMemory,
  cellElements,
  chooseCells,
  type GraphLimits,
  isSmall,
  type ModelInfo,
} from "./model.ts";
import { defaultThreads } from "../linux/usable-cores.ts";
import { type Handle, nativeText } from "../text.ts";

/** Decisions before a context is created. */
export interface ContextPlan {
  readonly cells: number;
  readonly reuse: ReuseMode;
  /** Slots: native sequences of running sequences and kept prefixes. */
  readonly slots: number;
  /** All native sequences: slots, their guards (windows.ts), and one for saving states or cells. */
  readonly sequences: number;
  /** Whether cells are copied to and from other memory (cells.ts). */
  readonly copies: boolean;
  /** Layers with a sliding window keep all tokens. */
  readonly fullWindows: boolean;
  /** How states are saved; undefined where they cannot be. */
  readonly states: "alone" | "with cells" | undefined;
}

/** What the library made of a context's settings, as numbers of svc_context_get (svc_llama.h). */
export const CONTEXT_FACT = {
  cells: 0,
  batch: 1,
  ubatch: 2,
  /** Cells of one sequence. */
  sequenceCells: 4,
  /** Whether it has a memory; without one it can only embed. */
  remembers: 6,
  /** Whether a device computes on after svc_decode has returned. */
  goesOn: 7,
} as const;

/** Share of the free memory for full windows when the cache's size is given in cells. */
const FULL_WINDOWS_SHARE = 0.5;
/** Smaller windows are not worth it: they move on within a few steps. */
const GUARDED_WINDOW_MIN = 16;

/** Slots of hybrid models for kept prefixes: checkpoints need their attention cells; each has memory for a state. */
const HYBRID_KEPT_MAX = 4;

/** Threads of a context. */
export interface ContextThreads {
  readonly threads: number;
  readonly threadsBatch: number;
}

export function threadsFor(
  meta: ModelInfo,
  options: TextOptions,
  placement: Parameters<typeof profileOf>[0],
): ContextThreads {
  const most = Math.min(defaultThreads(), profileOf(placement).threadsMax);
  return {
    threads: options.threads ?? (isSmall(meta) ? 1 : most),
    threadsBatch: options.threadsBatch ?? options.threads ?? most,
  };
}

/** How cached prefixes can be reused in this kind of memory, and the native sequences that this needs. */
export function planContext(
  info: ModelInfo,
  limits: GraphLimits,
  options: TextOptions,
  memory: CacheMemory,
  draft?: ModelInfo,
): ContextPlan {
  const cells = chooseCells(options, memory, info, draft);
  const { maxSeqs, prefixCacheN, pagedAttn, speculative } = options;
  const isCostly = info.recurrent || info.hybrid || !pagedAttn; // each sequence has its own memory
  const fullWindows =
    info.n_swa > 0 && canKeepWindows(info, limits, options, { cells, freeBytes: memory.freeBytes });
  const states = limits.stateFixed === true ? undefined : statesOf(info, options, fullWindows);
  const kept =
    states === "with cells" ? Math.min(HYBRID_KEPT_MAX, prefixCacheN) : isCostly ? 0 : prefixCacheN;
  const copies = canCopyCells(info, options, { fullWindows, states });
  const scratch = states === "with cells" || copies ? 1 : 0;
  const ofSlot = fullWindows ? 2 : 1;
  const slots = Math.min(Math.floor((SLOTS_MAX - scratch) / ofSlot), maxSeqs + kept);
  const sequences = slots * ofSlot + scratch;
  const plan = { cells, slots, sequences, states, copies };
  // A recurrent state cannot be truncated, and a sliding window has dropped older positions.
  if (info.recurrent || info.hybrid) return { ...plan, reuse: "whole", fullWindows };
  if (info.n_swa > 0 && !fullWindows)
    return { ...plan, reuse: "whole", fullWindows: speculative?.type === "mtp" };
  return { ...plan, reuse: pagedAttn ? "prefix" : "own", fullWindows }; // separate streams cannot share
}

/** A state without cells is saved directly; one with cells through a native sequence without cells. */
function statesOf(
  info: ModelInfo,
  { prefixCacheN, pagedAttn, speculative }: TextOptions,
  fullWindows: boolean,
): ContextPlan["states"] {
  if (prefixCacheN === 0) return undefined;
  if (info.recurrent && !info.hybrid) return "alone";
  const cellsCanBeShared = pagedAttn && (info.n_swa === 0 || fullWindows);
  if (info.hybrid) return cellsCanBeShared ? "with cells" : undefined;
  const isMoving = pagedAttn && info.causal && !info.has_encoder && info.n_swa > 0 && !fullWindows;
  return isMoving && speculative?.type !== "mtp" ? "alone" : undefined; // a window that has moved on cannot be cut
}

/**
 * Whether copies of any range of cells can be restored: not where layers have a moving window, or a state that cannot be saved
 * without its cells.
 */
function canCopyCells(
  info: ModelInfo,
  { tiers, pagedAttn, prefixCacheN }: TextOptions,
  { fullWindows, states }: Pick<ContextPlan, "fullWindows" | "states">,
): boolean {
  if (tiers === undefined || !pagedAttn || prefixCacheN === 0) return false;
  if (!info.causal || info.has_encoder) return false;
  if (info.recurrent || info.hybrid) return states === "with cells";
  return info.n_swa === 0 || fullWindows;
}

/** Whether layers with windows may keep all tokens: the cache's memory estimate counts that anyway. */
function canKeepWindows(
  info: ModelInfo,
  limits: GraphLimits,
  options: TextOptions,
  { cells, freeBytes }: { readonly cells: number; readonly freeBytes: number },
): boolean {
  const { prefixCacheN, pagedAttn, ubatch, maxSeqs, cacheType } = options;
  if (!pagedAttn || prefixCacheN === 0 || !info.causal || info.has_encoder) return false;
  if (limits.stateFixed === true || info.n_swa < GUARDED_WINDOW_MIN) return false;
  if (2 * maxSeqs >= SLOTS_MAX) return false; // guards are native sequences, too
  if (maxSeqs > ubatch) return false; // a pass of several micro-batches could lose cells before they are guarded
  const windowed = info.n_swa * (maxSeqs + prefixCacheN) + ubatch;
  if (options.contextLen === undefined || windowed >= cells) return true;
  const shape = { elements: cellElements(info), trainedContext: info.n_ctx_train };
  return cells * cellBytes(shape, cacheType) <= freeBytes * FULL_WINDOWS_SHARE;
}

/** Parameters of a context, as columns of svc_context_new. */
export function contextColumns(
  options: TextOptions,
  { cells, sequences, fullWindows }: ContextPlan,
  { threads, threadsBatch }: ContextThreads,
): Int32Array {
  const type = CACHE_TYPES[options.cacheType];
  const { ubatch, speculative } = options;
  const draftTokens = speculative?.type === "mtp" ? speculative.mtpNPredict : 0; // the cache must be able to drop them
  const batch = Math.max(options.batch, options.maxSeqs); // a step must have a row for every sequence
  const unified = options.pagedAttn ? 1 : 0;
  const sizes = [cells, batch, ubatch, sequences, threads, threadsBatch, type, type];
  // embeddings, pooling, unified, fused attention (-1: where the device has it), offload, full windows
  const switches = [0, -1, unified, -1, 1, fullWindows ? 1 : 0];
  return Int32Array.from([...sizes, ...switches, draftTokens]);
}

/** Creates the context. Throws ServiceError(model_unavailable) with the reason. */
export function openContext(
  native: Native,
  model: Handle,
  params: Int32Array,
  { cacheType, mmprojPath, batchInvariant }: TextOptions,
): Handle {
  const context = native.svc_context_new(model, params, params.length);
  if (context !== null) {
    const answers = native.svc_context_get(context, CONTEXT_FACT.remembers) === 1;
    if (batchInvariant === true && answers) requireInvariance(native, context, mmprojPath !== undefined);
    return context;
  }
  const reason = nativeText(native.svc_last_error());
  throw new ServiceError("model_unavailable", `${reason} (requested: ${params[0]} cells of ${cacheType})`);
}
