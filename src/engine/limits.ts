// Limits of the engine's serving side, with their units and sources.

/**
 * Requests sent to an engine beyond those that it computes, as a share of these: enough to replace the requests that end in
 * one step, and few, because the engine does not reorder them between clients.
 */
export const ENGINE_AHEAD = 0.5;
/** Time limit of a chat template's trial at loading, milliseconds; usual templates take a few. */
export const TEMPLATE_TRIAL_MS = 20_000;
/** Grace period of an engine process between `stop` and a kill, milliseconds. */
export const ENGINE_STOP_MS = 1_000;
/** Pings to an engine within `hang_timeout`, and the longest interval between two, milliseconds. */
export const ENGINE_PINGS = 6;
export const ENGINE_PING_MS_MAX = 5_000;
/** Multiple of that timeout for an engine that uses the processor without answering: steps can be long. */
export const ENGINE_BUSY_TIMEOUTS = 40;
/** First delay of an engine restart, milliseconds; doubles up to the maximum. */
export const ENGINE_RESTART_MS = 100;
export const ENGINE_RESTART_MS_MAX = 10_000;
/** Engines in a row that may end while loading, before the next restart waits for a request. */
export const ENGINE_LOAD_DEATHS_MAX = 3;
/** Time after a failed load in which requests fail at once instead of loading again, milliseconds. */
export const FAILED_LOAD_MS = 5_000;
/** Speech requests that one engine synthesizes round-robin, besides those that wait (queue_max). */
export const SPEECHES_MAX = 32;
/** Context that the server plans with for an upstream model that does not state its own, tokens. */
export const UPSTREAM_CONTEXT_TOKENS = 32_768;
/** Main memory of an engine process besides its model, bytes, as measured with small real models after long use: code, libraries, heap. */
export const ENGINE_PROCESS_BYTES = 144 * 1024 * 1024;
/** The same of an engine of an encoder, which has no answers; its heap took from 70 to 124 MB in runs of one kind. */
export const ENCODER_PROCESS_BYTES = 124 * 1024 * 1024;
