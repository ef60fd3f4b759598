// LoRA adapters as the whole program speaks of them.

/** An adapter loaded into an engine; the engine hands the numbers out. 0 is the model without one. */
export type AdapterId = number;
export const BASE_MODEL: AdapterId = 0;
