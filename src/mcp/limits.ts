// Limits of mcp, with their units and sources.

/** Grace period of an MCP server's process before SIGTERM, and again before SIGKILL, milliseconds. */
export const MCP_STOP_MS = 1_000;
/** One message of an MCP server, bytes, and the tail of its stderr that is kept, characters. */
export const MCP_MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
export const MCP_STDERR_CHARS_MAX = 16_000;
/** Lines of an MCP server's log that are kept, and characters of one. */
export const MCP_LOG_LINES_MAX = 200;
export const MCP_LOG_LINE_CHARS_MAX = 1_000;
/** Requests to a server whose results are still awaited. */
export const MCP_OPEN_REQUESTS_MAX = 4096;
/** Faults of a server's lists that its card names. */
export const MCP_FAULTS_MAX = 20;
/** First pause before a reconnect to an MCP server, milliseconds; doubles up to the maximum. */
export const MCP_RECONNECT_MS = 500;
export const MCP_RECONNECT_MS_MAX = 60_000;
/** Timeout to connect to an MCP server, handshake included, where its entry sets none, milliseconds. */
export const MCP_CONNECT_MS = 30_000;
/** Time in which a server must answer the question for its protocol versions before it is taken for an old one, milliseconds. */
export const MCP_PROBE_MS = 5_000;
/** Duration of a call whose server reports progress, milliseconds. */
export const MCP_PROGRESS_MS_MAX = 30 * 60_000;
/** Characters of a server's own words in the reason of a failure and in one message of its progress. */
export const MCP_WORDS_CHARS_MAX = 300;
/** MCP servers added in the web interface, of all callers and of one, and calls to one of them at the same time. */
export const MCP_PAGE_SERVERS_MAX = 256;
export const MCP_PAGE_SERVERS_OF_CALLER_MAX = 16;
export const MCP_PAGE_CALLS_MAX = 4;
/** Depth of a tool's JSON schema; deeper levels are unconstrained. */
export const MCP_SCHEMA_DEPTH_MAX = 32;
/** Characters of an access token, and of the scopes that a server asks for. */
export const MCP_TOKEN_CHARS_MAX = 16 * 1024;
export const MCP_SCOPE_CHARS_MAX = 4096;
