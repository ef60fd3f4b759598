// What an engine process does, whatever kind of model it serves, and how it speaks to the serving process.

import { randomBytes } from "node:crypto";
import { ServiceError } from "../../core/error.ts";
import { reasonOf } from "../../core/reason.ts";
import type { FromEngine, ToEngine } from "../../engine/protocol.ts";

/** What concerns the work. Whether the process still answers is none of it. */
export type WorkMessage = Exclude<ToEngine, { readonly type: "ping" }>;

/** The work with one model, from loading it on. */
export interface EngineWork {
  /** Takes a message; never throws. */
  receive(message: WorkMessage): void;
  /** Loads the model, says how that went, and works until `stop` has been received. Returns the process's exit code. */
  run(): Promise<number>;
}

export function send(message: FromEngine): void {
  process.send?.(message);
}

/** Says why the model cannot be loaded. */
export function sendFailure(error: unknown): void {
  const message = reasonOf(error);
  const data =
    error instanceof ServiceError ? error.toData() : ({ code: "model_unavailable", message } as const);
  send({ type: "failed", error: data });
}

/** A seed for what has none. */
export function newSeed(): number {
  return Number(randomBytes(8).readBigUInt64LE() >> 11n); // 53 bits: every value is an exact number
}
