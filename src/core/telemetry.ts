// Telemetry: one record for each request, one set of numbers for each engine. Plain data, so that its sources (http, worker)
// and its consumers (metrics, access log) do not depend on each other.

import type { AppliedEdit } from "./applied-edit.ts";
import type { CompatKind } from "./compat.ts";
import type { ShownTrace } from "./tracing.ts";
import type { FinishReason } from "./run.ts";
import type { HistogramData } from "./histogram.ts";

/** A request while it is answered. Fields become exact as it goes on; nothing of its content is in it. */
export interface ObservedRequest {
  /** As in x-request-id. */
  readonly id: string;
  /** `OTHER` for a method that HTTP does not define, so that a client cannot invent labels. */
  readonly method: string;
  /** Path as it was sent, without the query. */
  readonly path: string;
  /** Pattern of the route: `/v1/files/{id}`; undefined where no route fits. */
  readonly route: string | undefined;
  /** Health, metrics, docs, web interface, CORS preflight. */
  readonly housekeeping: boolean;
  /** Id of a served model, `unknown`, or `none` where the route targets no model. */
  readonly model: string;
  /** Bytes of the request body, undefined where there was none or it was not read. */
  readonly bodyBytes: number | undefined;
  /** Bytes of a streamed answer. */
  readonly streamBytes: number | undefined;
  /** 0 until it is decided. */
  readonly status: number;
  /** Code of the error it ended with, also in a stream. */
  readonly error: string | undefined;
  /** The client went away before the last byte. */
  readonly clientLeft: boolean;
  /** Kinds of compatibility that it used. */
  readonly compat: ReadonlySet<CompatKind>;
  /** Places in the request's schemas to which the answer is not held, as a header may hold them. */
  readonly unenforced: readonly string[];
  /** Name of the key that it came with; undefined where none is needed. */
  readonly key: string | undefined;
  /** Time that its runs have waited for their turn; undefined where it had none. */
  readonly queueSecs: number | undefined;
  /** From arrival to the last byte; 0 until then. */
  readonly seconds: number;
}

/** Receiver of the metrics of HTTP requests. */
export interface HttpMetrics {
  /** A route's requests in flight are shown from now on, at zero where there are none. */
  watchRoute(method: string, path: string, model: string): void;
  /** A request has come. `finished` follows exactly once. */
  began(request: ObservedRequest): void;
  finished(request: ObservedRequest): void;
  /** Of a streamed answer: from the request's arrival to its first token. */
  firstToken(request: ObservedRequest, seconds: number): void;
  /** Of a streamed answer: from one event with tokens to the next. */
  nextToken(request: ObservedRequest, seconds: number): void;
  /** Seconds of sound were made for an answer. */
  spoke(request: ObservedRequest, seconds: number): void;
  /** Everything in the text exposition format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Receiver of the metrics of the agent loop. */
export interface AgentMeter {
  /** A request leaves tools out of its prompt, whose definitions have about that number of tokens. */
  deferred(left: { readonly tools: number; readonly tokens: number }): void;
  /** A conversation was edited, which has saved prompt tokens. */
  edited(edit: AppliedEdit["type"], tokens: number): void;
  /** A search has found tools. */
  searched(found: number): void;
}

/** Receiver of the metrics of answers. */
export interface AnswerMeter {
  /** A choice is complete. */
  ended(model: string, reason: FinishReason): void;
}

/** Samples of metrics by name, for the web interface; null where a sample lacks one. */
export interface MetricsColumns {
  /** Unix time of each sample, seconds. */
  readonly at: readonly number[];
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

/** A line of the log. */
export interface LoggedLine {
  /** Unix time, seconds. */
  readonly at: number;
  readonly text: string;
}

/** The last day of a server. */
export interface Day {
  /** Its last requests to models; absent where none are traced. */
  readonly traces?: () => readonly ShownTrace[];
  /** Absent: metrics are switched off. */
  readonly metrics?: () => MetricsColumns;
  readonly log: () => readonly LoggedLine[];
}

/** Upper bounds of the histogram of rows a step; the last bucket has none. */
export const ROWS_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048] as const;
/** Upper bounds of the histogram of a step's time, seconds; the last bucket has none. */
export const STEP_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
] as const;

/** Upper bounds of the histograms of drafts, tokens; the last bucket has none. Each position has a bound, so its acceptance follows. */
export const DRAFT_BUCKETS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16] as const;

/** A device of this machine or of an RPC worker at a moment. */
export interface DeviceStats {
  readonly device: string;
  readonly memoryTotal: number;
  readonly memoryFree: number;
  /** Share of the last moment in which it computed, 0 to 1; absent where the driver does not tell. */
  readonly utilization?: number;
}

/** Devices besides the CPU as an engine has seen them last. */
export interface DeviceReadings {
  /** Monotonic milliseconds of the serving process. */
  readonly atMs: number;
  readonly devices: readonly DeviceStats[];
}

/** The newest reading of each device, whichever engine made it, by name. */
export function newestReadings(
  all: readonly (DeviceReadings | undefined)[],
): ReadonlyMap<string, DeviceStats> {
  const inOrder = all.flatMap((one) => one ?? []).toSorted((a, b) => a.atMs - b.atMs);
  return new Map(inOrder.flatMap(({ devices }) => devices).map((device) => [device.device, device]));
}

/** The numbers of one engine process. Counters count from its start. */
export interface EngineStats {
  /** Sequences that wait for a slot, and prompts being rendered. */
  readonly waiting: number;
  /** Sequences that can be in the batch at the same time. */
  readonly slots: number;
  /** Sequences in the batch. */
  readonly running: number;
  /** KV cells there are, those of running sequences, and those kept only for reuse. */
  readonly cells: number;
  readonly cellsRunning: number;
  readonly cellsKept: number;
  /** Resident memory of the process, bytes. */
  readonly residentBytes: number;
  /** Prompt tokens computed, tokens generated. */
  readonly prefillTokens: number;
  readonly decodeTokens: number;
  /** Images and audio that were encoded, those whose encoding was cached, and the encoder's time, seconds. */
  readonly mediaEncoded: number;
  readonly mediaReused: number;
  readonly mediaSecs: number;
  /** Tokens of texts that were embedded. */
  readonly embedTokens: number;
  /** Sequences admitted, those of them that found a prefix in the cache, and the tokens they did not compute. */
  readonly prefixQueries: number;
  readonly prefixHits: number;
  readonly prefixTokens: number;
  /** Saved states of memory that cannot be cut, their bytes, and how often one was restored. */
  readonly checkpoints: number;
  readonly checkpointBytes: number;
  readonly checkpointsRestored: number;
  /** Copies of cells outside the cache: their bytes in memory, tokens restored, tokens read from disk, bytes written to it. */
  readonly tierBytes: number;
  readonly tierTokens: number;
  readonly tierReadTokens: number;
  readonly tierWrittenBytes: number;
  /** Copies that failed their check, and writes that failed. */
  readonly tierBadBlocks: number;
  readonly tierFailedWrites: number;
  /** Sequences that gave up their cells to others. */
  readonly preemptions: number;
  /** Answers whose reasoning was ended before the model ended it. */
  readonly closedThoughts: number;
  /** Draft tokens, and those of them that were accepted. */
  readonly draftTokens: number;
  readonly draftHits: number;
  /** Tokens of each draft, and those of it that were accepted, over DRAFT_BUCKETS. */
  readonly draftLengths: HistogramData;
  readonly draftAccepted: HistogramData;
  /** Tokens a step, over ROWS_BUCKETS. */
  readonly rows: HistogramData;
  /** Seconds a step, over STEP_BUCKETS. */
  readonly steps: HistogramData;
}

/** Meter of image generation. */
export interface ImageMeter {
  /** An image request has arrived. `ended` follows exactly once. */
  began(): void;
  /** `steps` more steps are complete. */
  stepped(steps: number): void;
  /** An image is complete, with the seconds it took. */
  drawn(seconds: number): void;
  ended(): void;
}

/**
 * Why a model was unloaded without a command: another one needed its memory, or its place among max_loaded_models, or it was
 * idle for too long.
 */
export const EVICTION_REASONS = ["memory", "count", "idle"] as const;
export type EvictionReason = (typeof EVICTION_REASONS)[number];

/** Receiver of the metrics of one model's engine, across restarts. */
export interface EngineMeter {
  /** The model was unloaded without a command, which frees this much memory of all devices. */
  evicted(reason: EvictionReason, bytes: number): void;
  /** The newest numbers of the present process. */
  report(stats: EngineStats): void;
  /** The devices as the present process sees them. */
  saw(readings: DeviceReadings): void;
  /** The process has gone. `restarts`: another one follows. */
  ended(restarts: boolean): void;
  /** The process has stopped answering and is being killed; `ended` follows. */
  hung(): void;
}

/** Upper bounds of the histogram of an upstream's time to its first event, seconds; the last bucket has none. */
export const UPSTREAM_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** Numbers of one upstream, since the start. */
export interface UpstreamStats {
  /** Host and port. */
  readonly upstream: string;
  /** Ended attempts, by how they ended. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly inFlight: number;
  readonly cooldowns: number;
  readonly isCooling: boolean;
  /** Seconds from the request to the first event, over UPSTREAM_BUCKETS. */
  readonly firstEvent: HistogramData;
}

/** Numbers of a model's upstreams, since the start. */
export interface PoolStats {
  /** Id of the model. */
  readonly model: string;
  readonly upstreams: readonly UpstreamStats[];
  /** Requests that wait for an upstream. */
  readonly waiting: number;
  readonly retries: number;
  readonly fallbacks: number;
  /** Blocks of the prompts that were routed, and those that their upstream is thought to have computed before. */
  readonly prefixBlocks: number;
  readonly prefixHits: number;
}
