// Dependencies of a model's life cycle, which src/app makes of its settings.

import type { EvictionReason } from "../core/telemetry.ts";
import type { EngineClient } from "./client.ts";
import type { Claim, Places } from "./places.ts";
import type { EngineInfo, EngineOptions } from "./protocol.ts";

export interface ManagedModelDeps {
  /** Finds the model's file, downloads it if necessary, and returns the engine's options. Throws the reason. */
  readonly prepare: (signal: AbortSignal) => Promise<EngineOptions>;
  /** Memory that it takes with these options; with `info`, once it is loaded. */
  readonly claimsOf?: (options: EngineOptions) => (info?: EngineInfo) => Claim;
  /** Throws the reason when that memory, by default what the system has free, cannot hold it. */
  readonly checkMemory: (options: EngineOptions, freeBytes?: number) => void;
  /** `onLoading`: told how far it is loaded, parts per thousand. */
  readonly startEngine: (options: EngineOptions, onLoading: (permille: number) => void) => EngineClient;
  readonly places: Places;
  /** Maximum requests that wait for the model to load. */
  readonly queueMax: number;
  /** Idle time after which it is unloaded, milliseconds; absent: never. */
  readonly idleMs?: number;
  /** It stays loaded until it is unloaded by a command; `pin` changes that. */
  readonly isPinned?: boolean;
  /** Told of each unloading that no command has asked for, and of the memory that it frees. */
  readonly onEvicted?: (reason: EvictionReason, bytes: number) => void;
  readonly log: (line: string) => void;
}
