// Files of MCP servers that other programs have: brings their keys into one form, without judging the values. Claude Desktop, LM Studio
// and Cursor write `mcpServers`, Visual Studio Code `servers` as an object with `inputs`, Gemini CLI `httpUrl`, Windsurf `serverUrl`.

import { isObject } from "../core/json.ts";
import { DesktopServer, McpFile, OAuthClient } from "../core/mcp-config.ts";
import { nearest } from "./nearest.ts";

type Table = Readonly<Record<string, unknown>>;

/** Keys that are known, and other words for some of them. */
interface Words {
  readonly known: readonly string[];
  readonly synonyms: ReadonlyMap<string, string>;
}

const FILE_KEYS = Object.keys(McpFile.properties);
const SERVER_WORDS: Words = {
  known: DesktopServer.anyOf.flatMap(({ properties }) => Object.keys(properties)),
  synonyms: new Map([
    ["httpUrl", "url"],
    ["serverUrl", "url"],
    ["http_headers", "headers"],
    ["startup_timeout_sec", "startup_timeout_secs"],
    ["tool_timeout_sec", "tool_timeout_secs"],
  ]),
};
/** Claude Code and Gemini CLI; other programs also write scopes and addresses here, which servers name themselves. */
const OAUTH_WORDS: Words = {
  known: Object.keys(OAuthClient.properties),
  synonyms: new Map([
    ["clientId", "client_id"],
    ["clientSecret", "client_secret"],
    ["callbackPort", "callback_port"],
  ]),
};

export interface CommonForm {
  readonly value: unknown;
  /** Key under which the file has the servers that are now in `mcpServers`. */
  readonly place: "servers" | "mcpServers" | "mcp.servers";
}

/** A file with servers by name in `mcpServers`, whatever its own form is. */
export function commonForm(file: unknown): CommonForm {
  if (!isObject(file)) return { value: file, place: "mcpServers" };
  const { servers, mcp, mcpServers } = file;
  if (isObject(servers)) {
    const all = { ...servers, ...(isObject(mcpServers) ? mcpServers : {}) };
    return { value: withServers(file, all, "servers"), place: "servers" };
  }
  if (isObject(mcp) && isObject(mcp["servers"]))
    return { value: withServers(file, mcp["servers"]), place: "mcp.servers" };
  return { value: isObject(mcpServers) ? withServers(file, mcpServers) : file, place: "mcpServers" };
}

/** Keys of other programs beside the servers are left out, unless one looks like a misspelled key of this file. */
function withServers(file: Table, servers: Table, place = "mcpServers"): Table {
  const kept = Object.entries(file).filter(([key]) => key !== place && nearest(key, FILE_KEYS) !== undefined);
  const named = Object.entries(servers).map(([name, server]) => [name, oneForm(server)]);
  return { ...Object.fromEntries(kept), mcpServers: Object.fromEntries(named) };
}

function oneForm(server: unknown): unknown {
  if (!isObject(server)) return server;
  const { oauth, ...rest } = inOurWords(server, SERVER_WORDS);
  if (oauth === undefined) return rest;
  return { ...rest, oauth: isObject(oauth) ? inOurWords(oauth, OAUTH_WORDS) : oauth };
}

/** What svc knows, under its own keys, which win. */
function inOurWords(table: Table, { known, synonyms }: Words): Table {
  const entries = Object.entries(table);
  const renamed = entries.map(([key, value]) => [synonyms.get(key) ?? "", value] as const);
  return Object.fromEntries([...renamed, ...entries].filter(([key]) => known.includes(key)));
}
