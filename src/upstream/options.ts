// Options of a pool of upstreams. Keys are resolved: nothing here reads the environment.

import type { ModelKind } from "../core/model-info.ts";
import type { ModelRuntime } from "../core/model-runtime.ts";
import type { Connections } from "./connections.ts";

export type Policy = "prefix" | "least_busy" | "round_robin";

/** One upstream server. */
export interface UpstreamOptions {
  /** Base address with the API's version, without a slash at its end. */
  readonly url: string;
  /** Name of the model there. */
  readonly model: string;
  /** API key; never part of a log line, an error or a description. */
  readonly key?: string;
  /** Ask for one token at the start and when it comes back. */
  readonly probe?: boolean;
  readonly weight: number;
  readonly maxInFlight?: number;
}

export interface Routing {
  readonly policy: Policy;
  readonly firstTokenMs: number;
  /** Attempts after the first one. */
  readonly retries: number;
  readonly cooldownMs: number;
  /** Requests that may wait. */
  readonly queueMax: number;
  /** Silence within an answer after which it has failed; SILENCE_MS unless given. */
  readonly silenceMs?: number;
}

export interface PoolOptions {
  /** Id of the model. */
  readonly name: string;
  readonly upstreams: readonly UpstreamOptions[];
  readonly routing: Routing;
  /** Shared by all pools. */
  readonly connections: Connections;
  readonly log: (line: string) => void;
  /** Milliseconds of a monotonic clock; performance.now unless given. */
  readonly now?: () => number;
}

/** A model that answers when the pool cannot. */
export interface Fallback {
  readonly id: string;
  readonly model: ModelRuntime;
}

export interface UpstreamModelOptions extends PoolOptions {
  /** What the model makes. */
  readonly kind: ModelKind;
  /** Longest sequence, tokens; absent: what the upstreams state. */
  readonly contextTokens?: number;
  /** In the order in which they are asked; read when the first one is needed. */
  readonly fallbacks: () => readonly Fallback[];
}
