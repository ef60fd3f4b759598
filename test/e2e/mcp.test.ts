// MCP through the executable: a model that calls a tool of another server, what becomes of that server's process, and
// the endpoint of our own.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  fileServer,
  launchServer,
  newFolder,
  runBinary,
  type Server,
  spawnBinary,
} from "../helpers/binary.ts";
import { demoProcess } from "../helpers/mcp.ts";
import { oauthDemo } from "../helpers/oauth.ts";
import { postJson } from "../helpers/post.ts";
import { descendantsOf, isAlive, wordsOf } from "../helpers/processes.ts";
import { parseSse } from "../helpers/sse.ts";
import { until } from "../helpers/until.ts";

/** A configuration file with these servers. */
function mcpFile(servers: readonly object[], extra: object = {}): string {
  const file = join(newFolder(), "mcp.json");
  writeFileSync(file, JSON.stringify({ servers, ...extra }));
  return file;
}

const ECHO = { id: "demo", tool_prefix: "demo", source: demoProcess({ DEMO_ONLY: "echo" }) };
const ABSENT = { name: "absent", source: { type: "Process", command: "no-such-program-anywhere" } };

const CONFIG = mcpFile([ABSENT, ECHO]);
const PAYLOADS = join(newFolder(), "payloads.jsonl");
const MCP_FLAGS = ["--mcp-config", CONFIG, "--mcp-port", "0", "--max-tool-rounds", "1"];
const server = fileServer([...MCP_FLAGS, "--log", PAYLOADS]);

/** The address of the MCP endpoint, as the server tells it. */
async function mcpUrl({ stderr, says }: Server): Promise<string> {
  await says("protocol 2025-11-25");
  const [, url] = /MCP +(http:\S+)/.exec(stderr()) ?? [];
  if (url === undefined) throw new Error(`no address of the MCP endpoint in:\n${stderr()}`);
  return url;
}

const BODY = {
  messages: [{ role: "user", content: "Say hello to the tool" }],
  tool_choice: "required",
  max_tokens: 200,
  temperature: 0,
};

async function chat(body: object, path = "/v1/chat/completions"): Promise<Response> {
  const response = await postJson(server().url + path, body);
  expect(response.status).toBe(200);
  return response;
}

test("the model calls the tool, and the answer tells of it", async () => {
  const body = await (await chat(BODY)).json();
  const [call, ...more] = body.agentic_tool_calls;
  expect(more).toEqual([]);
  expect(call).toMatchObject({ round: 1, name: "demo_echo" });
  expect(call.result_content).toBe(JSON.parse(call.arguments).text);
  expect(body.session_id).toBeString();
  expect(body.choices[0].message.content).toBeString();
});

test("streamed, its events come before the words of the answer", async () => {
  const { events } = parseSse(await (await chat({ ...BODY, stream: true })).text());
  const progress = events
    .filter(({ event }) => event === "agentic_tool_call_progress")
    .map(({ data }) => JSON.parse(data));
  expect(progress.map(({ phase, tool_name: name, round }) => [phase, name, round])).toEqual([
    ["calling", "demo_echo", 1],
    ["complete", "demo_echo", 1],
  ]);
  const [calling, complete] = progress;
  expect(calling.data).toEqual({ tool_type: "custom", arguments: calling.data.arguments });
  expect(complete.data).toEqual({ tool_type: "custom", content: JSON.parse(calling.data.arguments).text });
  expect(events.at(-1)?.data).toBe("[DONE]");
});

test("a person signs in to a remote server and out again", async () => {
  const demo = oauthDemo();
  const file = mcpFile([{ id: "tracker", source: { type: "Http", url: demo.url } }]);
  const env = { XDG_CONFIG_HOME: newFolder() };
  const login = spawnBinary(["mcp", "login", "tracker", "--mcp-config", file], { env });
  let told = "";
  for await (const chunk of login.stderr) {
    told += new TextDecoder().decode(chunk);
    const [page] = /http:\S+authorize\S+/.exec(told) ?? [];
    if (page !== undefined) expect((await fetch(page)).status).toBe(200);
  }
  expect([await login.exited, await new Response(login.stdout).text()]).toEqual([
    0,
    "Signed in to tracker.\n",
  ]);
  const signedIn = await launchServer(["--mcp-config", file], { env });
  await until("its tools are there", async () => {
    const { data } = await (await fetch(`${signedIn.url}/v1/models`)).json();
    return data[0].mcp_servers_connected === 1;
  });
  expect(await signedIn.stop()).toBe(0);
  const logout = await runBinary(["mcp", "logout", "tracker", "--mcp-config", file], { env });
  expect([logout.exit, logout.out]).toEqual([0, "Signed out of tracker.\n"]);
  const unknown = await runBinary(["mcp", "login", "other", "--mcp-config", file], { env });
  expect([unknown.exit, unknown.err]).toEqual([
    1,
    "svc: no MCP server other is configured and enabled. Servers: tracker\n",
  ]);
});

test.each([
  ["/v1/messages", { ...BODY, tool_choice: { type: "any" }, stream: true }],
  ["/v1/responses", { input: BODY.messages, tool_choice: "required", temperature: 0, stream: true }],
])("%s calls it too", async (path, body) => {
  const { events } = parseSse(await (await chat(body, path)).text());
  const progress = events
    .filter(({ event }) => event === "agentic_tool_call_progress")
    .map(({ data }) => JSON.parse(data));
  expect(progress.map(({ phase, tool_name: name }) => [phase, name])).toEqual([
    ["calling", "demo_echo"],
    ["complete", "demo_echo"],
  ]);
});

test("a request can do without, and several choices do", async () => {
  for (const [extra, choices] of [
    [{ max_tool_rounds: 0 }, 1],
    [{ tool_choice: "none" }, 1],
    [{ n: 2 }, 2],
  ] as const) {
    const body = await (await chat({ messages: BODY.messages, max_tokens: 5, ...extra })).json();
    expect(body.choices).toHaveLength(choices);
    expect(body).not.toHaveProperty("agentic_tool_calls");
  }
});

test("cards count servers and tools; one that does not start is logged and not counted", async () => {
  const { data } = await (await fetch(`${server().url}/v1/models`)).json();
  expect(data[0]).toMatchObject({ tools_available: true, mcp_tools_count: 1, mcp_servers_connected: 1 });
  await server().says("MCP server absent: its command was not found");
  await server().says("MCP server demo: connected, 1 tools");
});

test("the SDK's client calls chat at our own endpoint, and the model may use the other server's tool", async () => {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(await mcpUrl(server()))));
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("chat");
  const plain = await client.callTool({
    name: "chat",
    arguments: {
      messages: [{ role: "user", content: "What is the capital of France? hf_abcdefghijklmnopqrst" }],
      tool_choice: "none",
      temperature: 0,
    },
  });
  expect(JSON.stringify(plain.content)).toContain("Paris");
  const recorded = (): string => readFileSync(PAYLOADS, "utf8");
  await until("the call is in the log of payloads", () => recorded().includes('"tools/call"'));
  expect(recorded()).toMatch(/"route":"POST \/mcp"|"route":"\/mcp"/);
  expect(recorded()).toContain("the capital of France? [redacted]");
  expect(recorded()).not.toContain("hf_abcdefghijklmnopqrst");
  const acting = await client.callTool({ name: "chat", arguments: BODY });
  expect(acting.content).toEqual([{ type: "text", text: expect.any(String) }]);
  await client.close();
});

test("the main port has no MCP endpoint, and that one nothing else", async () => {
  expect((await fetch(`${server().url}/mcp`, { method: "POST", body: "{}" })).status).toBe(404);
  const other = new URL("/v1/models", await mcpUrl(server()));
  expect((await fetch(other)).status).toBe(404);
});

test("a wrong file, a shared port and a taken port stop the start", async () => {
  const wrong = mcpFile([{ source: { type: "Http", url: 7 } }], { tool_timeout_sec: 3 });
  const bad = await runBinary(["serve", "--mcp-config", wrong, "--port", "0"]);
  expect(bad.exit).toBe(2);
  expect(bad.err).toContain(`${wrong}: servers[0].source.url: a number does not fit here.`);
  expect(bad.err).toContain(`${wrong}: tool_timeout_sec: unknown key. Did you mean tool_timeout_secs?`);
  const same = await runBinary(["serve", "--port", "4711", "--mcp-port", "4711"]);
  expect(same.exit).toBe(2);
  expect(same.err).toContain("--mcp-port: 4711 is also server.port");
  const { port } = new URL(await mcpUrl(server()));
  const taken = await runBinary(["serve", "--host", "127.0.0.1", "--port", "0", "--mcp-port", port]);
  expect(taken.exit).toBe(1);
  expect(taken.err).toContain(`cannot listen on 127.0.0.1:${port}: it is in use by another program`);
  expect(taken.err).toContain("--mcp-port");
});

// These servers want to live: they ignore the end of their input and SIGTERM, and have a child of their own.
const STUBBORN = {
  tool_prefix: "s",
  source: demoProcess({ DEMO_ONLY: "family", DEMO_STUBBORN: "1" }),
};

/** Processes of an MCP server with the child that it has started. */
async function familyOf({ url, pid }: Server): Promise<readonly number[]> {
  await fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(BODY) });
  return until("the server's child runs", () => {
    const family = descendantsOf(pid).filter((one) => /mcp-demo|^sleep 1000$/.test(wordsOf(one).join(" ")));
    return family.length === 2 ? family : undefined;
  });
}

test.each(["SIGTERM", "SIGKILL"] as const)(
  "no process of an MCP server outlives us after %s",
  async (signal) => {
    const dying = await launchServer(["--mcp-config", mcpFile([STUBBORN])]);
    try {
      const family = await familyOf(dying);
      dying.kill(signal);
      await dying.exited;
      await until("all of them are gone", () => family.every((pid) => !isAlive(pid)));
    } finally {
      await dying.stop();
    }
  },
  60_000,
);
