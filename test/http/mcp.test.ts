// The MCP endpoint of the server itself: JSON-RPC answers and errors, what HTTP refuses, and the SDK's own client.

import { expect, onTestFinished, test } from "bun:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { defined } from "../../src/core/defined.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import type { HttpDeps } from "../../src/http/deps.ts";
import { createMcp } from "../../src/http/mcp/server.ts";
import { modelAliases } from "../../src/http/model-alias.ts";
import { listen } from "../../src/http/server.ts";
import { mcpToolset } from "../../src/agent/tools/mcp.ts";
import { calling, fakeTool, messagesOf, saying, scripted, testLoop } from "../helpers/agent.ts";
import { testDeps } from "../helpers/app.ts";
import { failure } from "../helpers/failure.ts";
import { modelInfo } from "../helpers/model-info.ts";
import { answer, playing } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

type Generate = HttpDeps["generate"];

function testMcp(
  generate: Generate = playing(answer("Hi")).generate,
  deps: Partial<HttpDeps> = {},
  host = "0.0.0.0",
) {
  const logged: string[] = [];
  const handler = createMcp({
    ...testDeps(generate, { log: (line) => void logged.push(line), ...deps }),
    host,
  });
  const request = async (init: RequestInit, path = "/mcp"): Promise<Response> =>
    handler.fetch(new Request(`http://localhost${path}`, init));
  const send = async (body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    request({
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  /** Sends a request and returns what it came to. */
  const call = async (method: string, params?: unknown) => {
    const response = await send({
      jsonrpc: "2.0",
      id: 7,
      method,
      ...defined({ params }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    const { jsonrpc, id, ...rest } = await response.json();
    expect([jsonrpc, id]).toEqual(["2.0", 7]);
    return rest;
  };
  return { handler, logged, request, send, call };
}

const HELLO = [{ role: "user", content: "Hello" }];

test("initialize names server and protocol, whatever version is asked for", async () => {
  const { call } = testMcp();
  for (const protocolVersion of ["2025-11-25", "2024-11-05", "1999-01-01"]) {
    expect(await call("initialize", { protocolVersion, capabilities: {}, clientInfo: {} })).toEqual({
      result: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "svc", version: "0.9.4" },
        instructions: expect.any(String),
      },
    });
  }
});

test("ping", async () => {
  expect(await testMcp().call("ping")).toEqual({ result: {} });
});

test("tools/list has the tool chat", async () => {
  const { result } = await testMcp().call("tools/list");
  expect(result.tools).toHaveLength(1);
  expect(result.tools[0]).toMatchObject({
    name: "chat",
    inputSchema: {
      type: "object",
      properties: {
        messages: {
          type: "array",
          items: {
            type: "object",
            properties: { role: { enum: ["user", "assistant", "system"] }, content: { type: "string" } },
            required: ["role", "content"],
          },
        },
        max_tokens: { type: "integer" },
        temperature: { type: "number", minimum: 0, maximum: 2 },
      },
      required: ["messages"],
    },
  });
});

test("chat answers, and takes whatever a body of chat completions may have", async () => {
  const { generate, requests } = playing(answer("Hi there"));
  const { call } = testMcp(generate);
  const args = { messages: HELLO, max_tokens: 5, temperature: 0, top_k: 3, model: "default" };
  expect(await call("tools/call", { name: "chat", arguments: args })).toEqual({
    result: { content: [{ type: "text", text: "Hi there" }] },
  });
  expect(requests[0]).toMatchObject({
    model: "default",
    maxTokens: 5,
    sampling: { temperature: 0, topK: 3 },
  });
});

test("chat takes the name of an alias, with its defaults and those of its model", async () => {
  const { generate, requests } = playing(answer("Arr"));
  const { call } = testMcp(generate, {
    models: () => [modelInfo("tiny", { presets: () => ({ settings: { top_k: 5, max_tokens: 40 } }) })],
    aliases: modelAliases([
      { name: "pirate", model: "tiny", defaults: { temperature: 0.3, system: "You are a pirate." } },
    ]),
  });
  await call("tools/call", { name: "chat", arguments: { messages: HELLO, model: "pirate", max_tokens: 7 } });
  expect(requests[0]).toMatchObject({
    model: "tiny",
    maxTokens: 7,
    sampling: { temperature: 0.3, topK: 5 },
    prompt: { messages: [{ role: "system" }, { role: "user" }] },
  });
});

test("calls of the caller's own functions are the text where there is no other", async () => {
  const { generate } = scripted(calling(["look", { q: "x" }]));
  const tools = [{ type: "function", function: { name: "look" } }];
  const { result } = await testMcp(generate).call("tools/call", {
    name: "chat",
    arguments: { messages: HELLO, tools },
  });
  const { tool_calls: made } = JSON.parse(result.content[0].text);
  expect(made).toEqual([
    { id: expect.any(String), type: "function", function: { name: "look", arguments: '{"q":"x"}' } },
  ]);
});

test("the server's tools run under its permission; what would be asked is denied", async () => {
  for (const [permission, told] of [
    ["auto", "done"],
    ["ask", "needs an approval"],
    ["deny", "denied by policy"],
  ] as const) {
    const { generate, requests } = scripted(calling(["svc_fake", {}]), saying("Well."));
    const tool = fakeTool();
    const { converse } = testLoop({ generate, permission, tools: [tool] });
    const { result } = await testMcp(generate, { converse }).call("tools/call", {
      name: "chat",
      arguments: { messages: HELLO },
    });
    expect(result.content[0].text).toBe("Well.");
    expect(tool.made).toHaveLength(permission === "auto" ? 1 : 0);
    expect(JSON.stringify(messagesOf(requests[1]).at(-1))).toContain(told);
  }
});

test.each<[string, unknown, number, string]>([
  ["jsonrpc of another version", { jsonrpc: "1.0", id: 7, method: "ping" }, -32600, "JSON-RPC 2.0"],
  ["no method", { jsonrpc: "2.0", id: 7 }, -32600, "JSON-RPC 2.0"],
  [
    "params that are no object",
    { jsonrpc: "2.0", id: 7, method: "ping", params: [1] },
    -32600,
    "JSON-RPC 2.0",
  ],
  [
    "an unknown method",
    { jsonrpc: "2.0", id: 7, method: "resources/list" },
    -32601,
    "Method not found: resources/list",
  ],
  [
    "an unknown tool",
    { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "shell", arguments: {} } },
    -32601,
    "shell",
  ],
  ["a call of no tool", { jsonrpc: "2.0", id: 7, method: "tools/call" }, -32602, "params.name"],
  [
    "arguments that are no object",
    { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "chat", arguments: "hi" } },
    -32603,
    "Tool execution error: arguments",
  ],
  ...(
    [
      [{}, "messages"],
      [{ messages: HELLO, stream: true }, "stream must be false"],
      [{ messages: HELLO, temperature: "hot" }, "temperature"],
      [{ messages: HELLO, agent_permission: "ask" }, "agent_permission"],
    ] as const
  ).map(([args, words]): [string, unknown, number, string] => [
    `bad arguments: ${words}`,
    { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "chat", arguments: args } },
    -32603,
    `Tool execution error: ${words}`,
  ]),
])("refused with status 200: %s", async (_what, body, code, words) => {
  const response = await testMcp().send(body);
  expect(response.status).toBe(200);
  const { error, ...rest } = await response.json();
  expect(rest).toEqual({ jsonrpc: "2.0", id: 7 });
  expect(error).toEqual({ code, message: expect.stringContaining(words) });
});

test.each([
  ["malformed JSON", '{"jsonrpc"', -32700],
  ["nothing", "", -32700],
  ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
  ["an empty batch", "[]", -32600],
  ["a text", '"ping"', -32600],
  ["an id that is none", '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
])("refused with status 200 and without an id: %s", async (_what, body, code) => {
  const response = await testMcp().send(body);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    jsonrpc: "2.0",
    id: null,
    error: { code, message: expect.any(String) },
  });
});

test.each([
  ["notifications/initialized", { jsonrpc: "2.0", method: "notifications/initialized" }],
  [
    "notifications/cancelled",
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
  ],
  ["a request without an id", { jsonrpc: "2.0", method: "ping" }],
  ["an answer to nothing", { jsonrpc: "2.0", id: 1, result: {} }],
])("taken without an answer: %s", async (_what, body) => {
  const response = await testMcp().send(body);
  expect(response.status).toBe(202);
  expect(await response.text()).toBe("");
});

test.each(["2025-11-25", "2026-07-28"])(
  "with version %s a failed call is a result to read",
  async (version) => {
    const { send } = testMcp();
    const body = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "chat", arguments: {} } };
    const { result } = await (await send(body, { "mcp-protocol-version": version })).json();
    expect(result).toMatchObject({ isError: true, content: [{ type: "text" }] });
    expect(result.content[0].text).toStartWith("Tool execution error: messages");
  },
);

test("an unknown version in the header is refused with status 400 and the known ones", async () => {
  const body = { jsonrpc: "2.0", id: 7, method: "tools/list" };
  const response = await testMcp().send(body, { "mcp-protocol-version": "1999-01-01" });
  expect(response.status).toBe(400);
  const { error } = await response.json();
  expect(error).toMatchObject({ code: -32022, data: { requested: "1999-01-01" } });
  expect(error.data.supported).toContain("2026-07-28");
});

test("clients of 2026-07-28 need no handshake", async () => {
  const { send } = testMcp();
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const asked = async (method: string) =>
    (await send({ jsonrpc: "2.0", id: 1, method, params: { _meta } })).json();
  const { result } = await asked("server/discover");
  expect(result).toMatchObject({ resultType: "complete", capabilities: { tools: {} }, ttlMs: 0 });
  expect(result.supportedVersions[0]).toBe("2026-07-28");
  expect((await asked("tools/list")).result).toMatchObject({
    resultType: "complete",
    tools: [{ name: "chat" }],
  });
});

test("what fails is told without detail where it is a bug, and by its message otherwise", async () => {
  const broken: HttpDeps["converse"] = () => {
    throw new Error("secret detail");
  };
  const { call, logged } = testMcp(undefined, { converse: broken });
  const { error } = await call("tools/call", { name: "chat", arguments: { messages: HELLO } });
  expect(error.code).toBe(-32603);
  expect(error.message).toStartWith("Tool execution error: ");
  expect(error.message).not.toContain("secret");
  expect(logged.join()).toContain("secret detail");
  const stopping = testMcp(undefined, { draining: () => true });
  const refused = await stopping.call("tools/call", { name: "chat", arguments: { messages: HELLO } });
  expect(refused.error.message).toContain("shutting down");
});

test("other methods, paths and content types", async () => {
  const { request, send } = testMcp();
  for (const method of ["GET", "DELETE", "PUT"]) {
    const response = await request({ method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  }
  expect((await request({ method: "POST", body: "{}" }, "/v1/chat/completions")).status).toBe(404);
  expect((await send("ping", { "content-type": "text/plain" })).status).toBe(415);
});

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

test.each([
  ["0.0.0.0", "http://localhost:6274", true],
  ["0.0.0.0", "http://127.0.0.1", true],
  ["0.0.0.0", "https://[::1]:8080", true],
  ["box.lan", "http://box.lan:3000", true],
  ["::1", "http://[::1]", true],
  ["0.0.0.0", "http://0.0.0.0:1235", false],
  ["0.0.0.0", "https://evil.example", false],
  ["box.lan", "http://localhost.evil.example", false],
  ["0.0.0.0", "null", false],
])("on %s a page of %s is served: %p", async (host, origin, isServed) => {
  const { send, request } = testMcp(undefined, {}, host);
  const response = await send(PING, { origin });
  const preflight = await request({ method: "OPTIONS", headers: { origin } });
  if (isServed) {
    expect(await response.json()).toMatchObject({ result: {} });
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
    return;
  }
  for (const refused of [response, preflight]) {
    expect(refused.status).toBe(403);
    expect(refused.headers.has("access-control-allow-origin")).toBe(false);
  }
});

test("where keys are demanded, this port demands them too", async () => {
  const { send, request } = testMcp(undefined, { apiKeys: new ApiKeys(["k1"]) });
  const refused = await send(PING, { authorization: "Bearer wrong" });
  expect(refused.status).toBe(401);
  expect((await refused.json()).error.code).toBe("invalid_api_key");
  expect((await send(PING)).status).toBe(401);
  expect((await request({ method: "GET" })).status).toBe(401);
  expect(await (await send(PING, { authorization: "Bearer k1" })).json()).toMatchObject({ result: {} });
  expect((await request({ method: "OPTIONS", headers: { origin: "http://localhost" } })).status).toBe(204);
});

test("requests are told to the access log, with their path", async () => {
  const seen: string[] = [];
  const { send, request } = testMcp(undefined, {
    accessLog: ({ method, route, status }) => void seen.push(`${method} ${route} ${status}`),
  });
  await (await send(PING)).text();
  await (await request({ method: "GET" }, "/elsewhere")).text();
  await until("both are told", () => seen.length === 2);
  expect(seen).toEqual(["POST /mcp 200", "GET undefined 404"]);
});

test("the SDK's own client connects, lists and calls", async () => {
  const { handler } = testMcp();
  const server = listen(handler, { hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => server.stop(true));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${server.port}/mcp`)));
  expect(client.getServerVersion()).toEqual({ name: "svc", version: "0.9.4" });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["chat"]);
  const result = await client.callTool({ name: "chat", arguments: { messages: HELLO } });
  expect(result.content).toEqual([{ type: "text", text: "Hi" }]);
  expect(await failure(client.callTool({ name: "nothing", arguments: {} }))).toContain("nothing");
  await client.close();
});

test("a client that disconnects ends the run", async () => {
  const ended = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const converse: HttpDeps["converse"] = async function* (_conversation, signal) {
    yield { type: "accepted", promptTokens: 1 };
    signal.addEventListener("abort", () => ended.resolve());
    started.resolve();
    await ended.promise;
  };
  const { handler } = testMcp(undefined, { converse });
  const server = listen(handler, { hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => server.stop(true));
  const leaving = new AbortController();
  const call = fetch(`http://127.0.0.1:${server.port}/mcp`, {
    method: "POST",
    body: JSON.stringify({
      ...PING,
      method: "tools/call",
      params: { name: "chat", arguments: { messages: HELLO } },
    }),
    signal: leaving.signal,
  });
  await started.promise;
  leaving.abort();
  expect(await failure(call)).not.toBe("");
  await ended.promise;
});

test("tools of other MCP servers are there for chat too", async () => {
  const { generate, requests } = scripted(calling(["web_look", { q: "x" }]), saying("Found."));
  const look = {
    server: "web",
    name: "web_look",
    description: "",
    parameters: { type: "object", properties: {} },
    strict: true,
    call: async () => ({ isError: false, parts: [{ type: "text", text: "it" }] as const }),
  };
  const { converse } = testLoop({ generate, toolsets: [mcpToolset(() => [look])] });
  const { result } = await testMcp(generate, { converse }).call("tools/call", {
    name: "chat",
    arguments: { messages: HELLO },
  });
  expect(result.content[0].text).toBe("Found.");
  expect(requests).toHaveLength(2);
});
