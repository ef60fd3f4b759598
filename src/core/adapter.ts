// LoRA adapters as the whole program speaks of them.

/** An adapter loaded into an engine. 0 is the model without one. */
export type AdapterId = number;
export const BASE_MODEL: AdapterId = 0;

/** What a request selects: what an alias points to now, or exactly one generation. */
export type AdapterSelection = { readonly alias: string } | { readonly generation: string };

/** How much an engine may hold. */
export interface AdapterLimits {
  readonly adaptersMax: number;
  readonly rankMax: number;
  readonly bytesMax: number;
}
