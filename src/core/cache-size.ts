// Size of a model's KV cache. The engine applies it once the model is loaded; the memory check before loading uses the same
// function.
// At most a quarter of the memory that is free once the model is loaded: trained contexts of 128k tokens would take tens of gigabytes that
// few conversations use.

import { DEVICE_PROFILES } from "./device-profile.ts";

/** KV cache element types that llama.cpp's attention kernels take. */
export const CACHE_TYPES = ["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"] as const;
export type CacheType = (typeof CACHE_TYPES)[number];

/** Requested size of the cache. At most one of the three sizes is given. */
export interface CacheRequest {
  /** Size in cells (tokens); absent: chosen from the model and the free memory. */
  readonly contextLen?: number;
  /** Size as bytes, or as a share of the free memory; a share of 0: room for one sequence of the longest context. */
  readonly memoryBytes?: number;
  readonly memoryFraction?: number;
  readonly cacheType: CacheType;
  /** Longest sequence, prompt and answer together; absent: what the model was trained for. */
  readonly maxSeqLen?: number;
  /** Sequences decoded at once. */
  readonly maxSeqs: number;
}

/** Cached data of one token. */
export interface CacheShape {
  /** Elements of all layers' keys and values. */
  readonly elements: number;
  readonly trainedContext: number;
}

/** Bytes of an element, from ggml's block layouts: a q8_0 block is 34 bytes for 32 values. */
const ELEMENT_BYTES: Readonly<Record<CacheType, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
  iq4_nl: 18 / 32,
};

/** Cells a sequence can count on when all of them run at once, unless the context is shorter. */
const CELLS_PER_SEQUENCE = 1024;
/** The cache is sized in steps of this many cells, which is what attention pads to anyway. */
const CELL_STEP = 256;

export function elementBytes(type: CacheType): number {
  return ELEMENT_BYTES[type];
}

/** Whether its size is configured; else it is chosen. */
export function isCacheChosen({ contextLen, memoryBytes, memoryFraction }: CacheRequest): boolean {
  return contextLen !== undefined || memoryBytes !== undefined || memoryFraction !== undefined;
}

/** Bytes of one cell. */
export function cellBytes({ elements }: CacheShape, type: CacheType): number {
  return Math.max(1, elements * ELEMENT_BYTES[type]);
}

/**
 * Cells of the cache. Unless configured: room for the whole trained context and for every sequence at once, but no more
 * than `share` of the free memory.
 */
export function cacheCells(
  request: CacheRequest,
  shape: CacheShape,
  freeBytes: number,
  share: number = DEVICE_PROFILES.cpu.cacheShare,
): number {
  if (request.contextLen !== undefined) return request.contextLen;
  const bytes = cellBytes(shape, request.cacheType);
  const stepDown = (cells: number): number => Math.max(CELL_STEP, Math.floor(cells / CELL_STEP) * CELL_STEP);
  if (request.memoryBytes !== undefined) return stepDown(request.memoryBytes / bytes);
  const context = Math.min(request.maxSeqLen ?? shape.trainedContext, shape.trainedContext);
  if (request.memoryFraction === 0) return Math.max(CELL_STEP, Math.ceil(context / CELL_STEP) * CELL_STEP);
  if (request.memoryFraction !== undefined) return stepDown((freeBytes * request.memoryFraction) / bytes);
  const wanted = Math.max(context, request.maxSeqs * Math.min(CELLS_PER_SEQUENCE, context));
  return stepDown(Math.min(wanted, (freeBytes * share) / bytes));
}
