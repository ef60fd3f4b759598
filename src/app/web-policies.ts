// Which web pages and host names may use the server, from settings.

import { hostname } from "node:os";
import type { Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import { socketPathOf } from "../core/listen-addresses.ts";
import type { ApiKeys } from "../http/api-keys.ts";
import type { HttpDeps } from "../http/deps.ts";
import type { HostPolicy } from "../http/hooks/hosts.ts";
import type { OriginPolicy } from "../http/hooks/origins.ts";
import type { McpServers } from "../mcp/servers.ts";
import type { Tools } from "./tools.ts";

interface PolicyOptions {
  readonly settings: Settings;
  readonly log: (line: string) => void;
  readonly keys: ApiKeys;
}

/**
 * Which web pages may use the server. All, by the specification; without keys those of other origins get the routes of inference, and
 * none while models have tools: then not even pages of other ports of this machine. Logs a warning where other machines can reach such a server.
 */
function pagePolicy(
  { settings: { server }, log, keys }: PolicyOptions,
  { protection }: Tools,
  mcp: McpServers | undefined,
): OriginPolicy | undefined {
  const acts =
    protection !== undefined || mcp !== undefined || server.ui_mcp || server.tool_dispatch_url !== undefined;
  const isOpen = acts;
  if (
    isOpen &&
    !keys.isRequired &&
    !LOOPBACK_HOSTS.has(server.host) &&
    socketPathOf(server.host) === undefined
  ) {
    log(
      "warning: every client that reaches this port can run tools on this machine. Set --host 127.0.0.1, or --api-keys.",
    );
  }
  const origins = server.allowed_origins ?? [];
  if (origins.includes("*")) return undefined;
  const foreign = isOpen || server.allowed_origins !== undefined ? "none" : "inference";
  const hosts = [...(server.allowed_hosts ?? []), ...ownNames(server.host)];
  const holds = server.allowed_origins === undefined ? { whileOpen: true } : {};
  return { origins, hosts, foreign, otherPorts: !isOpen, ...holds };
}

/** Origin and host policies of all requests, and how connections of tools are recognized. */
export function webPolicies(
  options: PolicyOptions,
  tools: Tools,
  mcp: McpServers | undefined,
): Pick<HttpDeps, "originPolicy" | "hostPolicy" | "isToolPeer"> {
  const pages = pagePolicy(options, tools, mcp);
  const hosts = hostPolicy(options.settings);
  const { host } = options.settings.server;
  return {
    ...defined({ originPolicy: pages, hostPolicy: hosts }),
    // A socket's connections have no ports by which a process could be found; tools cannot connect to one.
    ...(socketPathOf(host) === undefined ? defined({ isToolPeer: tools.isToolPeer }) : {}),
  };
}

/** Holds while no key is needed: host names that third parties can point at this server are refused: their pages would pass as same-origin. */
function hostPolicy({ server }: Settings): HostPolicy {
  return { allowed: server.allowed_hosts ?? [], own: ownNames(server.host) };
}

function ownNames(host: string): readonly string[] {
  return [host, hostname(), `${hostname()}.local`];
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);
