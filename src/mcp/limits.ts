// Limits of mcp, with their units and sources.

/** Grace period of an MCP server's process before SIGTERM, and again before SIGKILL, milliseconds. */
export const MCP_STOP_MS = 1_000;
/** One message of an MCP server, bytes, and the tail of its stderr that is kept, characters. */
export const MCP_MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
export const MCP_STDERR_CHARS_MAX = 2_000;
/** First pause before a reconnect to an MCP server, milliseconds; doubles up to the maximum. */
export const MCP_RECONNECT_MS = 500;
export const MCP_RECONNECT_MS_MAX = 60_000;
/** Timeout to connect to an MCP server, handshake included, milliseconds. */
export const MCP_CONNECT_MS = 30_000;
/** MCP servers added in the web interface, of all callers and of one, and calls to one of them at the same time. */
export const MCP_PAGE_SERVERS_MAX = 256;
export const MCP_PAGE_SERVERS_OF_CALLER_MAX = 16;
export const MCP_PAGE_CALLS_MAX = 4;
/** Depth of a tool's JSON schema; deeper levels are unconstrained. */
export const MCP_SCHEMA_DEPTH_MAX = 32;
