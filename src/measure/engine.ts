// The measured engine: a process of its own without other requests.

import type { Generate } from "../core/run.ts";

export interface MeasuredEngine {
  readonly vocabulary: number;
  /** Longest sequence. */
  readonly contextTokens: number;
  /** Tokens of all sequences together. */
  readonly cells: number;
  /** Whether the model's file has a multi-token prediction head. */
  readonly hasHead: boolean;
  readonly generate: Generate;
  /** From the next run on. Each count should be at most the earlier one: new threads would be tied to one CPU. */
  setThreads(threads: number, threadsBatch: number): void;
  stop(): Promise<void>;
}

/** Engine size that a measurement needs. */
export interface EngineNeed {
  readonly sequences: number;
  /** Tokens of the longest sequence. */
  readonly tokens: number;
}

/** Granularity of the cache, KV cells. */
const CELLS_STEP = 256;

/** Cells for a need, with some to spare. */
export function cellsFor({ sequences, tokens }: EngineNeed): number {
  return (Math.ceil((sequences * tokens) / CELLS_STEP) + 1) * CELLS_STEP;
}

/** Throws if sequences of a need are longer than the engine's context, or do not fit its cache together. */
export function refuseTooLong(
  { contextTokens, cells }: Pick<MeasuredEngine, "contextTokens" | "cells">,
  { sequences, tokens }: EngineNeed,
): void {
  if (tokens > contextTokens)
    throw new Error(
      `the model's context holds ${contextTokens} tokens; prompt, answer and depth would take ${tokens}`,
    );
  if (tokens * sequences > cells)
    throw new Error(
      `the cache holds ${cells} tokens; ${sequences} sequences of ${tokens} do not fit. Increase the cache, or measure less`,
    );
}
