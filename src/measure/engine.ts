// The measured engine: a process of its own without other requests.

import type { Generate } from "../core/run.ts";

export interface MeasuredEngine {
  readonly vocabulary: number;
  /** Longest sequence. */
  readonly contextTokens: number;
  /** Tokens of all sequences together. */
  readonly cells: number;
  readonly generate: Generate;
  /** From the next run on. Each count should be at most the earlier one: new threads would be tied to one CPU. */
  setThreads(threads: number, threadsBatch: number): void;
  stop(): Promise<void>;
}
