// Limits of keys and what is counted for them, with their units and sources.

/** Keys in a file. */
export const KEYS_MAX = 10_000;
/** A changed file of keys is noticed after that time, milliseconds: a revoked key must not work for a second longer. */
export const KEY_FILE_LOOK_MS = 200;
/** How long a command waits for another one that changes the same file, milliseconds, and between two tries. */
export const KEY_LOCK_MS = 5000;
export const KEY_LOCK_TRY_MS = 20;
