// The messages dialect through the executable and the built-in model: with its official client, and as a coding agent
// speaks it.

import { describe, expect, test } from "bun:test";
import Anthropic, { NotFoundError } from "@anthropic-ai/sdk";
import { fileServer } from "../helpers/binary.ts";
import { CAPITAL, COUNT_30 } from "../helpers/chat-client.ts";
import { rejection } from "../helpers/failure.ts";
import { foldMessages } from "../helpers/fold-messages.ts";

const server = fileServer();
const client = () => new Anthropic({ apiKey: "any", baseURL: server().url, maxRetries: 0 });

/** The client's types leave sampling out, the interface does not. */
type Params = Anthropic.MessageCreateParamsNonStreaming & { readonly temperature: number };

/** A greedy request of one user message. */
const ask = (content: string, extra: Partial<Params> = {}): Params => ({
  model: "default",
  max_tokens: 200,
  temperature: 0,
  messages: [{ role: "user", content }],
  ...extra,
});

const WEATHER: Anthropic.Tool = {
  name: "get_weather",
  description: "Get the weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const TIME: Anthropic.Tool = {
  name: "get_time",
  description: "Get the time in a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const OFF = { thinking: { type: "disabled" } } as const;

test("answers with thinking and text, streamed what is answered whole", async () => {
  const whole = await client().messages.create(ask(CAPITAL.content));
  expect(whole).toMatchObject({ model: "svc-tiny", stop_reason: "end_turn", stop_sequence: null });
  expect(whole.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
  expect(whole.content[1]).toMatchObject({ text: CAPITAL.answer });
  const streamed = await client().messages.stream(ask(CAPITAL.content)).finalMessage();
  expect<object>(streamed.content).toEqual(whole.content);
  expect(streamed.usage).toMatchObject({
    input_tokens: whole.usage.input_tokens,
    output_tokens: whole.usage.output_tokens,
  });
});

test("ends at a cap and at a stop sequence, which it names", async () => {
  const cut = await client().messages.create(ask(CAPITAL.content, { ...OFF, max_tokens: 3 }));
  expect(cut).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 3 } });
  const stopped = ask(COUNT_30.content, { ...OFF, stop_sequences: ["never", ", 7"] });
  const expected = {
    content: [{ type: "text", text: "1, 2, 3, 4, 5, 6" }],
    stop_reason: "stop_sequence",
    stop_sequence: ", 7",
  };
  expect(await client().messages.create(stopped)).toMatchObject(expected);
  expect(await client().messages.stream(stopped).finalMessage()).toMatchObject(expected);
});

describe("tools", () => {
  test("one at a time where that was asked for", async () => {
    const both = "What is the weather in Paris and also what time is it in Rome?";
    const calls = async (disable_parallel_tool_use: boolean) => {
      const tool_choice = { type: "auto", disable_parallel_tool_use } as const;
      const { content } = await client().messages.create(
        ask(both, { ...OFF, tools: [WEATHER, TIME], tool_choice }),
      );
      return content.filter(({ type }) => type === "tool_use").length;
    };
    expect([await calls(false), await calls(true)]).toEqual([2, 1]);
  });
});

describe("count_tokens", () => {
  const tool_choice = { type: "any" } as const;
  test.each<[string, Params]>([
    ["a question", ask(CAPITAL.content)],
    ["thinking switched off", ask(CAPITAL.content, OFF)],
    ["a system text", ask(CAPITAL.content, { system: [{ type: "text", text: "Be brief." }] })],
    ["tools", ask(CAPITAL.content, { tools: [WEATHER, TIME] })],
    ["a tool that must be called", ask(CAPITAL.content, { tools: [WEATHER], tool_choice })],
    ["tools that are hidden", ask(CAPITAL.content, { tools: [WEATHER], tool_choice: { type: "none" } })],
    [
      "a conversation",
      {
        ...ask(""),
        messages: [
          { role: "user", content: "Hello" },
          { role: "assistant", content: [{ type: "text", text: "Hi." }] },
          { role: "user", content: "What is 2 + 2?" },
        ],
      },
    ],
  ])("%s: as many as the answer reports", async (_, params) => {
    const { input_tokens } = await client().messages.countTokens(params);
    expect(input_tokens).toBeGreaterThan(5);
    const { usage } = await client().messages.create({ ...params, max_tokens: 4 });
    expect(usage.input_tokens).toBe(input_tokens);
  });

  test("what is cached is told apart where something is marked for it, and the sum stays", async () => {
    const long = `Remember these words: ${"apple pear plum ".repeat(40)}`;
    const marked = ask("Hello", {
      max_tokens: 4,
      system: [{ type: "text", text: long, cache_control: { type: "ephemeral" } }],
    });
    const { input_tokens: counted } = await client().messages.countTokens(marked);
    await client().messages.create({ ...marked, max_tokens: 0 }); // computes the prompt alone
    const { usage } = await client().messages.create(marked);
    expect(usage.cache_read_input_tokens).toBeGreaterThan(counted / 2);
    expect(usage.input_tokens + (usage.cache_read_input_tokens ?? 0)).toBe(counted);
    const plain = await client().messages.create({ ...marked, system: long });
    expect(plain.usage).toMatchObject({ input_tokens: counted, cache_read_input_tokens: 0 });
  });

  test("of more than the context holds is told, where an answer is refused", async () => {
    const long = ask("word ".repeat(5000));
    expect((await client().messages.countTokens(long)).input_tokens).toBeGreaterThan(5000);
    const refused = await rejection(client().messages.create(long));
    expect(String(refused)).toContain("context_length_exceeded");
  });
});

/** A request of the kind that coding agents send, with all that this server has no use for. */
const AGENT_REQUEST = {
  model: "default",
  max_tokens: 32_000,
  temperature: 0,
  system: [
    { type: "text", text: "x-anthropic-billing-header: version=2.1; entry=cli; hash=5b1d;" },
    { type: "text", text: "You help with software.", cache_control: { type: "ephemeral", ttl: "1h" } },
    { type: "text", text: "Folder: /tmp/project", cache_control: { type: "ephemeral" } },
  ],
  tools: [
    {
      name: "Read",
      description: "Reads a file.",
      input_schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          file_path: { type: "string", description: "Absolute path" },
          offset: { type: "integer", exclusiveMinimum: 0, maximum: 9007199254740991 },
        },
        required: ["file_path"],
        additionalProperties: false,
      },
      eager_input_streaming: true,
    },
    { ...WEATHER, cache_control: { type: "ephemeral" }, defer_loading: false },
  ],
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "<note>Today is Monday.</note>" },
        { type: "text", text: "Read a.ts", cache_control: { type: "ephemeral" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "I read it.", signature: "EqQBCgIYAhIM" },
        { type: "redacted_thinking", data: "EmwKAhgB" },
        {
          type: "tool_use",
          id: "toolu_01A",
          name: "Read",
          input: { file_path: "/a.ts" },
          caller: { type: "direct" },
        },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_01A", content: "no such file", is_error: true },
        { type: "text", text: "What is the weather in Paris?", cache_control: { type: "ephemeral" } },
      ],
    },
  ],
  thinking: { type: "adaptive" },
  output_config: { effort: "medium" },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  metadata: { user_id: "user_0_account__session_1" },
  service_tier: "auto",
};

test("a long conversation is compacted, and the block stands for what was before it", async () => {
  const turns = Array.from({ length: 8 }, (_, at) => [
    { role: "user" as const, content: `Turn ${at}. ${"blah ".repeat(40)}` },
    { role: "assistant" as const, content: "Noted." },
  ]).flat();
  const messages = [...turns, { role: "user" as const, content: CAPITAL.content }];
  const edit = { type: "compact_20260112" as const, trigger: { type: "input_tokens" as const, value: 500 } };
  const body = { ...ask("", OFF), messages, context_management: { edits: [edit] } };
  const { content } = await client().beta.messages.stream(body).finalMessage();
  expect(content.map(({ type }) => type)).toEqual(["compaction", "text"]);
  const whole = await client().beta.messages.create(body);
  expect(whole.content).toEqual(content);
  expect(whole).toMatchObject({ context_management: { applied_edits: [{ type: "compact_20260112" }] } });
  const next = [
    ...messages,
    { role: "assistant" as const, content },
    { role: "user" as const, content: "And?" },
  ];
  const after = await client().beta.messages.create({ ...ask("", OFF), messages: next });
  expect(after.usage.input_tokens).toBeLessThan(500);
});

test("a compaction that pauses is not answered; the block, alone or before the last turns, goes on", async () => {
  const turns = Array.from({ length: 8 }, (_, at) => [
    { role: "user" as const, content: `Turn ${at}. ${"blah ".repeat(40)}` },
    { role: "assistant" as const, content: `Noted ${at}.` },
  ]).flat();
  const messages = [...turns, { role: "user" as const, content: CAPITAL.content }];
  const trigger = { type: "input_tokens" as const, value: 500 };
  const edit = { type: "compact_20260112" as const, trigger, pause_after_compaction: true };
  const body = { ...ask("", OFF), messages, context_management: { edits: [edit] } };
  const paused = await client().beta.messages.create(body);
  expect(paused).toMatchObject({ stop_reason: "compaction", content: [{ type: "compaction" }] });
  expect(paused.usage).toMatchObject({ output_tokens: 0, iterations: [{ type: "compaction" }] });
  const streamed = await client().beta.messages.stream(body).finalMessage();
  expect(streamed.stop_reason).toBe("compaction");
  expect(JSON.stringify(streamed.content)).toBe(JSON.stringify(paused.content));
  const block = { role: "assistant" as const, content: paused.content };
  const counts = await Promise.all(
    [
      [...messages, block],
      [block, ...messages.slice(-1)],
    ].map(async (next) => {
      const { stop_reason, usage } = await client().beta.messages.create({ ...body, messages: next });
      expect(["end_turn", "max_tokens"]).toContain(stop_reason ?? "");
      return usage.input_tokens;
    }),
  );
  expect(new Set(counts).size).toBe(1);
  const { context_management: _, ...plain } = body;
  const whole = { ...plain, compaction: { type: "summarize" as const }, messages: turns };
  const summarized = await client().beta.messages.create(whole);
  expect(summarized).toMatchObject({ stop_reason: "compaction", content: [{ type: "compaction" }] });
  const short = await client().beta.messages.create({ ...whole, messages: turns.slice(0, 1) });
  expect(short).toMatchObject({ stop_reason: "compaction", content: [{ type: "compaction" }] });
  const both = client().beta.messages.create({ ...body, compaction: whole.compaction });
  expect(String(await rejection(both))).toContain("contradict");
});

test.each(["bm25", "regex"])("tools on demand are searched by the server: %s", async (kind) => {
  const type = `tool_search_tool_${kind}_20251119`;
  const search = { type, name: `tool_search_tool_${kind}` };
  const deferred = [WEATHER, TIME].map((tool) => ({ ...tool, defer_loading: true }));
  const body: object = ask(CAPITAL.content, { ...OFF, tool_choice: { type: "any" }, max_tokens: 120 });
  const params = { ...body, tools: [search, ...deferred] } as Params;
  const streamed = await client().messages.stream(params).finalMessage();
  const { content } = await client().messages.create(params);
  const types = content.map((block) => block.type as string);
  expect(streamed.content.map((block) => block.type as string)).toEqual(types);
  expect(types.slice(0, 2)).toEqual(["server_tool_use", "tool_search_tool_result"]);
  const [use, result] = content as unknown as readonly Record<string, unknown>[];
  expect(result?.["tool_use_id"]).toBe(use?.["id"]);
  const results = content.flatMap((block) =>
    block.type === "tool_use"
      ? [{ type: "tool_result" as const, tool_use_id: block.id, content: "Sunny" }]
      : [],
  );
  const next = [...params.messages, { role: "assistant" as const, content }];
  const told = {
    role: "user" as const,
    content: [
      ...results,
      { type: "text" as const, text: "So?", cache_control: { type: "ephemeral" as const } },
    ],
  };
  const after = await client().messages.create({
    ...params,
    tool_choice: { type: "auto" },
    messages: [...next, told],
  });
  expect(after.usage.cache_read_input_tokens).toBeGreaterThan(100);
});

test("a coding agent is understood", async () => {
  const headers = {
    "content-type": "application/json",
    "x-api-key": "any",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "interleaved-thinking-2025-05-14,context-management-2025-06-27",
    "x-app": "cli",
  };
  const post = (path: string, body: object) =>
    fetch(`${server().url}/v1/messages${path}?beta=true`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
  const response = await post("", { ...AGENT_REQUEST, stream: true });
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    expect.stringContaining("text/event-stream"),
  ]);
  const message = foldMessages(await response.text());
  expect(message.content.length).toBeGreaterThan(0);
  expect(["end_turn", "tool_use"]).toContain(message.stop_reason);
  const { input_tokens, cache_read_input_tokens } = message.usage;
  const counted: unknown = await (await post("/count_tokens", AGENT_REQUEST)).json();
  expect(counted).toEqual({ input_tokens: input_tokens + cache_read_input_tokens });
});

test("an unknown model is the client's NotFoundError, which names those there are", async () => {
  const failure = await rejection(client().messages.create(ask("Hello", { model: "absent" })));
  expect(failure).toBeInstanceOf(NotFoundError);
  expect(String(failure)).toContain("svc-tiny");
});
