// MCP servers that callers add: whose they are, which tools a conversation has, what survives.

import { expect, onTestFinished, test } from "bun:test";
import { asCaller } from "../../src/core/caller.ts";
import type { State } from "../../src/core/state.ts";
import { PageMcpServers } from "../../src/mcp/page-servers.ts";
import type { McpServers } from "../../src/mcp/servers.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { httpDemo, testServers, textOf } from "../helpers/mcp.ts";

const ALL = { off: [], own: true };

function pageServers(options: { configured?: McpServers; state?: State } = {}) {
  const { configured, state = memoryState() } = options;
  const servers = new PageMcpServers({ configured, state, environment: {}, log: () => undefined });
  onTestFinished(() => servers.close());
  return servers;
}

const namesOf = (servers: PageMcpServers, selection?: Parameters<PageMcpServers["tools"]>[0]) =>
  servers.tools(selection).map(({ name }) => name);

test("a server is added, its tools are called with its token, and it is removed", async () => {
  const demo = httpDemo({ only: ["echo"] });
  const servers = pageServers();
  const added = servers.add({ name: "wiki", url: demo.url, bearer_token: "t", headers: { "x-key": "k" } });
  expect(added).toMatchObject({ name: "wiki", origin: "page", status: "connecting", tools: [] });
  expect(JSON.stringify(added)).not.toContain("/mcp");
  await servers.tried(ALL);
  expect(servers.list(true)).toMatchObject([
    { status: "connected", host: new URL(demo.url).host, tools: [{ name: "wiki_echo" }] },
  ]);
  expect(servers.list(false)).toEqual([]);
  const [echo] = servers.tools(ALL);
  expect(echo?.host).toBe(new URL(demo.url).host);
  const result = await echo?.call({ text: "hello" }, new AbortController().signal);
  expect(result && textOf(result)).toBe("hello");
  expect(demo.seen.at(-1)?.get("authorization")).toBe("Bearer t");
  expect(demo.seen.at(-1)?.get("x-key")).toBe("k");
  servers.remove(added.id);
  expect(servers.tools(ALL)).toEqual([]);
  expect(() => servers.remove(added.id)).toThrow("no MCP server with this id");
});

test("a conversation has the servers of the configuration, and others only by selection", async () => {
  const configured = await testServers([
    {
      id: "files",
      label: "files",
      prefix: "files",
      source: { type: "Http", url: httpDemo({ only: ["echo"] }).url },
    },
  ]);
  const servers = pageServers({ configured });
  const { id } = servers.add({ name: "wiki", url: httpDemo({ only: ["echo"] }).url });
  await servers.tried(ALL);
  expect(namesOf(servers)).toEqual(["files_echo"]);
  expect(namesOf(servers, ALL)).toEqual(["files_echo", "wiki_echo"]);
  expect(namesOf(servers, { off: ["files"], own: true })).toEqual(["wiki_echo"]);
  expect(namesOf(servers, { off: [id], own: true })).toEqual(["files_echo"]);
  expect(namesOf(servers, { off: [], own: false })).toEqual(["files_echo"]);
  expect(servers.list(true).map(({ name, origin }) => [name, origin])).toEqual([
    ["files", "configuration"],
    ["wiki", "page"],
  ]);
});

test("of two tools with one name that of the configuration is kept", async () => {
  const source = { type: "Http", url: httpDemo({ only: ["echo"] }).url } as const;
  const configured = await testServers([{ id: "c", label: "c", prefix: "wiki", source }]);
  const servers = pageServers({ configured });
  servers.add({ name: "wiki", url: source.url });
  await servers.tried(ALL);
  expect(servers.tools(ALL).map(({ name, server }) => [name, server])).toEqual([["wiki_echo", "c"]]);
});

test("a server belongs to the key that added it, and is there after a restart", async () => {
  const state = ownedState(memoryState(), () => "first");
  const kept: State = {
    ...state,
    records: (name, options) => (records[name] ??= state.records(name, options)) as never,
  };
  const records: Record<string, unknown> = {};
  const { url } = httpDemo({ only: ["echo"] });
  const as = <T>(owner: string, work: () => T): T => asCaller({ client: owner, owner }, work);
  const before = pageServers({ state: kept });
  const { id } = as("first", () => before.add({ name: "wiki", url }));
  const after = pageServers({ state: kept });
  await as("first", () => after.tried(ALL));
  expect(as("first", () => namesOf(after, ALL))).toEqual(["wiki_echo"]);
  await as("second", () => after.tried(ALL));
  expect(as("second", () => namesOf(after, ALL))).toEqual([]);
  expect(as("second", () => after.list(true))).toEqual([]);
  expect(() => as("second", () => after.remove(id))).toThrow("no MCP server with this id");
  as("second", () => after.add({ name: "wiki", url })); // its name is free for another key
});

test("a server that refuses its token says so, and connects with another one", async () => {
  const demo = httpDemo({ only: ["echo"] });
  demo.status = 401;
  const servers = pageServers();
  const { id } = servers.add({ name: "wiki", url: demo.url, headers: { "x-key": "k" } });
  await servers.tried(ALL);
  expect(servers.list(true)).toMatchObject([{ status: "failed", needs_token: true }]);
  demo.status = undefined;
  const { needs_token: needsToken } = servers.setToken(id, { bearer_token: "t" });
  expect(needsToken).toBeUndefined();
  await servers.tried(ALL);
  expect(servers.list(true)).toMatchObject([{ id, status: "connected", tools: [{ name: "wiki_echo" }] }]);
  expect(demo.seen.at(-1)?.get("authorization")).toBe("Bearer t");
  expect(demo.seen.at(-1)?.get("x-key")).toBe("k");
  expect(() => servers.setToken("x", { bearer_token: "t" })).toThrow("no MCP server with this id");
});

test("what is wrong with a server is said", async () => {
  const servers = pageServers();
  servers.add({ name: "away", url: "http://127.0.0.1:1/mcp?key=hunter2" });
  await servers.tried(ALL);
  const [away] = servers.list(true);
  expect(away).toMatchObject({ status: "failed", tools: [] });
  expect(away?.problem).toContain("could not be reached");
  expect(JSON.stringify(away)).not.toContain("hunter2");
  expect(() => servers.add({ name: "away", url: "http://a.example" })).toThrow("is taken");
  expect(() => servers.add({ name: "odd", url: "http://" })).toThrow("url is not an address");
  const none = new PageMcpServers({ configured: undefined, environment: {}, log: () => undefined });
  expect(() => none.add({ name: "a", url: "http://a.example" })).toThrow("--ui-mcp");
  for (let i = 1; i < 16; i++) servers.add({ name: `s${i}`, url: "http://127.0.0.1:1/" });
  expect(() => servers.add({ name: "s16", url: "http://127.0.0.1:1/" })).toThrow("remove one first");
});
