// A request or command that waits for its model to load.

import type { EngineClient } from "./client.ts";

export interface Waiter {
  /** A command only loads the model; a request gets a lease, which keeps the model loaded. */
  readonly isCommand: boolean;
  /** Others are not unloaded for it. */
  readonly isPreload: boolean;
  readonly loaded: PromiseWithResolvers<EngineClient>;
}

/** Rejects preloads, and returns the others. */
export function withoutPreloads(waiters: readonly Waiter[], reason: unknown): Waiter[] {
  for (const { isPreload, loaded } of waiters) if (isPreload) loaded.reject(reason);
  return waiters.filter(({ isPreload }) => !isPreload);
}
