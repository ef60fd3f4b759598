// Limits of hub, with their units and sources.

/** Timeout of a request to the model hub, and of a download's next bytes, milliseconds. */
export const HUB_ANSWER_MS = 30_000;
export const DOWNLOAD_STALL_MS = 30_000;
/** Attempts of a request that the hub is too busy for, the first delay, and the longest that the hub may ask for, milliseconds. */
export const HUB_TRIES = 4;
export const RETRY_MS = 1_000;
export const RETRY_AFTER_MS_MAX = 60_000;
/** Failed attempts of a download in a row, and the first and longest delay between them, milliseconds. */
export const DOWNLOAD_TRIES = 5;
export const DOWNLOAD_RETRY_MS = 1_000;
export const DOWNLOAD_RETRY_MS_MAX = 30_000;
/**
 * Bytes of a download that count as progress: fewer within DOWNLOAD_STALL_MS break a connection off, and an attempt that brings fewer is a
 * failed one.
 */
export const DOWNLOAD_PROGRESS_BYTES = 32 * 1024;
/** A listing of a repository: pages, bytes of all of them, files, and its time, milliseconds. An answer that is no listing, bytes. */
export const LISTING_PAGES_MAX = 1_000;
export const LISTING_BYTES_MAX = 64 * 1024 * 1024;
export const LISTING_FILES_MAX = 100_000;
export const LISTING_MS = 120_000;
export const HUB_JSON_BYTES_MAX = 8 * 1024 * 1024;
/** Characters of a file's path in a repository. */
export const HUB_PATH_CHARS_MAX = 1024;
/** Redirects that a download follows. */
export const DOWNLOAD_REDIRECTS_MAX = 5;
/** Interval at which a download's lock is renewed and checked, and the age at which it counts as abandoned, milliseconds. */
export const LOCK_BEAT_MS = 500;
export const LOCK_STALE_MS = 15_000;
/** Interval of log lines about a download, milliseconds. */
export const DOWNLOAD_LOG_MS = 10_000;
/** Pulls of a server that download at the same time, and those that it keeps in its list. */
export const PULLS_AT_ONCE = 3;
export const PULLS_MAX = 100;
/** Shortest interval of progress events of a pull, and the time over which its speed is measured, milliseconds. */
export const PULL_EVENT_MS = 100;
export const PULL_SPEED_MS = 5_000;
/** Free space that a download leaves: a share of the disk, and the most, bytes. */
export const DISK_RESERVE_SHARE = 0.05;
export const DISK_RESERVE_BYTES_MAX = 2 * 1024 ** 3;
/**
 * Bytes of a remote GGUF file after which its header is read, again at four times as many: the first hold what precedes the vocabulary.
 * Headers that are kept.
 */
export const REMOTE_HEADER_BYTES = 1 << 16;
export const REMOTE_HEADERS_MAX = 32;
/** Adapters of a repository that are downloaded with its model. */
export const ADAPTERS_AUTO_MAX = 8;
/** Repositories whose newest revision is asked for at once. */
export const ASKED_AT_ONCE = 4;
