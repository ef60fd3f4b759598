// MCP servers as child processes: requests, results, and how they end.

import { expect, spyOn, test } from "bun:test";
import { ReadBuffer } from "@modelcontextprotocol/client";
import { join } from "node:path";
import { StdioTransport } from "../../src/mcp/stdio.ts";
import { failure } from "../helpers/failure.ts";
import { demoProcess, testServers, textOf } from "../helpers/mcp.ts";
import { PNG } from "../helpers/mcp-demo.ts";
import { isAlive } from "../helpers/processes.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

test("a tool is called and answers", async () => {
  const servers = await testServers([{ prefix: "demo", source: demoProcess() }]);
  expect(servers.connected).toBe(1);
  expect(servers.tools().map(({ name }) => name)).toContain("demo_echo");
  expect(servers.tool("demo_echo")).toMatchObject({
    description: "The tool echo.\nIts second line.",
    parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    strict: true,
  });
  const result = await servers.ask("demo_echo", { text: "Grüße\n{}" });
  expect(result).toEqual({ isError: false, parts: [{ type: "text", text: "Grüße\n{}" }] });
});

test("lines that are not messages are ignored", async () => {
  const servers = await testServers([{ source: demoProcess({ DEMO_NOISE: "1" }) }]);
  expect(textOf(await servers.ask("echo", { text: "still here" }))).toBe("still here");
});

test("a long line is gathered before it is searched", async () => {
  const append = spyOn(ReadBuffer.prototype, "append");
  const message = { jsonrpc: "2.0", method: "notifications/x" };
  const script = `head -c 4000000 /dev/zero | tr '\\0' a; echo; echo '${JSON.stringify(message)}'`;
  const transport = new StdioTransport(
    { type: "Process", command: "sh", args: ["-c", script] },
    {
      environment: { PATH: process.env["PATH"] ?? "" },
      orphans: { add: () => undefined, remove: () => undefined },
    },
  );
  const arrived = Promise.withResolvers<unknown>();
  transport.onmessage = arrived.resolve;
  await transport.start();
  expect(await arrived.promise).toMatchObject(message);
  await transport.close();
  expect(append.mock.calls.length).toBeLessThan(4);
  append.mockRestore();
});

test("all pages of the tool list are read, in order", async () => {
  const servers = await testServers([{ source: demoProcess({ DEMO_EXTRA: "25", DEMO_PAGE: "4" }) }]);
  const names = servers.tools().map(({ name }) => name);
  expect(names).toHaveLength(35);
  expect(names.slice(-2)).toEqual(["extra_23", "extra_24"]);
});

test("tools are listed again after a list_changed notification", async () => {
  const servers = await testServers([{ source: demoProcess() }]);
  const before = servers.tools();
  expect(servers.tools()).toBe(before);
  expect(textOf(await servers.ask("grow"))).toBe("grown");
  await until("the new tool is there", () => servers.tools().some(({ name }) => name === "grown"));
});

test("a tool's error is an error result with its message", async () => {
  const servers = await testServers([{ source: demoProcess() }]);
  expect(await servers.ask("fail")).toEqual({ isError: true, parts: [{ type: "text", text: "it broke" }] });
});

test("images, audio and resources are passed on", async () => {
  const servers = await testServers([{ source: demoProcess() }]);
  const { parts } = await servers.ask("picture");
  expect(parts).toEqual([
    { type: "binary", kind: "image", mimeType: "image/png", data: Buffer.from(PNG, "base64") },
  ]);
  const mixed = await servers.ask("mixed");
  expect(mixed.parts.map((part) => (part.type === "text" ? part.text : [part.kind, part.mimeType]))).toEqual([
    "first",
    ["image", "image/jpeg"],
    ["audio", "audio/wav"],
    "[Resource: demo://link (link)]",
    "of a resource",
    ["resource", "application/x-b"],
  ]);
  expect(mixed.parts.at(-1)).toMatchObject({ name: "b.bin", data: Buffer.from([0, 1, 2]) });
  expect(textOf(await servers.ask("structured"))).toBe('{"answer":42}');
});

test("the model gets the message of a protocol error", async () => {
  const servers = await testServers([{ source: demoProcess({ DEMO_EXTRA: "1" }) }]);
  const failed = await servers.ask("extra_0", { text: "x" });
  expect(failed.isError).toBe(true);
  expect(textOf(failed)).toContain("there is no tool extra_0");
});

test("a call times out, and the server gets a cancellation", async () => {
  const notes = join(tempDir(), "notes");
  const servers = await testServers([{ source: demoProcess({ DEMO_NOTES: notes }) }], { toolTimeoutMs: 50 });
  const failed = await servers.ask("wait");
  expect(failed).toEqual({
    isError: true,
    parts: [{ type: "text", text: "it timed out after 0.05 seconds" }],
  });
  await until("the server hears of it", async () => (await read(notes)).includes("cancelled"));
  expect(servers.connected).toBe(1);
});

test("a disconnected client cancels the call", async () => {
  const notes = join(tempDir(), "notes");
  const servers = await testServers([{ source: demoProcess({ DEMO_NOTES: notes }) }]);
  const leaving = new AbortController();
  const call = servers.tool("wait").call({}, leaving.signal);
  await until("the call has arrived", async () => (await read(notes)).includes("waiting"));
  leaving.abort(new Error("gone"));
  expect(await failure(call)).toContain("gone");
  await until("the server hears of it", async () => (await read(notes)).includes("cancelled"));
});

test("a server that exits during a call fails the call and is restarted", async () => {
  const servers = await testServers([{ source: demoProcess() }]);
  const failed = await servers.ask("die");
  expect(failed).toEqual({ isError: true, parts: [{ type: "text", text: "the connection was lost" }] });
  await until("it is connected again", () => servers.connected === 1 && servers.tools().length > 0);
  expect(textOf(await servers.ask("echo", { text: "back" }))).toBe("back");
  expect(servers.logged).toEqual([
    "MCP server s0: connected, 10 tools",
    "MCP server s0: its process ended with exit code 3; reconnecting",
    "MCP server s0: connected, 10 tools",
  ]);
});

test("a server that does not start is logged once, and the others keep working", async () => {
  const servers = await testServers([
    { label: "broken", source: demoProcess({ DEMO_DEAD: "1" }) },
    { label: "absent", source: { type: "Process", command: "no-such-program-anywhere" } },
    { prefix: "ok", source: demoProcess() },
  ]);
  expect(servers.connected).toBe(1);
  expect(textOf(await servers.ask("ok_echo", { text: "here" }))).toBe("here");
  expect(servers.logged.toSorted()).toEqual([
    "MCP server absent: its command was not found; check the path in the MCP configuration; reconnecting",
    "MCP server broken: its process ended with exit code 4: cannot read its settings; reconnecting",
    "MCP server s2: connected, 10 tools",
  ]);
});

test("a child gets the inherited variables and those of the configuration", async () => {
  const servers = await testServers([{ source: demoProcess({ TOKEN: "its own" }) }]);
  const variable = async (name: string) => textOf(await servers.ask("environment", { text: name }));
  expect(await variable("TOKEN")).toBe("its own");
  expect(await variable("SECRET")).toBe("undefined");
  expect(await variable("PATH")).not.toBe("undefined");
});

test("a server's children are killed with it", async () => {
  const servers = await testServers([
    { prefix: "a", source: demoProcess() },
    { prefix: "b", source: demoProcess({ DEMO_STUBBORN: "1" }) },
  ]);
  const dying = Number(textOf(await servers.ask("a_family")));
  const stubborn = Number(textOf(await servers.ask("b_family")));
  expect(isAlive(dying) && isAlive(stubborn)).toBe(true);
  await servers.ask("a_die");
  await until("the child of the dead server is gone", () => !isAlive(dying));
  await servers.close();
  expect(isAlive(stubborn)).toBe(false);
});

async function read(file: string): Promise<string> {
  const content = Bun.file(file);
  return (await content.exists()) ? content.text() : "";
}
