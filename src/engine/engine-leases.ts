// Leases of a model's engines: a request holds one while it runs. An engine that was replaced is stopped after its last lease. Knows
// nothing of loading.

import { assert } from "../core/assert.ts";
import type { EngineClient } from "./client.ts";

export class EngineLeases {
  /** Leases of all engines. */
  count = 0;
  private readonly held = new Map<EngineClient, number>();
  private readonly retiring = new Set<EngineClient>();
  private ended = Promise.withResolvers<void>(); // resolved when the last lease ends

  take(engine: EngineClient): EngineClient {
    this.count++;
    this.held.set(engine, (this.held.get(engine) ?? 0) + 1);
    return engine;
  }

  release(engine: EngineClient): void {
    const held = this.held.get(engine);
    assert(held !== undefined, "a lease is released once");
    if (held > 1) this.held.set(engine, held - 1);
    else this.held.delete(engine);
    if (held === 1 && this.retiring.has(engine)) void this.stop(engine);
    this.count--;
    if (this.count > 0) return;
    this.ended.resolve();
    this.ended = Promise.withResolvers();
  }

  /** Waits until there are none. */
  async none(): Promise<void> {
    while (this.count > 0) await this.ended.promise;
  }

  /** Another engine, which `others` has until it is adopted or retired. */
  add(engine: EngineClient): void {
    this.retiring.add(engine);
  }

  /** The engine takes over. */
  adopt(engine: EngineClient): void {
    this.retiring.delete(engine);
  }

  /** Stops the engine after its last lease; resolves once it is stopped, or at once where it has leases. */
  async retire(engine: EngineClient): Promise<void> {
    this.retiring.add(engine);
    if (!this.held.has(engine)) await this.stop(engine);
  }

  /** Engines besides the model's present one. */
  get others(): Iterable<EngineClient> {
    return this.retiring;
  }

  private async stop(engine: EngineClient): Promise<void> {
    await engine.stop();
    this.retiring.delete(engine);
  }
}
