// Limits of engine, with their units and sources.

/**
 * Requests sent to an engine beyond those that it can work on, as a share of them: enough to replace at once what ends in one
 * step, and few, because those it has are no longer put in a fair order.
 */
export const ENGINE_AHEAD = 0.5;
/** Time that a model's chat template has to be tried out when it is loaded; usual ones take a few, milliseconds. */
export const TEMPLATE_TRIAL_MS = 20_000;
/** Time an engine process gets to end by itself before it is killed, milliseconds. */
export const ENGINE_STOP_MS = 3_000;
/** An engine is asked for a sign of life so many times within `hang_timeout`, and at least this often, milliseconds. */
export const ENGINE_PINGS = 6;
export const ENGINE_PING_MS_MAX = 5_000;
/** An engine that uses the processor without answering may do so for this many times that timeout: steps can be long. */
export const ENGINE_BUSY_TIMEOUTS = 40;
/** First pause before a dead engine is started again, milliseconds; doubles up to the maximum. */
export const ENGINE_RESTART_MS = 100;
export const ENGINE_RESTART_MS_MAX = 10_000;
/** Engines in a row that may die while loading before the next one waits for a request. */
export const ENGINE_LOAD_DEATHS_MAX = 3;
/** Time after a failed load during which requests are told so instead of trying again, milliseconds. */
export const FAILED_LOAD_MS = 5_000;
/** Speeches that one engine speaks in turns, besides as many as may wait (queue_max). */
export const SPEECHES_MAX = 32;
/** Context that the server plans with for an upstream model that does not state its own, tokens. */
export const UPSTREAM_CONTEXT_TOKENS = 32_768;
