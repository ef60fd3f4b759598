// Limits of metrics, with their units and sources.

/** Values of the label `key`: each takes a dozen series. */
export const KEY_LABELS_MAX = 500;
/** Time between two samples for the web interface, milliseconds, and how many are kept: those of an hour. */
export const SAMPLE_MS = 10_000;
export const SAMPLES_MAX = 360;
/** Older samples are thinned: one in six is kept (one a minute), for 23 hours. */
export const OLDER_EVERY = 6;
export const OLDER_SAMPLES_MAX = 1380;
/** Lines of the log that the web interface shows, characters of each, and their age, milliseconds. */
export const LOG_LINES_MAX = 1000;
export const LOG_LINE_CHARS_MAX = 1000;
export const LOG_LINE_AGE_MS = 24 * 60 * 60 * 1000;
