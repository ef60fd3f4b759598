// /ui/mcp: who may add MCP servers, and which a conversation of the web interface has.

import { expect, onTestFinished, test } from "bun:test";
import type { AgentRequest } from "../../src/core/agent.ts";
import { PageMcpServers } from "../../src/mcp/page-servers.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { testApp } from "../helpers/app.ts";
import { httpDemo } from "../helpers/mcp.ts";
import { answer } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

function mcpApp(isAllowed: boolean) {
  const servers = new PageMcpServers({
    configured: undefined,
    state: ownedState(memoryState()),
    environment: {},
    log: () => undefined,
  });
  onTestFinished(() => servers.close());
  const asked: (AgentRequest["mcp"] | undefined)[] = [];
  const { request } = testApp(undefined, {
    mcp: { servers, isAllowed: () => isAllowed, mayReadLogs: () => isAllowed },
    async *converse({ agent }) {
      asked.push(agent.mcp);
      yield* answer("Well.");
    },
  });
  const send = async (method: string, path: string, body?: unknown, headers = {}) => {
    const response = await request(path, {
      method,
      headers: { "content-type": "application/json", "x-svc-page": "1", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  };
  return { send, asked };
}

test("a server is added, listed without its secrets, and deleted", async () => {
  const { send } = mcpApp(true);
  const { url } = httpDemo({ only: ["echo"] });
  const added = await send("POST", "/ui/mcp", { name: "wiki", url, bearer_token: "hunter2" });
  expect(added.status).toBe(201);
  const list = await send("GET", "/ui/mcp");
  expect(list.body).toMatchObject({ can_add: true, servers: [{ id: added.body.id, name: "wiki" }] });
  expect(JSON.stringify([added, list])).not.toContain("hunter2");
  const token = await send("PUT", `/ui/mcp/${added.body.id}/token`, { bearer_token: "hunter3" });
  expect([token.status, token.body.id]).toEqual([200, added.body.id]);
  expect(JSON.stringify(token)).not.toContain("hunter");
  const refused = await send("PUT", `/ui/mcp/${added.body.id}/token`, { bearer_token: 3 });
  expect([refused.status, refused.body.error.param]).toEqual([400, "bearer_token"]);
  expect((await send("DELETE", `/ui/mcp/${added.body.id}`)).status).toBe(204);
  expect((await send("PUT", "/ui/mcp/x/token", { bearer_token: "t" })).status).toBe(404);
  expect((await send("DELETE", `/ui/mcp/${added.body.id}`)).body.error.code).toBe("mcp_server_not_found");
});

test.each([
  [{ url: "https://a.example/mcp" }, "name"],
  [{ name: "a b", url: "https://a.example/mcp" }, "name"],
  [{ name: "a", url: "file:///etc/passwd" }, "url"],
  [{ name: "a", url: "ws://a.example" }, "url"],
  [{ name: "a", url: "https://a.example", command: "sh" }, "command"],
  [{ name: "a", url: "https://a.example", headers: { "x y": "z" } }, "headers"],
])("%j is refused with the name of the field", async (body, field) => {
  const { status, body: refusal } = await mcpApp(true).send("POST", "/ui/mcp", body);
  expect(status).toBe(400);
  expect(JSON.stringify(refusal.error)).toContain(field);
});

test("a client that may not add servers sees and uses none of them", async () => {
  const { send, asked } = mcpApp(false);
  expect((await send("GET", "/ui/mcp")).body).toEqual({ can_add: false, servers: [], tools: [] });
  const refused = await send("POST", "/ui/mcp", { name: "a", url: "https://a.example" });
  expect([refused.status, refused.body.error.code]).toEqual([400, "capability_disabled"]);
  expect(refused.body.error.message).toContain("--ui-mcp");
  expect((await send("DELETE", "/ui/mcp/x")).status).toBe(400);
  expect((await send("PUT", "/ui/mcp/x/token", { bearer_token: "t" })).status).toBe(400);
  await chat(send, "%5B%5D");
  expect(asked).toEqual([{ off: [], own: false }]);
});

type Send = ReturnType<typeof mcpApp>["send"];
let runs = 0;

function chat(send: Send, off?: string) {
  const body = { messages: [{ role: "user", content: "Hi" }], stream: true };
  const headers = off === undefined ? {} : { "x-svc-mcp-off": off };
  return send("POST", "/v1/chat/completions", body, { "x-svc-run": `run-of-sixteen-${runs++}`, ...headers });
}

test("a conversation does without the servers that it names; other clients have none of the page", async () => {
  const { send, asked } = mcpApp(true);
  await chat(send, encodeURIComponent('["files","wörter"]'));
  await chat(send);
  await send(
    "POST",
    "/v1/chat/completions",
    { messages: [{ role: "user", content: "Hi" }] },
    { "x-svc-mcp-off": "[]" },
  );
  expect(asked).toEqual([{ off: ["files", "wörter"], own: true }, undefined, undefined]);
});

test.each(["files", "%", "%7B%7D", "[1]", '[""]'])("the header %s is refused", async (header) => {
  const { status, body } = await chat(mcpApp(true).send, header);
  expect(status).toBe(400);
  expect(body.error.message).toContain("x-svc-mcp-off");
});

test("logs of servers are for this machine or those with a key", async () => {
  const refused = mcpApp(false);
  expect(await refused.send("GET", "/ui/mcp/none/log")).toMatchObject({ status: 400 });
  const { send } = mcpApp(true);
  expect(await send("GET", "/ui/mcp/none/log")).toMatchObject({ status: 404 });
  const server = { name: "gone", url: "http://127.0.0.1:1/mcp" };
  const { id } = (await send("POST", "/ui/mcp", server)).body;
  const log = await until("svc has tried to connect", async () => {
    const { lines } = (await send("GET", `/ui/mcp/${id}/log`)).body;
    return lines.length > 0 ? lines : undefined;
  });
  expect(log[0]).toStartWith("svc: it could not be reached");
});
