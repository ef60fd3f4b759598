// Limits of mcp, with their units and sources.

/** Time an MCP server's process gets to end before it is asked by a signal, and again before it is killed, milliseconds. */
export const MCP_STOP_MS = 1_000;
/** One message of an MCP server, bytes, and what is kept of the end of its stderr, characters. */
export const MCP_MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
export const MCP_STDERR_CHARS_MAX = 2_000;
/** First pause before a lost MCP server is connected to again, milliseconds; doubles up to the maximum. */
export const MCP_RECONNECT_MS = 500;
export const MCP_RECONNECT_MS_MAX = 60_000;
/** Time to reach an MCP server and to shake hands with it, milliseconds. */
export const MCP_CONNECT_MS = 30_000;
/** Depth of a tool's JSON schema; what lies deeper may be anything. */
export const MCP_SCHEMA_DEPTH_MAX = 32;
