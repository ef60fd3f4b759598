// Files of MCP servers that other programs have: brings their keys into one form, without judging the values. Claude Desktop, LM Studio
// and Cursor write `mcpServers`, Visual Studio Code `servers` as an object with `inputs`, Gemini CLI `httpUrl`, Windsurf `serverUrl`.

import { nearest } from "./nearest.ts";
import { isTable } from "./sources.ts";

/** Keys of the file itself. */
const KEYS = ["servers", "mcpServers", "auto_register_tools", "tool_timeout_secs", "max_concurrent_calls"];
/** Keys of editors that mean nothing here. */
const IGNORED = new Set(["inputs", "$schema"]);
/** Other words for a key of a server. */
const SYNONYMS: readonly (readonly [from: string, to: string])[] = [
  ["httpUrl", "url"],
  ["serverUrl", "url"],
  ["http_headers", "headers"],
  ["startup_timeout_sec", "startup_timeout_secs"],
  ["tool_timeout_sec", "tool_timeout_secs"],
];

export interface CommonForm {
  readonly value: unknown;
  /** Key under which the file has the servers that are now in `mcpServers`. */
  readonly place: "servers" | "mcpServers" | "mcp.servers";
}

/** A file with servers by name in `mcpServers`, whatever its own form is. */
export function commonForm(file: unknown): CommonForm {
  if (!isTable(file)) return { value: file, place: "mcpServers" };
  const { servers, mcp, mcpServers } = file;
  if (isTable(servers)) {
    return {
      value: withServers(file, { ...servers, ...(isTable(mcpServers) ? mcpServers : {}) }, []),
      place: "servers",
    };
  }
  if (isTable(mcp) && isTable(mcp["servers"])) {
    return { value: withServers(file, mcp["servers"], ["servers", "mcp"]), place: "mcp.servers" };
  }
  if (!isTable(mcpServers)) return { value: file, place: "mcpServers" };
  return {
    value: withServers(file, mcpServers, Array.isArray(servers) ? ["servers"] : []),
    place: "mcpServers",
  };
}

/** Keys of other programs beside the servers are left out, unless one looks like a misspelled key of this file. */
function withServers(
  file: Readonly<Record<string, unknown>>,
  servers: Readonly<Record<string, unknown>>,
  own: readonly string[],
): unknown {
  const kept = Object.entries(file).filter(([key, value]) => {
    if (key === "mcpServers" || (key === "servers" && !Array.isArray(value)) || IGNORED.has(key))
      return false;
    return KEYS.includes(key) || own.includes(key) ? key !== "mcp" : nearest(key, KEYS) !== undefined;
  });
  const named = Object.entries(servers).map(([name, server]) => [name, oneForm(server)]);
  return { ...Object.fromEntries(kept), mcpServers: Object.fromEntries(named) };
}

/** Claude Code's and Gemini CLI's words in `oauth`. */
const OAUTH: readonly (readonly [from: string, to: string])[] = [
  ["clientId", "client_id"],
  ["clientSecret", "client_secret"],
  ["callbackPort", "callback_port"],
];

/** Of `oauth` only what svc knows is kept: other programs write scopes and addresses there, which servers name themselves. */
function oauthOf(oauth: unknown): unknown {
  if (!isTable(oauth)) return oauth;
  const known = new Set(["client_id", "client_secret", "client_metadata_url", "callback_port"]);
  const renamed = OAUTH.flatMap(([from, to]) =>
    oauth[from] === undefined ? [] : [[to, oauth[from]] as const],
  );
  return Object.fromEntries([...renamed, ...Object.entries(oauth).filter(([key]) => known.has(key))]);
}

function oneForm(server: unknown): unknown {
  if (!isTable(server)) return server;
  const { oauth } = server;
  const renamed = SYNONYMS.filter(([from, to]) => server[from] !== undefined && server[to] === undefined);
  return {
    ...server,
    ...Object.fromEntries(renamed.map(([from, to]) => [to, server[from]])),
    ...(oauth === undefined ? {} : { oauth: oauthOf(oauth) }),
  };
}
