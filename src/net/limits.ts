// Limits of net, with their units and sources.

/** Time to fetch what an address names, milliseconds, and redirects that are followed. */
export const FETCH_MS = 30_000;
export const FETCH_REDIRECTS_MAX = 3;
