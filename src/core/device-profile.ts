// What an engine chooses differently on a card. The one table of these choices; settings win over it. `svc doctor` and `svc bench`
// show the row in use.
// Rejected: a table by names of cards, soon out of date; a bench at the first start.

import type { ModelPlacement } from "./placement.ts";

/** Choices for the CPU, or for a model that is on devices as a whole. */
export interface DeviceProfile {
  /** Largest share of the free memory for a cache without a configured size. */
  readonly cacheShare: number;
  /** Most threads that decode: with all layers on a device, only the embedding of tokens is computed on the CPU. */
  readonly threadsMax: number;
  /** Format of keys and values where cache_type is `auto`. */
  readonly cacheType: "f16";
  /** Tokens of a micro-batch where ubatch is unset. */
  readonly ubatch: number;
  /** The same for mixtures, at most. */
  readonly mixtureUbatch: number;
  /** Longest series of decode steps in one native call, milliseconds. */
  readonly multiStepMs: number;
  /** Most tokens of a draft where mtp_n_predict is unset. Measured costs choose the length of each draft below it. */
  readonly draftTokens: number;
}

export const DEVICE_PROFILES = {
  cpu: {
    cacheShare: 0.25,
    threadsMax: Infinity,
    cacheType: "f16",
    ubatch: 512,
    mixtureUbatch: 512,
    multiStepMs: 1,
    draftTokens: 3,
  },
  // Other programs seldom need what a card has left. Threads would only wait for each other between two passes. Of a micro-batch each
  // expert of a mixture gets few rows, and a card needs many to be busy. A pass of a few rows takes a card about as long as one of one
  // row, so longer drafts can pay. Not measured on a card yet.
  device: {
    cacheShare: 0.9,
    threadsMax: 4,
    cacheType: "f16",
    ubatch: 1024,
    mixtureUbatch: 2048,
    multiStepMs: 1,
    draftTokens: 8,
  },
} as const satisfies Readonly<Record<string, DeviceProfile>>;

type Placed = Pick<ModelPlacement, "layers" | "device_layers" | "divided_layers">;

/** Whether a model is on devices as a whole, its experts included. */
export function isOnDevices({ layers, device_layers: placed, divided_layers: divided }: Placed): boolean {
  return placed === layers && divided === 0;
}

/** The row for a model. */
export function profileOf(placement: Placed | undefined): DeviceProfile {
  const isWhole = placement !== undefined && isOnDevices(placement);
  return isWhole ? DEVICE_PROFILES.device : DEVICE_PROFILES.cpu;
}

/** Rows that each expert should get of a micro-batch on a device: a tile of its product. */
const EXPERT_ROWS = 128;

/** Tokens of a micro-batch for a model that is on devices as a whole: as many as its experts need, in powers of two of `usual`. */
export function mixtureTokens(
  usual: number,
  most: number,
  experts: { readonly count: number; readonly used: number },
): number {
  let tokens = usual;
  while (tokens * 2 <= most && tokens * experts.used < EXPERT_ROWS * experts.count) tokens *= 2;
  return tokens;
}

/** A row in a phrase. */
export function profilePhrase({
  cacheShare,
  threadsMax,
  cacheType,
  ubatch,
  mixtureUbatch,
  multiStepMs,
  draftTokens,
}: DeviceProfile): string {
  const threads = Number.isFinite(threadsMax) ? `at most ${threadsMax} threads` : "a thread for each core";
  const mixtures = mixtureUbatch > ubatch ? ` (mixtures ${mixtureUbatch})` : "";
  return `KV cache of ${cacheType} within ${cacheShare * 100} % of the free memory, ${threads}, micro-batches of ${ubatch}${mixtures} tokens, multi-step decode up to ${multiStepMs} ms, drafts of at most ${draftTokens} tokens`;
}
