// The adapters that a model's engine must hold. Survives engine processes: a restarted engine loads them again.

import type { AdapterId } from "../core/adapter.ts";
import { type ErrorData, ServiceError } from "../core/error.ts";
import type { FromEngine, ToEngine } from "./protocol.ts";

type AdapterAnswer = Extract<FromEngine, { readonly adapter: AdapterId }>;

const ENGINE_DIED: ErrorData = {
  code: "adapter_load_failed",
  message: "the model's engine process ended while it loaded the adapter; load it again",
};

export class ResidentAdapters {
  private readonly log: (line: string) => void;
  private readonly files = new Map<AdapterId, string>();
  private readonly pending = new Map<AdapterId, PromiseWithResolvers<void>>();
  private send: ((message: ToEngine) => void) | undefined;

  constructor(log: (line: string) => void) {
    this.log = log;
  }

  /**
   * Loads an adapter into the engine, now or when an engine starts. Rejects with the engine's ServiceError; then the adapter
   * is not held.
   */
  async loadAdapter(adapter: AdapterId, file: string): Promise<void> {
    this.files.set(adapter, file);
    if (this.send === undefined) return; // checked already; loaded when an engine starts
    const answer = Promise.withResolvers<void>();
    this.pending.set(adapter, answer);
    this.send({ type: "load_adapter", adapter, file });
    try {
      await answer.promise;
    } catch (error) {
      this.files.delete(adapter);
      throw error;
    }
  }

  freeAdapter(adapter: AdapterId): void {
    if (this.files.delete(adapter)) this.send?.({ type: "free_adapter", adapter });
  }

  /** An engine is ready: it loads all adapters before its first run. */
  attach(send: (message: ToEngine) => void): void {
    this.send = send;
    for (const [adapter, file] of this.files) send({ type: "load_adapter", adapter, file });
  }

  /** An engine has ended; ignored if another one has replaced it. */
  detach(send: (message: ToEngine) => void): void {
    if (this.send !== send) return;
    this.send = undefined;
    for (const answer of this.pending.values()) answer.reject(ServiceError.fromData(ENGINE_DIED));
    this.pending.clear();
  }

  receive(message: AdapterAnswer): void {
    const answer = this.pending.get(message.adapter);
    this.pending.delete(message.adapter);
    if (message.type === "adapter_loaded") return answer?.resolve();
    if (answer === undefined)
      this.log(`an adapter could not be loaded into the restarted engine: ${message.error.message}`);
    else answer.reject(ServiceError.fromData(message.error));
  }
}
