// Limits of sessions, with their units and sources.

/** Kinds of actions that a session remembers to be approved. */
export const SESSION_TRUST_MAX = 256;
/** Sessions kept, and their life from the last use, milliseconds. */
export const SESSIONS_MAX = 128;
export const SESSION_IDLE_MS = 30 * 60 * 1000;
/** Characters of all sessions together; beyond it the least recently used go. */
export const SESSIONS_CHARS_MAX = 128 * 1024 * 1024;
