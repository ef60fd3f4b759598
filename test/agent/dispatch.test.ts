// Calls that are sent to the operator's dispatch URL.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { DispatchOptions } from "../../src/agent/dispatch.ts";
import { SERVER } from "../../src/core/caller.ts";
import { VERSION } from "../../src/core/version.ts";
import { asking, calling, fakeTool, lastText, saying, scripted, testLoop } from "../helpers/agent.ts";
import { end } from "../helpers/run-events.ts";

let answer: () => Response | Promise<Response>;
let asked: { readonly body: unknown; readonly headers: Headers; readonly method: string }[] = [];

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    asked.push({ body: await request.json(), headers: request.headers, method: request.method });
    return answer();
  },
});
afterAll(() => server.stop(true));
beforeEach(() => {
  asked = [];
  answer = () => new Response("sunny");
});

const DISPATCH: DispatchOptions = { url: `http://127.0.0.1:${server.port}/tools`, timeoutMs: 20_000 };
const WEATHER = { name: "weather", parameters: { type: "object", properties: {} }, strict: false };

/** One call of a client's function; what the model was told of it. */
async function dispatched(args: unknown, dispatch = DISPATCH, name = "weather") {
  const { generate, requests } = scripted(calling([name, args]), saying("ok"));
  const loop = testLoop({ generate, dispatch });
  const events = await loop.answer(asking({}, { prompt: { tools: [WEATHER] } }));
  return { events, told: lastText(requests[1]) };
}

test("the call is posted as JSON, and the client never sees it", async () => {
  const { events, told } = await dispatched({ city: "Zürich" });
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({
    method: "POST",
    body: { name: "weather", arguments: { city: "Zürich" } },
  });
  expect(asked[0]?.headers.get("content-type")).toBe("application/json");
  expect(asked[0]?.headers.get("user-agent")).toStartWith(`svc/${VERSION} (`);
  expect(told).toBe("sunny");
  expect(events.map(({ type }) => type)).not.toContain("tool_call_start");
  expect(events.filter(({ type }) => type.startsWith("tool_"))).toMatchObject([
    { toolName: "weather", data: { tool_type: "custom", arguments: '{"city":"Zürich"}' } },
    { toolName: "weather", data: { tool_type: "custom", content: "sunny" }, resultContent: "sunny" },
  ]);
  expect(events.at(-2)).toEqual(end("stop"));
});

test("arguments that are not JSON are sent as text", async () => {
  await dispatched("{city:");
  expect(asked[0]?.body).toEqual({ name: "weather", arguments: "{city:" });
});

test("calls of unknown names are sent too", async () => {
  await dispatched({}, DISPATCH, "invented");
  expect(asked[0]?.body).toEqual({ name: "invented", arguments: {} });
});

test.each([
  ['{"content":"warm"}', "warm"],
  ['{"content":"","other":1}', ""],
  ['{"content":{"deg":20}}', '{"content":{"deg":20}}'],
  ['{"deg":20}', '{"deg":20}'],
  ["[1]", "[1]"],
  ['"text"', '"text"'],
  ["null", "null"],
  ["plain", "plain"],
  ["", ""],
])("the answer %j is told as %j", async (body, told) => {
  answer = () => new Response(body, { status: 201 });
  expect((await dispatched({})).told).toBe(told);
});

describe("the model gets the failure, and the loop continues", () => {
  test.each([
    ["status 500", () => new Response("stack trace", { status: 500 }), "HTTP status 500"],
    ["status 404", () => new Response("", { status: 404 }), "HTTP status 404"],
    ["a huge answer", () => new Response("x".repeat(9 * 1024 * 1024)), "larger than"],
  ])("%s", async (_name, respond, words) => {
    answer = respond;
    const { told, events } = await dispatched({});
    expect(JSON.parse(told)).toEqual({
      error: expect.stringContaining(words),
      tool: "weather",
      status: "failed",
    });
    expect(events.at(-2)).toEqual(end("stop"));
  });

  test("connection refused", async () => {
    const { told } = await dispatched({}, { ...DISPATCH, url: "http://127.0.0.1:1/" });
    expect(JSON.parse(told)).toMatchObject({
      error: "the tool server could not be reached",
      status: "failed",
    });
  });

  test("no answer in time", async () => {
    const answered = Promise.withResolvers<Response>();
    answer = () => answered.promise;
    const { told } = await dispatched({}, { ...DISPATCH, timeoutMs: 20 });
    answered.resolve(new Response("late"));
    expect(JSON.parse(told)).toMatchObject({ error: expect.stringContaining("within 0.02 seconds") });
  });
});

test("a disconnect aborts the request", async () => {
  const client = new AbortController();
  const answered = Promise.withResolvers<Response>();
  const arrived = Promise.withResolvers<void>();
  answer = () => {
    arrived.resolve();
    return answered.promise;
  };
  const { generate } = scripted(calling(["weather", {}]));
  const loop = testLoop({ generate, dispatch: DISPATCH });
  const all = loop.answer(asking({}, { prompt: { tools: [WEATHER] } }), client.signal);
  await arrived.promise;
  client.abort();
  expect((await all).at(-1)?.type).toBe("tool_calling");
  answered.resolve(new Response("late"));
});

test("server tools are not dispatched", async () => {
  const tool = fakeTool();
  const { generate } = scripted(calling(["svc_fake", {}]), saying("ok"));
  await testLoop({ generate, tools: [tool], dispatch: DISPATCH }).answer(
    asking({}, { prompt: { tools: [WEATHER] } }),
  );
  expect(tool.made).toHaveLength(1);
  expect(asked).toEqual([]);
});

test("an approval names the tool with source external", async () => {
  const { generate } = scripted(calling(["weather", {}]), saying("ok"));
  const loop = testLoop({ generate, dispatch: DISPATCH, permission: "ask" });
  const signal = new AbortController().signal;
  for await (const event of loop.converse(asking({}, { prompt: { tools: [WEATHER] } }), signal, SERVER)) {
    if (event.type !== "approval_required") continue;
    expect(event.tool).toMatchObject({ source: "external", kind: "external", label: "weather" });
    expect(event.tool.reach?.network).toContain("outside the sandbox");
    loop.approvals.answer(event.approvalId, { approved: false }, SERVER);
  }
  expect(asked).toEqual([]);
});

test("a conversation without functions uses no dispatch", async () => {
  const { generate } = scripted(saying("ok"));
  const loop = testLoop({ generate, dispatch: DISPATCH });
  expect(await loop.answer(asking())).toEqual([...saying("ok")]);
});

test("max_tool_rounds 0 gives the calls to the client", async () => {
  const { generate } = scripted(calling(["weather", {}]));
  const loop = testLoop({ generate, dispatch: DISPATCH });
  const events = await loop.answer(asking({ maxToolRounds: 0 }, { prompt: { tools: [WEATHER] } }));
  expect(events).toEqual([...calling(["weather", {}])]);
  expect(asked).toEqual([]);
});

test("a lone surrogate in a response is replaced", async () => {
  answer = () => new Response(String.raw`{"content": "a\ud83db"}`);
  expect((await dispatched({})).told).toBe("a\u{fffd}b");
});
