// MCP servers whose tools models call: opens those of the configuration, and the store of those that the web interface adds.

import type { Settings } from "../config/settings.ts";
import { asServer } from "../core/caller.ts";
import type { McpConfig } from "../core/mcp-config.ts";
import { defined } from "../core/defined.ts";
import type { State } from "../core/state.ts";
import { processEnvironment } from "../config/sources.ts";
import { McpFailure } from "../mcp/failure.ts";
import { PageMcpServers } from "../mcp/page-servers.ts";
import { McpServers } from "../mcp/servers.ts";
import { FetchError, type PublicRequest, publicRequest } from "../net/public-fetch.ts";

/** Starts to connect; undefined where no servers are configured. */
export function openMcp(config: McpConfig | undefined, log: (line: string) => void): McpServers | undefined {
  return config === undefined
    ? undefined
    : new McpServers(config, { environment: processEnvironment(), log });
}

/** Servers of the web interface beside those of the configuration; without `ui_mcp` none can be added. */
export function openPageMcp(
  configured: McpServers | undefined,
  state: State,
  { settings: { server }, log }: { readonly settings: Settings; readonly log: (line: string) => void },
): PageMcpServers {
  const isOffered = server.ui_mcp && !server.no_ui;
  const fetchPublic = server.ui_mcp_private ? undefined : asMcpFetch(publicRequest());
  const options = {
    configured,
    log,
    environment: {},
    ...defined({ fetch: fetchPublic, state: isOffered ? state : undefined }),
  };
  return asServer(() => new PageMcpServers(options));
}

/** Its failures as those of an MCP server, whose message people see. */
function asMcpFetch(request: PublicRequest): PublicRequest {
  return async (url, init) => {
    try {
      return await request(url, init);
    } catch (error) {
      if (error instanceof FetchError) throw new McpFailure(error.message, { cause: error });
      throw error;
    }
  };
}
