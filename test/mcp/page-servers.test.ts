// MCP servers that callers add: whose they are, which tools a conversation has, what survives.

import { expect, onTestFinished, test } from "bun:test";
import type { McpSelection } from "../../src/core/agent.ts";
import { type Caller, SERVER } from "../../src/core/caller.ts";
import type { OwnedState } from "../../src/core/state.ts";
import { PageMcpServers } from "../../src/mcp/page-servers.ts";
import type { McpServers } from "../../src/mcp/servers.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { httpDemo, testServers, textOf } from "../helpers/mcp.ts";

const ALL = { off: [], own: true };

function pageServers(options: { configured?: McpServers; state?: OwnedState } = {}) {
  const { configured, state = ownedState(memoryState()) } = options;
  const servers = new PageMcpServers({ configured, state, environment: {}, log: () => undefined });
  onTestFinished(() => servers.close());
  return servers;
}

const namesOf = (servers: PageMcpServers, selection?: McpSelection, caller = SERVER) =>
  servers.tools(selection, caller).map(({ name }) => name);

test("a server is added, its tools are called with its token, and it is removed", async () => {
  const demo = httpDemo({ only: ["echo"] });
  const servers = pageServers();
  const added = servers.add(
    { name: "wiki", url: demo.url, bearer_token: "t", headers: { "x-key": "k" } },
    SERVER,
  );
  expect(added).toMatchObject({ name: "wiki", origin: "page", status: "connecting", tools: [] });
  expect(JSON.stringify(added)).not.toContain("/mcp");
  await servers.tried(ALL, SERVER);
  expect(servers.list(SERVER)).toMatchObject([
    { status: "connected", host: new URL(demo.url).host, tools: [{ name: "wiki_echo" }] },
  ]);
  expect(servers.list(undefined)).toEqual([]);
  const [echo] = servers.tools(ALL, SERVER);
  expect(echo?.host).toBe(new URL(demo.url).host);
  const result = await echo?.call({ text: "hello" }, new AbortController().signal);
  expect(result && textOf(result)).toBe("hello");
  expect(demo.seen.at(-1)?.get("authorization")).toBe("Bearer t");
  expect(demo.seen.at(-1)?.get("x-key")).toBe("k");
  servers.remove(added.id, SERVER);
  expect(servers.tools(ALL, SERVER)).toEqual([]);
  expect(() => servers.remove(added.id, SERVER)).toThrow("no MCP server with this id");
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
  const { id } = servers.add({ name: "wiki", url: httpDemo({ only: ["echo"] }).url }, SERVER);
  await servers.tried(ALL, SERVER);
  expect(namesOf(servers)).toEqual(["files_echo"]);
  expect(namesOf(servers, ALL)).toEqual(["files_echo", "wiki_echo"]);
  expect(namesOf(servers, { off: ["files"], own: true })).toEqual(["wiki_echo"]);
  expect(namesOf(servers, { off: [id], own: true })).toEqual(["files_echo"]);
  expect(namesOf(servers, { off: [], own: false })).toEqual(["files_echo"]);
  expect(servers.list(SERVER).map(({ name, origin }) => [name, origin])).toEqual([
    ["files", "configuration"],
    ["wiki", "page"],
  ]);
});

test("of two tools with one name that of the configuration is kept", async () => {
  const source = { type: "Http", url: httpDemo({ only: ["echo"] }).url } as const;
  const configured = await testServers([{ id: "c", label: "c", prefix: "wiki", source }]);
  const servers = pageServers({ configured });
  servers.add({ name: "wiki", url: source.url }, SERVER);
  await servers.tried(ALL, SERVER);
  expect(servers.tools(ALL, SERVER).map(({ name, server }) => [name, server])).toEqual([["wiki_echo", "c"]]);
});

test("a server belongs to the key that added it, and is there after a restart", async () => {
  const state = ownedState(memoryState(), () => "first");
  const kept: OwnedState = {
    ...state,
    records: (name, options) => (records[name] ??= state.records(name, options)) as never,
  };
  const records: Record<string, unknown> = {};
  const { url } = httpDemo({ only: ["echo"] });
  const by = (owner: string): Caller => ({ client: owner, owner });
  const before = pageServers({ state: kept });
  const { id } = before.add({ name: "wiki", url }, by("first"));
  const after = pageServers({ state: kept });
  await after.tried(ALL, by("first"));
  expect(namesOf(after, ALL, by("first"))).toEqual(["wiki_echo"]);
  await after.tried(ALL, by("second"));
  expect(namesOf(after, ALL, by("second"))).toEqual([]);
  expect(after.list(by("second"))).toEqual([]);
  expect(() => after.remove(id, by("second"))).toThrow("no MCP server with this id");
  after.add({ name: "wiki", url }, by("second")); // its name is free for another key
});

test("a server that refuses its token says so, and connects with another one", async () => {
  const demo = httpDemo({ only: ["echo"] });
  demo.status = 401;
  const servers = pageServers();
  const { id } = servers.add({ name: "wiki", url: demo.url, headers: { "x-key": "k" } }, SERVER);
  await servers.tried(ALL, SERVER);
  expect(servers.list(SERVER)).toMatchObject([{ status: "failed", needs_token: true }]);
  demo.status = undefined;
  const { needs_token: needsToken } = servers.setToken(id, { bearer_token: "t" }, SERVER);
  expect(needsToken).toBeUndefined();
  await servers.tried(ALL, SERVER);
  expect(servers.list(SERVER)).toMatchObject([{ id, status: "connected", tools: [{ name: "wiki_echo" }] }]);
  expect(demo.seen.at(-1)?.get("authorization")).toBe("Bearer t");
  expect(demo.seen.at(-1)?.get("x-key")).toBe("k");
  expect(() => servers.setToken("x", { bearer_token: "t" }, SERVER)).toThrow("no MCP server with this id");
});

test("what is wrong with a server is said", async () => {
  const servers = pageServers();
  servers.add({ name: "away", url: "http://127.0.0.1:1/mcp?key=hunter2" }, SERVER);
  await servers.tried(ALL, SERVER);
  const [away] = servers.list(SERVER);
  expect(away).toMatchObject({ status: "failed", tools: [] });
  expect(away?.problem).toContain("could not be reached");
  expect(JSON.stringify(away)).not.toContain("hunter2");
  expect(() => servers.add({ name: "away", url: "http://a.example" }, SERVER)).toThrow("is taken");
  expect(() => servers.add({ name: "odd", url: "http://" }, SERVER)).toThrow("url is not an address");
  const none = new PageMcpServers({ configured: undefined, environment: {}, log: () => undefined });
  expect(() => none.add({ name: "a", url: "http://a.example" }, SERVER)).toThrow("--ui-mcp");
  for (let i = 1; i < 16; i++) servers.add({ name: `s${i}`, url: "http://127.0.0.1:1/" }, SERVER);
  expect(() => servers.add({ name: "s16", url: "http://127.0.0.1:1/" }, SERVER)).toThrow("remove one first");
});
