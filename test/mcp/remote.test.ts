// MCP servers over HTTP and WebSocket: sessions, headers, lost connections.

import { expect, test } from "bun:test";
import { failure } from "../helpers/failure.ts";
import { httpDemo, oldHttpDemo, socketDemo, testServers, textOf } from "../helpers/mcp.ts";
import { until } from "../helpers/until.ts";

const TOKEN = "hunter2";

test("HTTP: session, protocol version, token and headers go with every request", async () => {
  const demo = httpDemo();
  const source = { type: "Http", url: demo.url, headers: { "x-key": "k" } } as const;
  const servers = await testServers([{ source, bearerToken: TOKEN }]);
  expect(textOf(await servers.ask("echo", { text: "over HTTP" }))).toBe("over HTTP");
  const [session] = demo.sessions.keys();
  expect(session).toBeDefined();
  for (const headers of demo.seen) {
    expect(headers.get("authorization")).toBe(`Bearer ${TOKEN}`);
    expect(headers.get("x-key")).toBe("k");
  }
  const [, , ...later] = demo.seen; // after the question for the server's versions and the handshake
  for (const headers of later) {
    expect(headers.get("mcp-session-id")).toBe(session ?? "");
    expect(headers.get("mcp-protocol-version")).toBe("2025-11-25");
  }
  await servers.close();
  expect(demo.sessions.size).toBe(0);
});

test("HTTP: tools are listed again after a list_changed notification", async () => {
  const servers = await testServers([{ source: { type: "Http", url: httpDemo().url } }]);
  await until("the server's own stream is open", async () => {
    await servers.ask("grow");
    return servers.tools().some(({ name }) => name === "grown");
  });
});

test("HTTP: a call is retried in a new session if the server lost the old one", async () => {
  const demo = httpDemo();
  const servers = await testServers([{ source: { type: "Http", url: demo.url } }]);
  const [old] = demo.sessions.keys();
  demo.sessions.clear();
  const both = await Promise.all([servers.ask("echo", { text: "a" }), servers.ask("echo", { text: "b" })]);
  expect(both.map(textOf)).toEqual(["a", "b"]);
  expect(demo.sessions.size).toBe(1);
  expect(demo.sessions.has(old ?? "")).toBe(false);
});

test("HTTP: a disconnected client cancels the call", async () => {
  const notes: string[] = [];
  const demo = httpDemo({ note: (what) => void notes.push(what) });
  const servers = await testServers([{ source: { type: "Http", url: demo.url } }]);
  const leaving = new AbortController();
  const call = servers.tool("wait").call({}, leaving.signal);
  await until("the call has arrived", () => notes.includes("waiting"));
  leaving.abort(new Error("gone"));
  expect(await failure(call)).toContain("gone");
  await until("the server hears of it", () => notes.includes("cancelled"));
});

test("HTTP: the server's own timeout applies if it is shorter", async () => {
  const source = { type: "Http", url: httpDemo().url, timeout_secs: 1 } as const;
  const servers = await testServers([{ source }]);
  expect(textOf(await servers.ask("wait"))).toBe("it timed out after 1 seconds");
});

test("HTTP: a rejected token is logged without the token, and other servers keep working", async () => {
  const closed = httpDemo();
  closed.status = 401;
  const servers = await testServers([
    { label: "closed", source: { type: "Http", url: `${closed.url}?key=${TOKEN}` }, bearerToken: TOKEN },
    { label: "nowhere", source: { type: "Http", url: "http://127.0.0.1:1/mcp" } },
    { prefix: "ok", source: { type: "Http", url: httpDemo().url } },
  ]);
  expect(servers.connected).toBe(1);
  expect(textOf(await servers.ask("ok_echo", { text: "here" }))).toBe("here");
  expect(servers.logged).toContain(
    "MCP server closed: it needs a valid token (HTTP status 401); reconnecting",
  );
  expect(servers.logged.find((line) => line.includes("nowhere"))).toContain("it could not be reached");
  expect(servers.logged.join("\n")).not.toContain(TOKEN);
});

test("HTTP: a call detects a lost server, which is reconnected when it is back", async () => {
  const demo = httpDemo();
  const servers = await testServers([{ source: { type: "Http", url: demo.url } }]);
  const port = Number(new URL(demo.url).port);
  await demo.stop();
  expect(await servers.ask("echo", { text: "x" })).toMatchObject({ isError: true });
  await until("it counts as lost", () => servers.connected === 0);
  expect(servers.tools()).toEqual([]);
  httpDemo({ port });
  await until("it is connected again", () => servers.connected === 1);
  expect(textOf(await servers.ask("echo", { text: "back" }))).toBe("back");
});

test("HTTP: a server older than 2025-03-26 is used over SSE", async () => {
  const servers = await testServers([{ source: { type: "Http", url: oldHttpDemo() } }]);
  expect(textOf(await servers.ask("echo", { text: "old" }))).toBe("old");
});

test("WebSocket: calls, headers, and a lost connection", async () => {
  const demo = socketDemo();
  const source = { type: "WebSocket", url: demo.url, headers: { "x-key": "k" } } as const;
  const servers = await testServers([{ source, bearerToken: TOKEN }]);
  expect(textOf(await servers.ask("echo", { text: "framed" }))).toBe("framed");
  expect(demo.seen[0]?.get("authorization")).toBe(`Bearer ${TOKEN}`);
  expect(demo.seen[0]?.get("x-key")).toBe("k");
  expect(demo.seen[0]?.get("sec-websocket-protocol")).toBe("mcp");
  const failed = servers.ask("wait");
  demo.cut();
  expect(textOf(await failed)).toBe("the connection was lost");
  await until("it is connected again", () => servers.connected === 1);
  expect(textOf(await servers.ask("echo", { text: "again" }))).toBe("again");
});

test("WebSocket: an unreachable server is logged", async () => {
  const servers = await testServers([{ source: { type: "WebSocket", url: "ws://127.0.0.1:1/" } }]);
  expect(servers.connected).toBe(0);
  expect(servers.logged).toEqual(["MCP server s0: it could not be reached; reconnecting"]);
});

test.each<[number, string, string]>([
  [
    500,
    '{"jsonrpc":"2.0","error":{"code":-1,"message":"Quota used up"},"id":null}',
    "status 500: Quota used up",
  ],
  [422, '{"error":"invalid_scope","error_description":"no"}', "HTTP status 422: invalid_scope"],
  [418, "see https://secret.example/x?token=1", "HTTP status 418: see [address]"],
  [502, "<html>Bad Gateway</html>", "it responded with HTTP status 502"],
])("HTTP: of a failure with status %i the server's words are told", async (status, body, words) => {
  const guard = async (request: Request) => {
    const isCall = request.method === "POST" && (await request.clone().text()).includes("tools/call");
    return isCall ? new Response(body, { status }) : undefined;
  };
  const servers = await testServers([{ source: { type: "Http", url: httpDemo({ guard }).url } }]);
  expect(textOf(await servers.ask("echo", { text: "x" }))).toEndWith(words);
});

test("HTTP: a session that is lost with status 400 is opened again", async () => {
  let lost = 1;
  const guard = async (request: Request) => {
    const isCall = request.method === "POST" && (await request.clone().text()).includes("tools/call");
    if (!isCall || lost-- <= 0) return undefined;
    return Response.json({ error: { message: "Session not found" } }, { status: 400 });
  };
  const servers = await testServers([{ source: { type: "Http", url: httpDemo({ guard }).url } }]);
  expect(textOf(await servers.ask("echo", { text: "again" }))).toBe("again");
});
