// Servers that break or stretch the protocol, as processes: odd tools, protocol versions, slow starts, progress, last words.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { SERVER } from "../../src/core/caller.ts";
import type { McpServerConfig } from "../../src/core/mcp-config.ts";
import { lastWords } from "../../src/mcp/last-words.ts";
import { mcpToolset } from "../../src/agent/tools/mcp.ts";
import { asking } from "../helpers/agent.ts";
import { failure } from "../helpers/failure.ts";
import { testServers, textOf } from "../helpers/mcp.ts";

const RAW = join(import.meta.dir, "..", "helpers", "mcp-raw.ts");

function raw(mode: string, ...args: readonly string[]): { readonly source: McpServerConfig["source"] } {
  return { source: { type: "Process", command: process.execPath, args: [RAW, mode, ...args] } };
}

test("odd tools cost neither the others nor the server; log and card name them", async () => {
  const servers = await testServers([{ ...raw("odd"), prefix: "r" }]);
  expect(servers.tools().map(({ name }) => name)).toEqual([
    "r_text",
    "r_noschema",
    "r_empty",
    "r_admin_list",
  ]);
  expect(textOf(await servers.ask("r_admin_list"))).toContain("admin.list: ok");
  const [state] = servers.states();
  const named = [
    'tool "noschema"',
    'tool "empty"',
    "a tool whose name is of type number",
    'tool "text" is listed',
  ];
  for (const fault of named) {
    expect(state?.faults.join("\n")).toContain(fault);
    expect(servers.logged.join("\n")).toContain(fault);
  }
  expect(state?.log.join("\n")).toContain("raw server in mode odd");
});

test.each(["modern", "strict", "odd"])(
  "a server of the kind %s is spoken to in its version",
  async (mode) => {
    const servers = await testServers([raw(mode)]);
    expect(textOf(await servers.ask("text"))).toContain("text: ok");
  },
);

test("a server that is silent before the handshake is an old one", async () => {
  const servers = await testServers([{ ...raw("silent"), startupMs: 2000 }]);
  expect(textOf(await servers.ask("text"))).toContain("text: ok");
});

test("an unknown version and a start that takes too long are named", async () => {
  const servers = await testServers([raw("strange"), { ...raw("odd", "5000"), startupMs: 500 }]);
  expect(servers.states().map(({ problem }) => problem)).toEqual([
    "it answers with a protocol version that svc does not know",
    "it timed out after 0.5 seconds; its startup_timeout_secs can allow more",
  ]);
});

test("progress extends a call, and its messages reach the caller", async () => {
  const servers = await testServers([raw("progress")], { toolTimeoutMs: 500 });
  const said: string[] = [];
  const { signal } = new AbortController();
  const result = await servers.tool("text").call({}, signal, (message) => void said.push(message));
  expect(textOf(result)).toContain("text: ok");
  expect(said.slice(0, 2)).toEqual(["step 1", "step 2"]);
  expect(said[2]).toMatch(/^(?:step 3 ?){10,50}…?$/); // a line
});

test("the reason of a crash is in its last words", async () => {
  const servers = await testServers([raw("crash")]);
  expect(servers.states()[0]?.problem).toContain(
    "its process ended with exit code 1: error: API_KEY is required",
  );
  const node =
    "[eval]:1\nthrow new Error('x')\n^\n\nError: KEY is required\n    at [eval]:1:7\n\nNode.js v20.20.2\n";
  expect(lastWords(node)).toBe("Error: KEY is required");
  const remote = "Fatal error: HttpError: no\n    at a (b:1)\n  code: 404,\n  event: undefined\n}\n";
  expect(lastWords(remote)).toBe("Fatal error: HttpError: no code: 404, event: undefined");
  const python =
    'Traceback (most recent call last):\n  File "/x.py", line 1, in <module>\n    main()\nKeyError: 1\n';
  expect(lastWords(python)).toBe("KeyError: 1");
  expect(lastWords("one\ntwo\nthree\nfour\n")).toBe("two three four");
  expect(lastWords("\n}\n")).toBe("");
});

test("instructions and resources reach models: listed, read, and through one tool", async () => {
  const servers = await testServers([{ ...raw("odd"), prefix: "r" }]);
  const [assets] = servers.assets();
  expect(assets).toMatchObject({ label: "r", instructions: "Call text first." });
  const { signal } = new AbortController();
  const list = await assets?.resources?.list(signal);
  expect(list?.parts).toEqual([{ type: "text", text: "raw://a a\nraw://{name} any" }]);
  const read = await assets?.resources?.read("raw://a", signal);
  expect(read).toEqual({ isError: false, parts: [{ type: "text", text: "the content" }] });
  expect(servers.states()[0]?.faults.join("\n")).toContain("a resource whose uri is missing");

  const offer = mcpToolset(
    () => servers.tools(),
    () => servers.assets(),
  )({
    agent: asking().agent,
    model: "m",
    caller: SERVER,
    hasInputs: false,
    contextTokens: undefined,
    modalities: [],
  });
  expect(offer.systemText).toBe("Tools of r: Call text first.");
  const tool = offer.tools.find(({ spec }) => spec.name === "svc_read_resource");
  const context = {
    sessionId: "s",
    client: "",
    isBrief: false,
    ranBefore: false,
    earlier: () => [],
    inputs: [],
    required: [],
    report: () => undefined,
  };
  const outcome = await tool?.run({ server: "r", uri: "raw://a" }, context, signal);
  expect(outcome?.text).toBe("the content");
  const wrong = tool?.run({ server: "x" }, context, signal) ?? Promise.resolve();
  expect(await failure(wrong)).toContain("server must be one of: r");
});
