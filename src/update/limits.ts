// Limits of update, with their units and sources.

/** Of the list of sums and its signature, bytes. */
export const LIST_BYTES_MAX = 1 << 20;
/** Of an archive, bytes: one with a back end inside has 400 MB. */
export const ARCHIVE_BYTES_MAX = 2 ** 32;
/** Time in which the list must come, milliseconds. */
export const LIST_MS = 30_000;
/** Time in which the next megabyte of an archive must come, milliseconds. */
export const ARCHIVE_STALL_MS = 60_000;
export const ARCHIVE_STALL_BYTES = 1 << 20;
