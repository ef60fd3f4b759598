// Whose key this browser has, or whom a proxy has signed in, and what they may do here.

import { computed, signal } from "@preact/signals";
import { sendIfAvailable } from "../api/client.ts";

/** Counts of `GET /v1/usage`. */
export interface UsageCounts {
  readonly requests: number;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  readonly reasoning_tokens: number;
  readonly tool_calls: number;
  readonly compute_seconds: number;
}

export interface Me {
  /** Null where no key is needed. */
  readonly name: string | null;
  readonly role: "user" | "admin";
  readonly signed_in_by: "key" | "proxy" | "none";
  readonly limits: Readonly<Partial<Record<"rpm" | "tpm" | "streams" | "budget_tokens_per_day", number>>>;
  readonly usage_today: UsageCounts;
}

/** Undefined until it is known, and on servers without accounts. */
export const me = signal<Me | undefined>(undefined);

/** Whether pages about the server and everybody's models are offered. */
export const isAdmin = computed(() => me.value?.role !== "user");

/** Asks who it is; a key that is refused opens its dialog by other requests. */
export async function loadMe(): Promise<void> {
  try {
    me.value = await sendIfAvailable<Me>("v1/me");
  } catch {
    me.value = undefined;
  }
}
