// Types of LoRA adapters.

/** An adapter loaded into an engine. 0 is the model without one. */
export type AdapterId = number;
export const BASE_MODEL: AdapterId = 0;

/** Selection of a request: the current generation of an alias, or exactly one generation. */
export type AdapterSelection = { readonly alias: string } | { readonly generation: string };

/** How much an engine may hold. */
export interface AdapterLimits {
  readonly adaptersMax: number;
  readonly rankMax: number;
  readonly bytesMax: number;
}

/** An adapter to load. */
export interface AdapterLoad {
  readonly alias: string;
  readonly source: string;
  readonly revision?: string;
  /** Lets an existing alias point to the new generation. */
  readonly inPlace: boolean;
  /** The alias must point to this generation now. */
  readonly expectedGeneration?: string;
}

/** An alias and what it points to. */
export interface AdapterEntry {
  readonly alias: string;
  readonly source: string;
  readonly revision?: string;
  readonly generation: string;
  readonly rank: number;
  readonly bytes: number;
}

/** A generation in memory. */
export interface GenerationRecord {
  readonly generation: string;
  readonly aliases: readonly string[];
  readonly rank: number;
  readonly bytes: number;
  readonly activeLeases: number;
  /** No alias points to it: it stays only for the requests that use it. */
  readonly retired: boolean;
}

/** The adapters of one model. */
export interface AdapterList {
  readonly entries: readonly AdapterEntry[];
  readonly generations: readonly GenerationRecord[];
  readonly limits: AdapterLimits;
}

/** Adapters of the served models, by the model's name as a request gives it. All throw ServiceError. */
export interface Adapters {
  /** Whether clients may load and unload. */
  readonly isMutable: boolean;
  list(model: string): AdapterList;
  load(model: string, request: AdapterLoad): Promise<AdapterEntry>;
  unload(model: string, alias: string, expectedGeneration: string | undefined): AdapterEntry;
}
