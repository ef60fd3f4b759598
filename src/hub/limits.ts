// Limits of hub, with their units and sources.

/** Timeout of a request to the model hub, and of a download's next bytes, milliseconds. */
export const HUB_ANSWER_MS = 30_000;
export const DOWNLOAD_STALL_MS = 30_000;
/** Failed attempts of a download in a row, and the first and longest delay between them, milliseconds. */
export const DOWNLOAD_TRIES = 5;
export const DOWNLOAD_RETRY_MS = 1_000;
export const DOWNLOAD_RETRY_MS_MAX = 30_000;
/** Redirects that a download follows. */
export const DOWNLOAD_REDIRECTS_MAX = 5;
/** Interval at which a download's lock is renewed and checked, and the age at which it counts as abandoned, milliseconds. */
export const LOCK_BEAT_MS = 500;
export const LOCK_STALE_MS = 15_000;
/** Interval of log lines about a download, milliseconds. */
export const DOWNLOAD_LOG_MS = 10_000;
