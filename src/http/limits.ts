// Limits of http, with their units and sources.

/** Request body, bytes. Spec: Limits. */
export const REQUEST_BODY_BYTES_MAX = 50 * 1024 * 1024;
/** Bytes beyond that are read and dropped before 413 is answered: a client that still sends would lose the answer. */
export const BODY_DRAIN_BYTES_MAX = 200 * 1024 * 1024;
/** Time that a request body may bring nothing, milliseconds, and bytes a second that it must bring besides, on average. */
export const BODY_STALL_MS = 120_000;
export const BODY_BYTES_PER_SEC_MIN = 1024;
/**
 * Time after an answer that its connection waits for the next head, or for its client to take more of the answer, seconds.
 * Bun's largest; its own limit for the first head is 10 s.
 */
export const CONNECTION_IDLE_SECS = 255;
/** Bytes of a body that is parsed on the server's own thread, 10 ms at most; larger ones get a thread. */
export const JSON_BYTES_AT_ONCE = 256 * 1024;
/** Time that a value takes to be copied from that thread, milliseconds: about 1 µs, measured. */
export const JSON_COPY_MS = 0.001;
/** Time between SSE keep-alive comments, milliseconds. Spec: Events (KEEP_ALIVE_INTERVAL). */
export const KEEP_ALIVE_MS = 10_000;
/** Items of one page of a paged list, and the most that may be asked for. */
export const SKILLS_PAGE = 20;
export const SKILLS_PAGE_MAX = 100;
/** Parts of an uploaded form, and header lines of one part with their bytes. */
export const FORM_PARTS_MAX = 1000;
export const FORM_PART_HEADERS_MAX = 16;
export const FORM_PART_HEADER_BYTES_MAX = 16 * 1024;
/** Bytes of files' bodies in an exported session: with base64 it still fits a request body. */
export const SESSION_EXPORT_BYTES_MAX = 32 * 1024 * 1024;
/** Body of an answer to an approval, bytes, and characters of its message to the model. */
export const APPROVAL_BODY_BYTES_MAX = 1024 * 1024;
export const APPROVAL_MESSAGE_CHARS_MAX = 4096;
/** Input items of a response in one answer. Base dialect. */
export const INPUT_ITEMS_PAGE_MAX = 100;
/** Requests that begin in one turn of the event loop; the next turn takes in what has arrived meanwhile. */
export const BEGINNINGS_AT_ONCE = 16;
/** Time after which a request whose body is still on its way no longer keeps others out, milliseconds. */
export const SLOW_ARRIVAL_MS = 1_000;
/** Answers of the web interface that are held while they run and afterwards, and bytes of all their frames. */
export const HELD_RUNS_MAX = 64;
export const HELD_RUN_BYTES_MAX = 64 * 1024 * 1024;
/** Time that such an answer runs without a reader, milliseconds: a phone that was locked, a page that is loaded again. */
export const HELD_RUN_GRACE_MS = 300_000;
/** Time that a finished one is kept, milliseconds: after a client got its end, and before that. */
export const HELD_RUN_READ_MS = 60_000;
export const HELD_RUN_UNREAD_MS = 3_600_000;
