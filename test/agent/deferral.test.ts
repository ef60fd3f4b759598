// Tools on demand: what prompts leave out, what searches find, and how definitions enter conversations.

import { describe, expect, test } from "bun:test";
import { type Deferral, deferralOf, markedSpecs, withDefinitions } from "../../src/agent/deferral.ts";
import { searchTool } from "../../src/agent/tools/tool-search.ts";
import type { Message, ToolSpec } from "../../src/core/message.ts";
import { messageText } from "../../src/core/message.ts";
import type { CallContext } from "../../src/agent/tool.ts";
import {
  asking,
  calling,
  fakeTool,
  lastText,
  messagesOf,
  saying,
  scripted,
  testLoop,
} from "../helpers/agent.ts";
import { CATALOG_TASKS, catalogTools } from "../../bench/mcp-catalog.ts";

function spec(name: string, description = "", more: Partial<ToolSpec> = {}): ToolSpec {
  const properties = { place: { type: "string" } };
  return { name, description, parameters: { type: "object", properties }, strict: false, ...more };
}

const TOOLS = [
  spec("github_create_issue", "Opens an issue in a repository"),
  spec("getWeather", "Forecast of rain and sun"),
  spec("slack_send", "Sends a message to a channel"),
];
const AT = {} as unknown as CallContext; // the search reads nothing of it

async function found(form: "words" | "regex", text: string): Promise<readonly string[]> {
  const tool = searchTool({ name: "tool_search", form, tools: TOOLS });
  const args = form === "words" ? { query: text } : { pattern: text };
  const { data } = await tool.run(args, AT, new AbortController().signal);
  return data.tool_type === "custom" ? (data.tools ?? []).map(({ name }) => name) : [];
}

describe("a search", () => {
  test.each([
    ["open an issue", "github_create_issue"],
    ["weather", "getWeather"],
    ["rain", "getWeather"],
    ["slack_send", "slack_send"],
    ["message channel", "slack_send"],
  ])("by words: %s", async (words, name) => expect((await found("words", words))[0]).toBe(name));

  test("by a regular expression, which cannot hang", async () => {
    expect(await found("regex", "(?i)WEATHER|slack.*")).toEqual(["getWeather", "slack_send"]);
    expect(await found("regex", "^github_")).toEqual(["github_create_issue"]);
    expect(await found("regex", "(a+)+$|(([a-z ])+.)+[A-Z]([a-z])+$")).toEqual([]);
    const failure = await found("regex", "(").catch((error: unknown) => error);
    expect(String(failure)).toContain("pattern is no regular expression");
  });

  test("that finds nothing says what there is", async () => {
    const tool = searchTool({ name: "tool_search", form: "words", tools: TOOLS });
    const { text } = await tool.run({ query: "zebra" }, AT, new AbortController().signal);
    expect(text).toContain("getWeather");
  });
});

const OFFERED = {
  own: [],
  choice: { type: "auto" },
  messages: [],
  search: undefined,
  contextTokens: undefined,
  tokensMax: undefined,
} as const;
const names = (deferral: Deferral | undefined) => [...(deferral?.hidden.keys() ?? [])];

describe("left out are", () => {
  const deferred = TOOLS.map((tool) => ({ ...tool, deferred: true as const }));

  test("tools that say so, unless the choice names them", () => {
    const client = [...deferred, spec("read")];
    const all = deferralOf({ ...OFFERED, client });
    expect(names(all)).toEqual(TOOLS.map(({ name }) => name));
    expect(all?.search?.spec.name).toBe("tool_search");
    const choice = { type: "named", names: ["slack_send"], required: true } as const;
    expect(names(deferralOf({ ...OFFERED, client, choice }))).not.toContain("slack_send");
    expect(deferralOf({ ...OFFERED, client: TOOLS })).toBeUndefined();
  });

  test("tools above the bound: a number of tokens, or a share of the context", () => {
    const many = Array.from({ length: 100 }, (_, at) => spec(`tool_${at}`, "x".repeat(300)));
    const by = (limits: { contextTokens?: number; tokensMax?: number }) =>
      names(deferralOf({ ...OFFERED, client: many, ...limits }));
    expect(by({ contextTokens: 131_072 })).toEqual([]);
    expect(by({ contextTokens: 8192 }).length).toBeWithin(70, 90);
    expect(by({ contextTokens: 131_072, tokensMax: 500 })).toHaveLength(96);
    expect(by({ tokensMax: 0 })).toHaveLength(100);
    expect(by({ contextTokens: 8192 })).not.toContain("tool_0");
    expect(by({ contextTokens: 2048 })).not.toContain("tool_7");
    expect(by({ contextTokens: 2048 })).toContain("tool_8");
    expect(by({ contextTokens: 64 })).toContain("tool_2");
  });

  test("no search of the client's, wherever it stands; the server's has another name than all tools", () => {
    const many = Array.from({ length: 20 }, (_, at) => spec(`tool_${at}`, "x".repeat(300)));
    const client = [...many, spec("tool_search")];
    expect(deferralOf({ ...OFFERED, client, contextTokens: 64 })).toBeUndefined();
    const asked = [...many.map((tool) => ({ ...tool, deferred: true as const })), spec("tool_search")];
    const server = { name: "find", form: "words" } as const;
    expect(deferralOf({ ...OFFERED, client: asked, search: server })?.search?.spec.name).toBe("find");
    expect(deferralOf({ ...OFFERED, client: asked })?.search).toBeUndefined();
    const taken = asked.map((tool) => ({ ...tool, deferred: true as const }));
    expect(deferralOf({ ...OFFERED, client: taken })?.search?.spec.name).toBe("svc_tool_search");
  });

  test("none of the server's own tools, and none for a search of the client's without deferred tools", () => {
    const own = [fakeTool({ name: "svc_python" })];
    expect(names(deferralOf({ ...OFFERED, own, client: TOOLS, tokensMax: 0 }))).not.toContain("svc_python");
    const search = [spec("ToolSearch"), ...TOOLS];
    expect(deferralOf({ ...OFFERED, client: search, tokensMax: 30 })).toBeUndefined();
    const asked = deferralOf({ ...OFFERED, client: [spec("ToolSearch"), ...deferred] });
    expect(asked?.search).toBeUndefined();
    expect(names(asked)).toHaveLength(3);
  });
});

describe("definitions", () => {
  const deferral = deferralOf({ ...OFFERED, client: TOOLS, tokensMax: 0 });
  if (deferral === undefined) throw new Error("there are tools to leave out");
  const user: Message = { role: "user", content: [{ type: "text", text: "Rain?" }] };
  const called = (id: string, name: string): readonly Message[] => [
    { role: "assistant", content: [], toolCalls: [{ id, name, arguments: "{}" }] },
    { role: "tool", toolCallId: id, name, content: [{ type: "text", text: "ok" }] },
  ];

  test("follow a result that refers to tools, once each", () => {
    const [call, result] = called("a", "ToolSearch");
    if (call === undefined || result === undefined) throw new Error("two messages");
    const talk = [
      user,
      call,
      { ...result, foundTools: ["getWeather", "unknown"] },
      ...called("b", "getWeather"),
    ];
    const made = withDefinitions([...talk, { ...result, foundTools: ["getWeather"] }], deferral);
    expect(made).toHaveLength(6);
    expect(
      made
        .map(messageText)
        .join("")
        .match(/"name":"getWeather"/g),
    ).toHaveLength(1);
    expect(messageText(made[2] ?? user)).toStartWith('ok\n{"name":"getWeather","description":"Forecast');
  });

  test("precede a call that no search has found, the same way each time", () => {
    const talk = [user, ...called("b", "getWeather"), ...called("c", "getWeather")];
    const made = withDefinitions(talk, deferral);
    expect(made.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    expect(made[1]?.toolCalls).toEqual([
      { id: "search_b", name: "tool_search", arguments: '{"query":"getWeather"}' },
    ]);
    expect(withDefinitions([...talk, user], deferral).slice(0, made.length)).toEqual([...made]);
    expect(withDefinitions(made, deferral)).toEqual([...made]);
  });

  test("mark tools that the conversation has found", () => {
    const marks = markedSpecs(TOOLS, deferral, [user, ...called("b", "slack_send")]);
    expect(marks.map((tool) => tool.deferred)).toEqual([true, true, "found"]);
  });
});

test("the loop searches, keeps the beginning of the prompt, and passes on a call of a tool that it did not find", async () => {
  const { generate, requests } = scripted(
    calling(["tool_search", { query: "rain" }]),
    calling(["getWeather", { place: "Paris" }]),
  );
  const counted: unknown[] = [];
  const meter = {
    deferred: (left: unknown) => void counted.push(left),
    edited: () => undefined,
    searched: (number: number) => void counted.push(number),
  };
  const loop = testLoop({ generate, toolsInPrompt: 0, permission: "deny", meter });
  const events = await loop.answer(
    asking({ maxToolRounds: 4 }, { prompt: { tools: TOOLS, toolChoice: { type: "required" } } }),
  );
  expect(events.filter(({ type }) => type === "tool_call_start")).toHaveLength(1);
  expect(events.find(({ type }) => type === "tool_complete")).toMatchObject({
    data: { tools: [{ name: "getWeather" }] },
  });
  expect(lastText(requests[1])).toContain('{"name":"getWeather"');
  const shown = requests.map(({ prompt }) => (prompt.type === "chat" ? prompt : undefined));
  const offered = shown.map((prompt) => prompt?.tools.map(({ name, deferred }) => [name, deferred]));
  const left = TOOLS.map(({ name }) => [name, true]);
  expect(JSON.stringify(offered[0])).toBe(JSON.stringify([["tool_search", undefined], ...left]));
  const marked = left.map(([name]) => [name, name === "getWeather" ? "found" : true]);
  expect(JSON.stringify(offered[1])).toBe(JSON.stringify([["tool_search", undefined], ...marked]));
  expect(messagesOf(requests[1]).slice(0, messagesOf(requests[0]).length)).toEqual([
    ...messagesOf(requests[0]),
  ]);
  expect(shown.map((prompt) => prompt?.toolChoice.type)).toEqual(["required", "required"]);
  expect(counted).toEqual([{ tools: 3, tokens: expect.any(Number) }, 1]);
});

test("a client that asked for nothing of it is shown no search and no session", async () => {
  const search = calling(["tool_search", { query: "rain" }]);
  const { generate, requests } = scripted(search, calling(["getWeather", { place: "Paris" }]));
  const loop = testLoop({ generate, toolsInPrompt: 0 });
  const events = await loop.answer(asking({}, { prompt: { tools: TOOLS } }));
  expect(lastText(requests[1])).toContain('{"name":"getWeather"');
  expect(events.map(({ type }) => type)).not.toContainAnyValues(["session", "tool_calling", "tool_complete"]);
  expect(events.filter(({ type }) => type === "tool_call_start")).toHaveLength(1);
});

test("a request without server rounds, or with several choices, shows all tools", async () => {
  for (const [agent, run] of [
    [{ maxToolRounds: 0 }, {}],
    [{}, { choices: 2 }],
  ] as const) {
    const { generate, requests } = scripted(saying("Hi"));
    const loop = testLoop({ generate, toolsInPrompt: 0 });
    await loop.answer(asking(agent, { ...run, prompt: { tools: TOOLS } }));
    const { prompt } = requests[0] ?? {};
    expect(prompt?.type === "chat" && prompt.tools).toEqual(TOOLS);
  }
});

test("among 300 tools a search finds what a task needs", async () => {
  const tools = catalogTools(300).map(({ name, description, parameters }) =>
    spec(name, description, { parameters: { ...parameters } }),
  );
  const search = searchTool({ name: "tool_search", form: "words", tools });
  for (const { query, tool } of CATALOG_TASKS.filter((_, at) => at % 5 === 0)) {
    const { data } = await search.run({ query }, AT, new AbortController().signal);
    expect(data.tool_type === "custom" && data.tools?.map(({ name }) => name)).toContain(tool);
  }
});
