// Limits of sessions, with their units and sources.

/** Remembered approvals of a session. */
export const SESSION_TRUST_MAX = 256;
/** Number of sessions, and their lifetime after the last use, milliseconds. */
export const SESSIONS_MAX = 128;
export const SESSION_IDLE_MS = 30 * 60 * 1000;
/** Characters of all sessions together; above it the least recently used are evicted. */
export const SESSIONS_CHARS_MAX = 128 * 1024 * 1024;
/** Conversations of the web interface, of all keys, and bytes of their contents, in a durable State and in memory. */
export const HISTORY_MAX = 10_000;
export const HISTORY_BYTES_MAX = 4 * 1024 * 1024 * 1024;
export const HISTORY_MEMORY_BYTES_MAX = 256 * 1024 * 1024;
