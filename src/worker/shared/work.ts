// The interface of a worker, one for each kind of model, and its messages to the serving process.

import { randomBytes } from "node:crypto";
import { ServiceError } from "../../core/error.ts";
import { reasonOf } from "../../core/reason.ts";
import type { FromEngine, ToEngine } from "../../engine/protocol.ts";

/** Messages for the worker; `ping` is answered by the process itself. */
export type WorkMessage = Exclude<ToEngine, { readonly type: "ping" }>;

/** Loads one model and serves it. */
export interface EngineWork {
  /** Handles a message; never throws. */
  receive(message: WorkMessage): void;
  /** Sends its devices as they are now; absent where it has none. */
  sendDevices?(): void;
  /** Loads the model, sends `ready` or `failed`, and works until `stop` arrives. Returns the process's exit code. */
  run(): Promise<number>;
}

export function send(message: FromEngine): void {
  process.send?.(message);
}

/** Sends why the model cannot be loaded. */
export function sendFailure(error: unknown): void {
  const message = reasonOf(error);
  const data =
    error instanceof ServiceError ? error.toData() : ({ code: "model_unavailable", message } as const);
  send({ type: "failed", error: data });
}

/** A random seed for requests without one. */
export function newSeed(): number {
  return Number(randomBytes(8).readBigUInt64LE() >> 11n); // 53 bits: every value is an exact number
}
