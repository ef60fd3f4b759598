// Limits of backends, with their units and sources.

/** Timeout of a request to a Python package index, milliseconds, and the most bytes of its answer. */
export const INDEX_ANSWER_MS = 30_000;
export const INDEX_BYTES_MAX = 16 * 1024 ** 2;
