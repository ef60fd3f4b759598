// Every bound of the program, with its unit and where it comes from.

/** Request body, bytes. Spec: Limits. */
export const REQUEST_BODY_BYTES_MAX = 50 * 1024 * 1024;
/** Time between SSE keep-alive comments, milliseconds. Spec: Events (KEEP_ALIVE_INTERVAL). */
export const KEEP_ALIVE_MS = 10_000;
/** Stop strings a request may name. The base dialect allows 4; tools send more. */
export const STOP_STRINGS_MAX = 64;
/** Characters of one stop string. */
export const STOP_STRING_CHARS_MAX = 1024;
/** Messages in one conversation. */
export const MESSAGES_MAX = 16_384;
/** Runs that may wait for a sequence in one engine before new ones get 429. */
export const QUEUE_MAX = 1024;
/** Time running requests get to finish after SIGINT/SIGTERM, milliseconds. */
export const DRAIN_MS = 10_000;
/** Time an engine process gets to end by itself before it is killed, milliseconds. */
export const ENGINE_STOP_MS = 3_000;
/** First pause before a dead engine is started again, milliseconds; doubles up to the maximum. */
export const ENGINE_RESTART_MS = 100;
export const ENGINE_RESTART_MS_MAX = 10_000;
