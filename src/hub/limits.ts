// Limits of hub, with their units and sources.

/** Time the model hub gets to answer a question, and a download to bring its next bytes, milliseconds. */
export const HUB_ANSWER_MS = 30_000;
export const DOWNLOAD_STALL_MS = 30_000;
/** Tries of a download in a row that bring nothing, first pause between them, and the longest, milliseconds. */
export const DOWNLOAD_TRIES = 5;
export const DOWNLOAD_RETRY_MS = 1_000;
export const DOWNLOAD_RETRY_MS_MAX = 30_000;
/** Addresses that a download may be passed on to. */
export const DOWNLOAD_REDIRECTS_MAX = 5;
/** A download's lock is renewed and looked at this often, and abandoned when it was not renewed for so long, milliseconds. */
export const LOCK_BEAT_MS = 500;
export const LOCK_STALE_MS = 15_000;
/** Time between two lines of the log about a download, milliseconds. */
export const DOWNLOAD_LOG_MS = 10_000;
