// Reads the JSON file of MCP servers: every problem of it at once, or the servers with their defaults filled in. Values
// are never quoted in a problem, since tokens and headers are among them.

import type { TSchema } from "@sinclair/typebox";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { hash, randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { defined } from "../core/defined.ts";
import { isObject } from "../core/json.ts";
import { MCP_TIMEOUT_SECS } from "../core/limits.ts";
import {
  DesktopServer,
  type McpConfig,
  McpFile,
  type McpServer,
  type McpServerConfig,
  McpSource,
} from "../core/mcp-config.ts";
import { commonForm } from "./mcp-formats.ts";
import { readJson } from "./mcp-json.ts";
import { type Expanded, expandVariables } from "./mcp-variables.ts";
import { nearest } from "./nearest.ts";
import type { Origin, Problem } from "./problem.ts";
import type { Environment } from "./sources.ts";

/** Calls to all MCP servers at the same time where the configuration says nothing. Spec: MCP. */
const MCP_CALLS_MAX = 10;

export type McpRead =
  | { readonly ok: true; readonly config: McpConfig }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** `file` is an absolute path. A relative work_dir starts at its folder; `environment` has the variables that it names. */
export function readMcpFile(file: string, environment: Environment = {}): McpRead {
  const origin: Origin = { type: "file", file };
  const json = parse(file);
  if (!json.ok) return { ok: false, problems: [{ origin, key: "", what: json.what, fix: json.fix }] };
  const { value: common, place } = commonForm(json.value);
  const refused = (faults: readonly Fault[]): McpRead => {
    const problems = faults.map(({ key, ...fault }) => ({ origin, key: placed(key, place), ...fault }));
    return { ok: false, problems };
  };
  const { value, faults: unset } = withVariables(common, environment);
  if (unset.length > 0) return refused(unset);
  if (!Value.Check(McpFile, value)) return refused(faultsOf(value));
  const faults = together(value, dirname(file));
  return faults.length > 0 ? refused(faults) : { ok: true, config: complete(value, dirname(file)) };
}

type Fault = Pick<Problem, "key" | "what" | "fix">;

/** A key under its name in the file. */
function placed(key: string, place: string): string {
  return key.replace(/^mcpServers(?=\.|$)/, place);
}

/** Fills in the variables of the servers that are enabled. */
function withVariables(file: unknown, environment: Environment): Expanded {
  if (!isObject(file)) return { value: file, faults: [] };
  const faults: Fault[] = [];
  const expand = (server: unknown, key: string): unknown => {
    if (isObject(server) && (server["disabled"] === true || server["enabled"] === false)) return server;
    const expanded = expandVariables(server, key, environment);
    faults.push(...expanded.faults);
    return expanded.value;
  };
  const { servers, mcpServers } = file;
  const value = {
    ...file,
    ...(Array.isArray(servers) ? { servers: servers.map((one, n) => expand(one, `servers[${n}]`)) } : {}),
    ...(isObject(mcpServers)
      ? {
          mcpServers: Object.fromEntries(
            Object.entries(mcpServers).map(([name, one]) => [name, expand(one, `mcpServers.${name}`)]),
          ),
        }
      : {}),
  };
  return { value, faults };
}

function parse(
  file: string,
): { readonly ok: true; readonly value: unknown } | ({ readonly ok: false } & Omit<Fault, "key">) {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return { ok: false, what: "the file cannot be read", fix: "Check the path." };
  }
  const read = readJson(text);
  if (read.ok) return read;
  const what = `line ${read.line}, column ${read.column} is not valid JSON: ${read.fault}`;
  return { ok: false, what, fix: 'The file must be an object such as {"servers": []}.' };
}

/** One fault for each place, outermost first. */
function faultsOf(value: unknown): readonly Fault[] {
  const faults = new Map<string, Fault>();
  for (const error of Value.Errors(McpFile, value)) {
    const found =
      error.schema.$id === undefined && isSource(error)
        ? sourceFaults(error)
        : isDesktop(error)
          ? desktopFaults(error)
          : [faultOf(error, "")];
    for (const fault of found) if (!faults.has(fault.key)) faults.set(fault.key, fault);
  }
  return [...faults.values()];
}

function isSource(error: ValueError): boolean {
  return error.type === ValueErrorType.Union && /^\/servers\/\d+\/source$/.test(error.path);
}

function isDesktop(error: ValueError): boolean {
  return error.type === ValueErrorType.Union && /^\/mcpServers\/[^/]+$/.test(error.path);
}

/** Faults of a server by what it has: a command, or an address. */
function desktopFaults(error: ValueError): readonly Fault[] {
  const { value } = error;
  const [process, remote] = DesktopServer.anyOf;
  const schema =
    isObject(value) && "command" in value ? process : isObject(value) && "url" in value ? remote : undefined;
  if (schema === undefined) return [faultOf(error, "")];
  return [...Value.Errors(schema, value)].map((inner) => faultOf(inner, error.path));
}

/** Faults of a source by its own kind; a union would only say that it is none of three. */
function sourceFaults(error: ValueError): readonly Fault[] {
  const { value } = error;
  const key = keyOf(error.path);
  if (!isObject(value)) {
    return [{ key, what: unfit(value), fix: "A source is an object with a type." }];
  }
  const kinds: readonly TSchema[] = McpSource.anyOf;
  const names = kinds.map((kind) => String(kind["properties"].type.const));
  const schema = kinds[names.indexOf(String(value["type"]))];
  if (schema !== undefined) {
    return [...Value.Errors(schema, value)].map((inner) => faultOf(inner, error.path));
  }
  const meant = typeof value["type"] === "string" ? nearest(value["type"], names) : undefined;
  const fix = meant === undefined ? `Use one of ${names.join(", ")}.` : `Did you mean ${meant}?`;
  return [{ key: `${key}.type`, what: "is no known type of source", fix }];
}

function faultOf({ type, path, schema, value }: ValueError, base: string): Fault {
  const key = keyOf(base + path);
  if (type === ValueErrorType.ObjectAdditionalProperties) return unknownKey(key, schema);
  const description = schema.description ?? "Change or remove it.";
  if (type === ValueErrorType.ObjectRequiredProperty) {
    return { key, what: "missing", fix: descriptionOf(schema, key) ?? description };
  }
  return { key, what: unfit(value), fix: description };
}

/** TypeBox reports a missing property with the schema of the object around it. */
function descriptionOf(schema: TSchema, key: string): string | undefined {
  const name = key.slice(key.lastIndexOf(".") + 1);
  const property: TSchema | undefined = schema["properties"]?.[name];
  if (name === "source") return "Say how to reach the server.";
  return property?.description;
}

function unknownKey(key: string, schema: TSchema): Fault {
  const known = Object.keys(schema["properties"] ?? {});
  const meant = nearest(key.slice(key.lastIndexOf(".") + 1), known);
  const fix = meant === undefined ? `Known keys here: ${known.join(", ")}.` : `Did you mean ${meant}?`;
  return { key, what: "unknown key", fix };
}

function unfit(value: unknown): string {
  if (value === null) return "null does not fit here";
  if (Array.isArray(value)) return "a list does not fit here";
  if (typeof value === "object") return "an object does not fit here";
  return typeof value === "string" ? "this text does not fit here" : `a ${typeof value} does not fit here`;
}

/** `/servers/0/source/url` → `servers[0].source.url`. */
function keyOf(path: string): string {
  return path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce(
      (key, step) => (/^\d+$/.test(step) ? `${key}[${step}]` : key === "" ? step : `${key}.${step}`),
      "",
    );
}

/** A server, and what the file calls its place. */
interface Placed {
  readonly server: McpServer;
  readonly at: string;
}

/** The servers of both keys in the words of the first. */
function allServers({ servers = [], mcpServers = {} }: McpFile): readonly Placed[] {
  const own = servers.map((server, index) => ({ server, at: `servers[${index}]` }));
  const others = Object.entries(mcpServers).map(([name, desktop]) => ({
    server: ofDesktop(name, desktop),
    at: `mcpServers.${name}`,
  }));
  return [...own, ...others];
}

/** The server of a desktop client's entry. Its name, sanitized, is the prefix of its tools. */
function ofDesktop(name: string, desktop: DesktopServer): McpServer {
  const prefix = name.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, 64);
  const { disabled, enabled, defer_loading, startup_timeout_secs, tool_timeout_secs, timeout } = desktop;
  const toolTimeout = tool_timeout_secs ?? (timeout === undefined ? undefined : secondsOf(timeout));
  return {
    id: name,
    enabled: disabled !== true && enabled !== false,
    tool_prefix: prefix,
    source: sourceOf(desktop),
    ...defined({ defer_loading, startup_timeout_secs, tool_timeout_secs: toolTimeout }),
    ...("url" in desktop ? defined({ oauth: desktop.oauth, bearer_token: desktop.bearer_token }) : {}),
  };
}

/** Claude Code and Gemini CLI write milliseconds, Cline seconds; a wait below a second is not meant. */
function secondsOf(timeout: number): number {
  return Math.min(86_400, Math.ceil(timeout < 1000 ? timeout : timeout / 1000));
}

function sourceOf(desktop: DesktopServer): McpSource {
  if ("command" in desktop) {
    const { command, args, env, cwd } = desktop;
    return {
      type: "Process",
      command,
      ...defined({ args, env, work_dir: cwd }),
    };
  }
  const { url, headers } = desktop;
  const type = url.startsWith("ws") ? "WebSocket" : "Http";
  return { type, url, ...defined({ headers }) };
}

/** Rules beyond the schema. */
function together(file: McpFile, folder: string): readonly Fault[] {
  const all = allServers(file);
  if (file.servers === undefined && file.mcpServers === undefined) {
    return [{ key: "servers", what: "missing", fix: "List the servers, there or in mcpServers." }];
  }
  return all.flatMap(({ server: { id, source }, at }, index) => {
    const twin = all.findIndex(({ server }) => id !== undefined && server.id === id);
    const faults: Fault[] = [];
    if (twin >= 0 && twin < index) {
      faults.push({
        key: `${at}.id`,
        what: `is also the id of ${all[twin]?.at}`,
        fix: "Change one of them.",
      });
    }
    const place = at.startsWith("mcpServers") ? at : `${at}.source`;
    return [...faults, ...sourceFaultsOf(source, place, folder)];
  });
}

function sourceFaultsOf(source: McpSource, at: string, folder: string): readonly Fault[] {
  if (source.type === "Process") {
    const isMissing = typeof source.work_dir === "string" && !isFolder(resolve(folder, source.work_dir));
    const key = at.startsWith("mcpServers") ? "cwd" : "work_dir";
    return isMissing
      ? [{ key: `${at}.${key}`, what: "there is no such folder", fix: "Check the path." }]
      : [];
  }
  const faults: Fault[] = [];
  if (!URL.canParse(source.url)) {
    faults.push({ key: `${at}.url`, what: "this is not an address", fix: "Check its spelling." });
  }
  for (const [name, value] of Object.entries(source.headers ?? {})) {
    if (isHeader(name, value)) continue;
    const what = "this cannot be sent as a header";
    faults.push({ key: `${at}.headers.${name}`, what, fix: "Check its name and its value." });
  }
  return faults;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isHeader(name: string, value: string): boolean {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
}

function complete(file: McpFile, folder: string): McpConfig {
  return {
    servers: allServers(file).flatMap(({ server, at }) =>
      (server.enabled ?? true) ? [completeServer(server, at, folder)] : [],
    ),
    registersTools: file.auto_register_tools ?? true,
    toolTimeoutMs: (file.tool_timeout_secs ?? MCP_TIMEOUT_SECS) * 1000,
    callsMax: file.max_concurrent_calls ?? MCP_CALLS_MAX,
  };
}

function completeServer(server: McpServer, at: string, folder: string): McpServerConfig {
  const id = server.id ?? randomUUID();
  const { source, tool_prefix: prefix, bearer_token: token } = server;
  const { startup_timeout_secs: startup, tool_timeout_secs: timeout } = server;
  const label = [server.name, server.id].find((text) => text !== undefined && text !== "");
  return {
    id,
    label: label ?? at,
    ...(prefix === null ? {} : { prefix: prefix ?? `mcp_${hash32(id)}` }),
    ...(typeof token === "string" ? { bearerToken: token } : {}),
    ...defined({ oauth: server.oauth }),
    ...(server.defer_loading === true ? { isDeferred: true } : {}),
    ...(startup === undefined ? {} : { startupMs: startup * 1000 }),
    ...(timeout === undefined ? {} : { toolTimeoutMs: timeout * 1000 }),
    source:
      source.type === "Process" && typeof source.work_dir === "string"
        ? { ...source, work_dir: resolve(folder, source.work_dir) }
        : source,
  };
}

/** 32 hexadecimal digits that stay the same for an id, so that prompts and sessions outlive a restart. */
function hash32(id: string): string {
  return hash("sha256", id).slice(0, 32);
}
