// Bounds of the upstream room, with their units and reasons.

/** Time for an answer to a probe of the model list, milliseconds. */
export const PROBE_MS = 5000;
/** Time between two probes of an upstream, milliseconds. */
export const PROBE_EVERY_MS = 15_000;
/** Time between two questions for facts of a model that an upstream svc has not loaded yet, milliseconds. */
export const RECHECK_MS = 500;
/** Bytes of a body that is read whole: model lists, vectors, errors. A reranking of 1000 documents has some 100 KB. */
export const BODY_BYTES_MAX = 256 * 2 ** 20;
/** Bytes of an error's body that are read. */
export const ERROR_BYTES_MAX = 64 * 1024;
/** Characters of an upstream's message that are passed on. */
export const ERROR_CHARS_MAX = 500;
/** Characters of one event of a stream; a tool call may hold a file. */
export const EVENT_CHARS_MAX = 16 * 2 ** 20;
/**
 * Characters of a token at most, where a request limits tokens, and those that any answer may have besides; what a chunk counts at least.
 */
export const CHARS_PER_TOKEN_MAX = 64;
export const ANSWER_SPARE_CHARS = 256 * 1024;
export const CHUNK_CHARS_MIN = 16;
/** Characters and tool calls of any answer: some eight million tokens. */
export const ANSWER_CHARS_MAX = 32 * 2 ** 20;
export const ANSWER_CALLS_MAX = 1024;
/** Chunks in a row without the form of the one before, after which a stream's chunks are all parsed. */
export const REPEATED_MISSES_MAX = 16;
/** Silence within a stream after which it has failed, milliseconds. Comments of a server that waits are no silence. */
export const SILENCE_MS = 120_000;
/** Time for images, speech, embeddings and scores, milliseconds: their first byte is their last. */
export const WHOLE_ANSWER_MS = 600_000;
/** Time for the end of a body after its last event, so that the connection can be used again, milliseconds. */
export const TRAILER_MS = 1000;
/** Time for what follows the end of an answer, usage or late calls, where the stream stays open, milliseconds. */
export const ENDED_SILENCE_MS = 10_000;
/** Failures in a row that begin a cooldown; a failed connection begins one at once. */
export const FAILURES_MAX = 3;
/** Longest pause that an upstream's Retry-After is obeyed for, milliseconds. */
export const RETRY_AFTER_MS_MAX = 30_000;
/** Pause before an upstream is asked again that has refused the same request, milliseconds; doubles with each attempt. */
export const BACKOFF_MS = 100;
/** Characters of one block of a conversation, some 128 tokens: what a prefix cache is compared by. */
export const BLOCK_CHARS = 512;
/** Blocks of a conversation's beginning that count for its routing. */
export const BLOCKS_MAX = 256;
/** Blocks remembered for each upstream; 64 Ki blocks are some 8 million tokens, more than a KV cache holds. */
export const REMEMBERED_BLOCKS_MAX = 65_536;
/** Load of one upstream relative to the mean, above which the prefix policy passes it over. */
export const LOAD_FACTOR = 1.25;
/**
 * Connections to all upstreams together. Bun's HTTP client opens 256 unless BUN_CONFIG_MAX_HTTP_REQUESTS says otherwise and
 * keeps further requests to itself; probes, tools and downloads need some.
 */
export const CONNECTIONS_BY_DEFAULT = 256;
export const CONNECTIONS_RESERVED = 16;
/** Bytes of a token, for estimates of prompts that an upstream does not count. */
export const BYTES_PER_TOKEN = 4;
/** Tokens that a message's markup is estimated at. */
export const TOKENS_PER_MESSAGE = 4;
/** Bytes of the fields remembered for one call, and for all calls of a pool: signatures have some kilobytes. */
export const CARRIED_CALL_BYTES_MAX = 256 * 1024;
export const CARRIED_BYTES_MAX = 32 * 2 ** 20;
/** Time for which a route that an upstream lacks is remembered, milliseconds. */
export const LACKS_MS = 600_000;
/** Requests that are sent again with another form of body, in one attempt. */
export const CORRECTIONS_MAX = 3;
