/** Version of the service; spec: Versioning. */
export const VERSION = "0.9.4";

/** The revision of the Model Context Protocol that this server speaks at its own endpoint, whatever a client asks for. */
export const MCP_VERSION = "2025-11-25";
