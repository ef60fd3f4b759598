// Tools of MCP servers in the agent loop: their descriptions, calls and results.

import { expect, test } from "bun:test";
import { mcpToolset } from "../../src/agent/tools/mcp.ts";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { defined } from "../../src/core/defined.ts";
import type { McpPart, McpResult, McpTool } from "../../src/mcp/types.ts";
import { asking, calling, messagesOf, saying, scripted, testLoop } from "../helpers/agent.ts";
import { PNG } from "../helpers/mcp-demo.ts";

const PARAMETERS = { type: "object", properties: { q: { type: "string" } } };

interface FakeMcpTool extends McpTool {
  readonly made: unknown[];
}

function fakeMcpTool(
  answer: () => McpResult = () => text("done"),
  description = "Looks it up.\nAnd more.",
): FakeMcpTool {
  const made: unknown[] = [];
  return {
    made,
    server: "web",
    name: "web_look",
    description,
    parameters: PARAMETERS,
    strict: false,
    call: async (args, signal) => {
      signal.throwIfAborted();
      made.push(args);
      return answer();
    },
  };
}

function text(value: string, isError = false): McpResult {
  return { isError, parts: [{ type: "text", text: value }] };
}

/** A conversation in which the model calls the tool once with these arguments and then answers. */
async function callOnce(tool: McpTool, args: unknown = { q: "x" }, contextTokens = 32_768) {
  const script = scripted(calling(["web_look", args]), saying("Well."));
  const loop = testLoop({
    generate: script.generate,
    toolsets: [mcpToolset(() => [tool])],
    contextTokens: async () => contextTokens,
  });
  const events = await loop.answer(asking());
  const told = messagesOf(script.requests[1]).at(-1);
  const content = told?.content.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
  const prompt = script.requests[0]?.prompt;
  return { events, told: content, specs: prompt?.type === "chat" ? prompt.tools : [], loop };
}

function completeOf(events: readonly AnswerEvent[]) {
  const found = events.find((event) => event.type === "tool_complete");
  if (found === undefined) throw new Error("no call is complete");
  return found;
}

test("the model gets the tool, the call is executed, and events have tool_type custom", async () => {
  const tool = fakeMcpTool();
  const { events, told, specs } = await callOnce(tool);
  const { description } = tool;
  expect(specs).toEqual([{ name: "web_look", description, parameters: PARAMETERS, strict: false }]);
  expect(tool.made).toEqual([{ q: "x" }]);
  expect(told).toBe("done");
  const at = { round: 1, toolName: "web_look", arguments: '{"q":"x"}' };
  expect(events).toContainEqual(
    expect.objectContaining({
      type: "tool_calling",
      ...at,
      data: { tool_type: "custom", arguments: '{"q":"x"}' },
    }),
  );
  expect(completeOf(events)).toMatchObject({
    ...at,
    data: { tool_type: "custom", content: "done" },
    images: [],
  });
});

test("an approval names MCP as the source of the action", async () => {
  const script = scripted(calling(["web_look", { q: "x" }]), saying("Well."));
  const tool = fakeMcpTool();
  const loop = testLoop({
    generate: script.generate,
    permission: "ask",
    toolsets: [mcpToolset(() => [tool])],
  });
  for await (const event of loop.converse(asking(), new AbortController().signal, SERVER)) {
    if (event.type !== "approval_required") continue;
    expect(event.tool).toMatchObject({ source: "mcp", kind: "custom", label: "web_look" });
    expect(event.tool.reach?.files).toContain("outside the sandbox");
    expect(event.arguments).toEqual({ q: "x" });
    loop.approvals.answer(event.approvalId, { approved: false, message: "not now" }, SERVER);
  }
  expect(tool.made).toEqual([]);
});

test("an approval of reading resources names all servers that a call can reach", () => {
  const resources = { entries: async () => [], list: async () => text(""), read: async () => text("") };
  const reachOf = (...hosts: readonly (string | undefined)[]): string | undefined => {
    const assets = hosts.map((host, n) => ({
      server: `${n}`,
      label: `s${n}`,
      resources,
      ...defined({ host }),
    }));
    const request = {
      model: "m",
      caller: SERVER,
      hasInputs: false,
      contextTokens: undefined,
      modalities: [],
    };
    const { tools } = mcpToolset(
      () => [],
      () => assets,
    )({ ...request, agent: asking().agent });
    return tools[0]?.action.reach.network;
  };
  expect(reachOf("a.example", "b.example")).toContain("sent to a.example or b.example,");
  expect(reachOf("a.example", undefined)).toContain("outside the sandbox");
});

test.each<[string, () => McpResult, string]>([
  ["reports an error", () => text("no such page", true), "no such page"],
  ["says so without a word", () => ({ isError: true, parts: [] }), "the tool failed without giving a reason"],
])("a tool that fails (%s) is told to the model, and the loop goes on", async (_what, answer, reason) => {
  const { told, events } = await callOnce(fakeMcpTool(answer));
  expect(JSON.parse(told)).toEqual({ error: reason, tool: "web_look", status: "failed" });
  expect(events.at(-1)?.type).toBe("finish");
});

test.each([
  ["not JSON", "{q", "the arguments are not valid JSON"],
  ["not an object", [1], "the arguments must be a JSON object"],
])("arguments that are %s are not sent", async (_what, args, reason) => {
  const tool = fakeMcpTool();
  const { told } = await callOnce(tool, args);
  expect(JSON.parse(told)).toMatchObject({ error: reason });
  expect(tool.made).toEqual([]);
});

test("PNG images are in the answer, other binary content becomes files", async () => {
  const png = new Uint8Array(Buffer.from(PNG, "base64"));
  const parts: readonly McpPart[] = [
    { type: "text", text: "see" },
    { type: "binary", kind: "image", mimeType: "image/png", data: png },
    { type: "binary", kind: "image", mimeType: "image/jpeg", data: Uint8Array.of(1, 2) },
    { type: "binary", kind: "audio", mimeType: "audio/x-wav", data: Uint8Array.of(3) },
    {
      type: "binary",
      kind: "resource",
      mimeType: "application/octet-stream",
      data: Uint8Array.of(0xff),
      name: "a.dat",
    },
    { type: "binary", kind: "resource", mimeType: "application/octet-stream", data: Uint8Array.of(0xfe) },
  ];
  const { events, told, loop } = await callOnce(fakeMcpTool(() => ({ isError: false, parts })));
  expect(completeOf(events).images).toEqual([PNG]);
  const made = events.flatMap((event) => (event.type === "file_produced" ? [event.file] : []));
  expect(made.map(({ name, format, mime_type: mime, bytes }) => [name, format, mime, bytes])).toEqual([
    ["web_look-3.jpeg", "jpeg", "image/jpeg", 2],
    ["web_look-4.wav", "wav", "audio/x-wav", 1],
    ["a.dat", "dat", undefined, 1],
    ["web_look-6.bin", "bin", undefined, 1],
  ]);
  expect(
    await loop
      .files(SERVER)
      .body(made[0]?.id ?? "")
      ?.bytes(),
  ).toEqual(Uint8Array.of(1, 2));
  expect(told).toStartWith(
    "see\n[Image: image/png]\n[Image: image/jpeg]\n[Audio: audio/x-wav]\n[Resource: a.dat]",
  );
  expect(told).toContain("web_look-3.jpeg");
});

test("a model with a small context gets a short description, and the beginning and end of a long text", async () => {
  const long = fakeMcpTool(() => text("x".repeat(50_000)), `${"word ".repeat(100)}\nsecond line`);
  const { specs, told } = await callOnce(long, {}, 4096);
  expect(specs[0]?.description?.length).toBe(121);
  expect(specs[0]?.description).not.toContain("second");
  expect(told).toMatch(/^x{2024}\n\[… \d+ bytes left out …\]\nx{2024}$/);
  expect(told.length).toBeLessThan(4200);
});

test("each conversation gets the current tools", async () => {
  const tools: McpTool[] = [];
  const script = scripted(saying("One."), saying("Two."));
  const loop = testLoop({ generate: script.generate, toolsets: [mcpToolset(() => tools)] });
  await loop.answer(asking());
  tools.push(fakeMcpTool());
  await loop.answer(asking());
  const counts = script.requests.map(({ prompt }) => (prompt.type === "chat" ? prompt.tools.length : -1));
  expect(counts).toEqual([0, 1]);
});
