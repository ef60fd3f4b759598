// /v1/mcp: prompts and resources of MCP servers for clients.

import { expect, onTestFinished, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { PageMcpServers } from "../../src/mcp/page-servers.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { testApp } from "../helpers/app.ts";
import { httpDemo, testServers } from "../helpers/mcp.ts";
import { PNG } from "../helpers/mcp-demo.ts";

async function offering() {
  const source = (url: string) => ({ type: "Http", url, headers: {} }) as const;
  const configured = await testServers([
    { label: "files", prefix: "files", source: source(httpDemo({ offers: true }).url) },
    { label: "plain", source: source(httpDemo().url) },
  ]);
  const options = { configured, state: ownedState(memoryState()), environment: {}, log: () => undefined };
  const servers = new PageMcpServers(options);
  onTestFinished(() => servers.close());
  const { request } = testApp(undefined, { mcp: { servers, isAllowed: () => true } });
  const send = async (path: string, body?: unknown, headers = {}) => {
    const response = await request(`/v1/mcp/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  return { send, servers };
}

test("prompts are listed with their arguments and filled in as messages", async () => {
  const { send } = await offering();
  const path = { name: "path", description: "A file.", required: true };
  expect((await send("prompts")).body).toEqual({
    object: "list",
    data: [
      { server: "files", name: "review", title: "Review", description: "Reviews a file.", arguments: [path] },
      { server: "files", name: "broken", arguments: [] },
    ],
  });
  const filled = await send("prompts", { server: "files", name: "review", arguments: { path: "a.ts" } });
  expect(filled.body).toEqual({
    description: "A review.",
    messages: [
      { role: "user", content: "Review a.ts." },
      { role: "user", content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } }] },
      { role: "assistant", content: "Gladly." },
    ],
  });
});

test("resources and templates are listed, and read as content parts", async () => {
  const { send } = await offering();
  expect((await send("resources")).body.data).toEqual([
    { server: "files", uri: "demo://notes", name: "notes", description: "Notes." },
    { server: "files", uri: "demo://day/{date}", name: "day" },
  ]);
  expect((await send("resources", { server: "files", uri: "demo://day/1" })).body.content).toEqual([
    { type: "text", text: "About demo://day/1" },
    { type: "file", file: { filename: "a.bin", file_data: "data:application/x-b;base64,AAEC" } },
  ]);
});

test.each([
  [
    "prompts",
    { server: "files", name: "review" },
    [400, "missing_field", "arguments.path", "needs the argument path"],
  ],
  ["prompts", { server: "files", name: "other" }, [400, "invalid_request", "name", 'no prompt "other"']],
  [
    "prompts",
    { server: "plain", name: "x" },
    [404, "mcp_server_not_found", "server", "Those that do: files"],
  ],
  ["prompts", { server: "files", name: "broken" }, [503, "upstream_failed", undefined, "file is gone"]],
  [
    "prompts",
    { server: "files", name: "review", arguments: { path: 1 } },
    [400, "invalid_request", "arguments.path", "string"],
  ],
  ["resources", { server: "files" }, [400, "missing_field", "uri", "uri"]],
  [
    "resources",
    { server: "files", uri: "demo://none" },
    [503, "upstream_failed", undefined, "no such resource"],
  ],
] as const)("%s: %j is refused with its reason", async (path, body, [status, code, param, words]) => {
  const answer = await (await offering()).send(path, body);
  const { error } = answer.body;
  expect([answer.status, error.code, error.param]).toEqual([status, code, param]);
  expect(error.message).toContain(words);
});

test("servers of the page are offered to the page alone, and one that fails is named", async () => {
  const { send, servers } = await offering();
  const demo = httpDemo({ offers: true });
  const { id } = servers.add({ name: "own", url: demo.url }, SERVER);
  const page = (off: readonly string[]) => ({ "x-svc-mcp-off": encodeURIComponent(JSON.stringify(off)) });
  const of = ({ body }: { body: { data: readonly { server: string }[] } }) =>
    new Set(body.data.map(({ server }) => server));
  expect(of(await send("prompts"))).toEqual(new Set(["files"]));
  expect(of(await send("prompts", undefined, page([])))).toEqual(new Set(["files", "own"]));
  expect(of(await send("prompts", undefined, page([id])))).toEqual(new Set(["files"]));
  demo.status = 500;
  const { body } = await send("prompts", undefined, page([]));
  expect(body.failed).toEqual([{ server: "own", message: expect.stringContaining("500") }]);
});
