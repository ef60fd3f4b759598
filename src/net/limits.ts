// Limits of net, with their units and sources.

/** Timeout of a fetch, milliseconds, and redirects followed. */
export const FETCH_MS = 30_000;
export const FETCH_REDIRECTS_MAX = 3;
