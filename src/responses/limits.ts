// Limits of responses, with their units and sources.

/** Stored responses, and their retention time, milliseconds: a day. */
export const RESPONSES_MAX = 1024;
export const RESPONSE_LIFE_MS = 24 * 60 * 60 * 1000;
/** Concurrent background responses. */
export const BACKGROUND_RUNS_MAX = 256;
/** Finished background responses whose frames are kept for clients that reconnect. */
export const FRAME_LOGS_MAX = 16;
