// Limits of responses, with their units and sources.

/** Stored responses, and how long each is kept, milliseconds: a day. */
export const RESPONSES_MAX = 1024;
export const RESPONSE_LIFE_MS = 24 * 60 * 60 * 1000;
/** Responses that run in the background at the same time. */
export const BACKGROUND_RUNS_MAX = 256;
/** Finished background responses whose streams can still be read again. */
export const FRAME_LOGS_MAX = 16;
