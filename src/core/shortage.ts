// What would make a model fit into memory that it exceeds: one rule for loads on devices, loads on the CPU, and estimates.

import { type CacheRequest, elementBytes } from "./cache-size.ts";
import { sizeText } from "./size-text.ts";

/** Memory of a model that does not fit, bytes. */
export interface Shortage {
  /** What is missing. */
  readonly missing: number;
  /** Its KV cache, how many cells that has, and what one cell less frees, masks included; 0: it does not grow with cells. */
  readonly cache: number;
  readonly cells: number;
  readonly cellBytes: number;
  /** Buffers of a pass. */
  readonly compute: number;
  /** The most layers that fit on devices; absent where layers are not divided. */
  readonly layersThatFit?: number;
}

type ShortOptions = Pick<CacheRequest, "cacheType" | "contextLen" | "maxSeqs"> & { readonly ubatch: number };

/** Cells of a cache that is made smaller. */
const CELL_STEP = 256;
const UBATCH_MIN = 64;
/** Types that lose little, the best first. */
const SMALLER_TYPES = ["q8_0", "q4_0"] as const;

/** The cells of the cache with which a model would fit; 0: none would. */
export function cellsThatFit({ missing, cells, cellBytes }: Shortage): number {
  const fitting = cellBytes === 0 ? 0 : cells - missing / cellBytes;
  return Math.max(0, Math.floor(fitting / CELL_STEP) * CELL_STEP);
}

/** Each of them alone makes the model fit; none where nothing would. Names of settings, the mildest first. */
export function waysToFit(shortage: Shortage, options: ShortOptions): readonly string[] {
  const { layersThatFit: layers = 0 } = shortage;
  return [
    ...smallerContext(shortage, options),
    ...smallerType(shortage, options),
    ...smallerBatch(shortage, options),
    ...(layers > 0 ? [`device_layers of at most ${layers}, the rest on the CPU`] : []),
  ];
}

function smallerContext(shortage: Shortage, { contextLen, maxSeqs }: ShortOptions): readonly string[] {
  const fitting = cellsThatFit(shortage);
  if (fitting === 0) {
    const sequences = Math.floor(maxSeqs * (1 - shortage.missing / shortage.cache));
    return shortage.cellBytes === 0 && sequences > 0 ? [`max_seqs of at most ${sequences}`] : [];
  }
  const each = Math.floor((contextLen ?? 0) / maxSeqs);
  const sequences = each === 0 ? 0 : Math.floor(fitting / each);
  const room =
    maxSeqs > 1 && sequences > 0 ? `, which is ${sequences} of ${maxSeqs} sequences with ${each} tokens` : "";
  return [`context_len of at most ${fitting}${room}`];
}

function smallerType({ missing, cache }: Shortage, { cacheType }: ShortOptions): readonly string[] {
  for (const type of SMALLER_TYPES) {
    const saved = cache * (1 - elementBytes(type) / elementBytes(cacheType));
    if (saved >= missing) return [`cache_type ${type}, which takes ${sizeText(saved)} less`];
  }
  return [];
}

/** Buffers of a pass grow with its rows. */
function smallerBatch({ missing, compute }: Shortage, { ubatch }: ShortOptions): readonly string[] {
  for (let rows = ubatch / 2; rows >= UBATCH_MIN; rows /= 2)
    if (compute * (1 - rows / ubatch) >= missing) return [`ubatch of at most ${Math.floor(rows)}`];
  return [];
}
