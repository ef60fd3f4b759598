// The model that a request resolved to. Runs on it need no further lookup of names.

import type { AdapterId } from "./adapter.ts";
import type { Caller } from "./caller.ts";
import type { MediaRules } from "./media.ts";
import type { Generate, RunEvent, RunRequest } from "./run.ts";

/** Facts of a loaded text model that prompts must fit. */
export interface ModelFacts {
  /** Maximum tokens of prompt and answer together. */
  readonly contextTokens: number;
  /** Media that a request may bring. */
  readonly media: MediaRules;
}

export interface ModelTarget {
  /** Model id. */
  readonly id: string;
  /** Runs on this model and adapter; ignores the names in the request. */
  readonly generate: Generate;
  /** undefined while the model is not loaded. */
  facts(): ModelFacts | undefined;
  /** Loads the model if necessary. Waits and rejects as a run would. */
  loadFacts(signal: AbortSignal, caller: Caller): Promise<ModelFacts>;
}

/** A text model without its adapter, which each run names. */
export interface BaseTarget extends Omit<ModelTarget, "generate"> {
  readonly generate: (
    request: RunRequest,
    signal: AbortSignal,
    caller: Caller,
    adapter: AdapterId,
  ) => AsyncIterable<RunEvent>;
}
