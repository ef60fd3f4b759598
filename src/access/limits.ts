// Limits of keys and what is counted for them, with their units and sources.

/** Keys in a file. */
export const KEYS_MAX = 10_000;
/** A changed file of keys is noticed after that time, milliseconds: a revoked key must not work for a second longer. */
export const KEY_FILE_LOOK_MS = 200;
/** How long a command waits for another one that changes the same file, milliseconds, and between two tries. */
export const KEY_LOCK_MS = 5000;
export const KEY_LOCK_TRY_MS = 20;
/** Tokens of an answer without `max_tokens` at least, where its key has as many: more than most have. */
export const DEFAULT_ANSWER_TOKENS = 1024;
/** Share of what a key has left that such an answer may have: others that begin beside it find the rest. */
export const OPEN_ANSWER_SHARE = 0.25;
/** Tokens set aside for an image or a sound, and for the markup around a message, until they are counted. */
export const MEDIA_TOKENS = 4096;
export const MARKUP_TOKENS = 32;
/** Owners whose limits are counted; idle ones are forgotten beyond it. */
export const QUOTAS_MAX = 10_000;
/** Rows of usage, one for each key, model and day, and how long each is kept, milliseconds: a year and a month. */
export const USAGE_ROWS_MAX = 200_000;
export const USAGE_LIFE_MS = 396 * 24 * 60 * 60 * 1000;
