// MCP servers whose tools models call: opens them from the configuration.

import type { McpConfig } from "../core/mcp-config.ts";
import { processEnvironment } from "../config/sources.ts";
import { McpServers } from "../mcp/servers.ts";

/** Starts to connect; undefined where no servers are configured. */
export function openMcp(config: McpConfig | undefined, log: (line: string) => void): McpServers | undefined {
  return config === undefined
    ? undefined
    : new McpServers(config, { environment: processEnvironment(), log });
}
