// Requests and commands that wait for their model to load.

import type { EngineClient } from "./client.ts";

export interface Waiter {
  /** A command only loads the model; a request gets a lease, which keeps the model loaded. */
  readonly isCommand: boolean;
  /** Others are not unloaded for it. */
  readonly isPreload: boolean;
  readonly loaded: PromiseWithResolvers<EngineClient>;
}

export class Waiters {
  private all: Waiter[] = [];

  get count(): number {
    return this.all.length;
  }

  /** Those that are requests. */
  get requests(): number {
    return this.all.filter(({ isCommand }) => !isCommand).length;
  }

  /** Whether all are preloads. */
  get arePreloads(): boolean {
    return this.all.every(({ isPreload }) => isPreload);
  }

  add(waiter: Waiter): void {
    this.all.push(waiter);
  }

  /** Rejects one that still waits. */
  dismiss(waiter: Waiter, reason: unknown): void {
    const index = this.all.indexOf(waiter);
    if (index < 0) return;
    this.all.splice(index, 1);
    waiter.loaded.reject(reason);
  }

  /** Rejects preloads. */
  dismissPreloads(reason: unknown): void {
    for (const waiter of this.all.filter(({ isPreload }) => isPreload)) this.dismiss(waiter, reason);
  }

  /** All of them, which wait no longer. */
  takeAll(): readonly Waiter[] {
    const { all } = this;
    this.all = [];
    return all;
  }
}
