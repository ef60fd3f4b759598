// MCP servers whose tools models call: opens those of the configuration, and the store of those that the web interface adds.

import { join } from "node:path";
import { configFolder } from "../config/cache-folder.ts";
import type { Settings } from "../config/settings.ts";
import type { McpConfig, OAuthClient } from "../core/mcp-config.ts";
import { defined } from "../core/defined.ts";
import type { OwnedState } from "../core/state.ts";
import { type Environment, processEnvironment } from "../config/sources.ts";
import type { Fetch } from "../mcp/bounded-fetch.ts";
import { McpFailure } from "../mcp/failure.ts";
import type { LoginDeps } from "../mcp/login.ts";
import { PageMcpServers } from "../mcp/page-servers.ts";
import { McpServers } from "../mcp/servers.ts";
import { SignIns } from "../mcp/sign-in.ts";
import { endpointFetch } from "../net/endpoint-fetch.ts";
import { FetchError, publicRequest } from "../net/public-fetch.ts";

/** Starts to connect; undefined where no servers are configured. */
export function openMcp(config: McpConfig | undefined, log: (line: string) => void): McpServers | undefined {
  return config === undefined
    ? undefined
    : new McpServers(config, {
        environment: processEnvironment(),
        log,
        signIns: signInsOf(processEnvironment()),
        fetchFor: serverFetch,
      });
}

/** Requests to a server of the configuration, and to what its answers name. */
function serverFetch(url: string): Fetch {
  return asMcpFetch(endpointFetch(url));
}

/** Sign-ins at servers of the configuration, in the user's configuration folder. */
function signInsOf(environment: Environment): SignIns {
  return new SignIns(join(configFolder(environment), "mcp-sign-ins"));
}

/** Signs in at a server of the configuration, named by its id or its display name. Throws the reason. */
export async function signInToMcp(
  config: McpConfig | undefined,
  name: string,
  talk: Pick<LoginDeps, "show" | "copied" | "signal">,
): Promise<void> {
  const { logIn } = await import("../mcp/login.ts");
  const { url, oauth: client } = remoteServer(config, name);
  const signIns = signInsOf(processEnvironment());
  await logIn(url, { ...talk, signIns, fetch: serverFetch(url), ...defined({ client }) });
}

/** Forgets the sign-in at a server of the configuration; false if it is missing. Throws where the server is not configured. */
export function signOutOfMcp(config: McpConfig | undefined, name: string): boolean {
  return signInsOf(processEnvironment()).remove(remoteServer(config, name).url);
}

interface RemoteServer {
  readonly url: string;
  readonly oauth: OAuthClient | undefined;
}

function remoteServer(config: McpConfig | undefined, name: string): RemoteServer {
  const servers = config?.servers ?? [];
  const server = servers.find(({ id, label }) => id === name || label === name);
  const names = servers.map(({ label }) => label).join(", ");
  if (server === undefined)
    throw new McpFailure(
      `no MCP server ${name} is configured and enabled. ${names === "" ? "Name the file with --mcp-config" : `Servers: ${names}`}`,
    );
  if (server.source.type !== "Http")
    throw new McpFailure(`${name} is not at an http address; only those have sign-ins`);
  if (server.bearerToken !== undefined)
    throw new McpFailure(`${name} has a bearer_token in its configuration, which is used; remove it first`);
  return { url: server.source.url, oauth: server.oauth };
}

/** Servers of the web interface beside those of the configuration; without `ui_mcp` none can be added. */
export function openPageMcp(
  configured: McpServers | undefined,
  state: OwnedState,
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
  return new PageMcpServers(options);
}

/** Its failures as those of an MCP server, whose message people see. */
function asMcpFetch(request: Fetch): Fetch {
  return async (url, init) => {
    try {
      return await request(url, init);
    } catch (error) {
      if (error instanceof FetchError) throw new McpFailure(error.message, { cause: error });
      throw error;
    }
  };
}
