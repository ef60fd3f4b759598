// What callers have used: sums per key, model and day.

import type { Caller } from "./caller.ts";
import type { Usage } from "./run.ts";

/** What a piece of work has taken. */
export interface Spent extends Omit<Usage, "closedThoughts"> {
  /** Calls that the model made, of tools of the server and of the client. */
  readonly toolCalls: number;
  /** Time in the engine, or for what has none of its own, until the answer. */
  readonly seconds: number;
}

export const NOTHING_SPENT = {
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  toolCalls: 0,
  seconds: 0,
} satisfies Spent;

export interface UsageRow extends Spent {
  /** UTC: `2026-11-28`. */
  readonly day: string;
  /** Name of the key; "" where none is needed. */
  readonly key: string;
  readonly model: string;
  readonly requests: number;
}

/** Sums since the start of the process, for metrics. */
export type UsageSum = Omit<UsageRow, "day">;

/** Days, both included; absent: from the first, to today. */
export interface UsageQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
}

/** Reads what a caller may see: administrators all, users their own. */
export type ReadUsage = (caller: Caller, query: UsageQuery) => readonly UsageRow[];
