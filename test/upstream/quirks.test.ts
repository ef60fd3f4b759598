// Servers that deviate from the API, one row each: what they send, what clients get; what they refuse, what they are sent then.

import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { defined } from "../../src/core/defined.ts";
import type { Message } from "../../src/core/message.ts";
import type { ChatPrompt, RunEvent, RunRequest } from "../../src/core/run.ts";
import { CarriedFields } from "../../src/upstream/carried.ts";
import { CARRIED_BYTES_MAX, CARRIED_CALL_BYTES_MAX } from "../../src/upstream/limits.ts";
import { chunk, fakeUpstream, type Seen } from "../helpers/fake-upstream.ts";
import { all, chat, errorOf, modelOn, NEVER } from "../helpers/upstream-model.ts";

const TOOL = { name: "find", parameters: { type: "object" }, strict: false };

function withTools(messages: readonly Message[] = [said("user", "Hi")]): RunRequest {
  const { prompt } = chat();
  return chat({ prompt: { ...(prompt as ChatPrompt), messages, tools: [TOOL] } });
}

function said(role: Message["role"], text: string, more: Partial<Message> = {}): Message {
  return { role, content: text === "" ? [] : [{ type: "text", text }], ...more };
}

/** An answer in short: its texts, calls, end and counts, or its error. */
function short(events: readonly RunEvent[]) {
  const calls: string[] = [];
  let [text, reasoning, reason, tokens] = ["", "", "", ""];
  for (const event of events) {
    if (event.type === "text") text += event.text;
    if (event.type === "reasoning") reasoning += event.text;
    if (event.type === "tool_call_start") calls[event.index] = `${event.name} `;
    if (event.type === "tool_call_args") calls[event.index] += event.delta;
    if (event.type === "choice_end") reason += event.reason;
    if (event.type === "finish") tokens = `${event.usage.promptTokens}+${event.usage.completionTokens}`;
    if (event.type === "error") reason = event.error.message;
  }
  return {
    ...(text && { text }),
    ...(reasoning && { reasoning }),
    ...(calls.length > 0 && { calls }),
    reason,
    tokens,
  };
}

const call = (index: number, id: string | null, name: string | null, args: unknown) => ({
  tool_calls: [{ index, id, function: { name, arguments: args } }],
});
const USAGE = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } };
const hello = (usage: unknown) => [chunk({ content: "Hello" }), chunk({}, "stop"), { choices: [], usage }];

describe("what servers send", () => {
  test.each<[string, readonly object[], object]>([
    [
      "an empty reason is none",
      [chunk({ content: "Hel" }, ""), chunk({ content: "lo" }, "null"), chunk({}, "stop"), USAGE],
      { text: "Hello", reason: "stop", tokens: "7+3" },
    ],
    [
      "usage of the Responses API",
      hello({ input_tokens: 11, output_tokens: 5, total_tokens: 16 }),
      { text: "Hello", reason: "stop", tokens: "11+5" },
    ],
    [
      "usage with a sum alone",
      hello({ total_tokens: 16, completion_tokens: 4 }),
      { text: "Hello", reason: "stop", tokens: "12+4" },
    ],
    ["usage without counts", hello({}), { text: "Hello", reason: "stop", tokens: "2+1" }],
    [
      "usage of nulls",
      hello({ prompt_tokens: null, completion_tokens: null }),
      { text: "Hello", reason: "stop", tokens: "2+1" },
    ],
    [
      "usage that cannot be",
      hello({ prompt_tokens: 1.5, completion_tokens: -3, prompt_tokens_details: { cached_tokens: -1 } }),
      { text: "Hello", reason: "stop", tokens: "2+1" },
    ],
    ["usage that is a text", hello("none"), { text: "Hello", reason: "stop", tokens: "2+1" }],
    [
      "log probabilities in another form",
      [{ choices: [{ index: 0, delta: { content: "Hello" }, logprobs: [] }] }, chunk({}, "stop"), USAGE],
      { text: "Hello", reason: "stop", tokens: "7+3" },
    ],
    [
      "a filter",
      [chunk({ content: "Hel" }), chunk({}, "content_filter"), USAGE],
      { text: "Hel", reason: "content_filter", tokens: "7+3" },
    ],
    [
      "a filter in other words",
      [chunk({ content: "Hel" }), chunk({}, "SAFETY"), USAGE],
      { text: "Hel", reason: "content_filter", tokens: "7+3" },
    ],
    [
      "another word for the cap",
      [chunk({ content: "Hel" }), chunk({}, "model_length"), USAGE],
      { text: "Hel", reason: "length", tokens: "7+3" },
    ],
    [
      "an error as a reason",
      [chunk({ content: "Hel" }), chunk({}, "error")],
      {
        text: "Hel",
        reason: "the upstream server ended the answer with an error: finish_reason error",
        tokens: "",
      },
    ],
    [
      "content as parts",
      [
        chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }] }),
        chunk({ content: [{ type: "text", text: "Hello" }] }),
        chunk({}, "stop"),
        USAGE,
      ],
      { text: "Hello", reasoning: "Hm", reason: "stop", tokens: "7+3" },
    ],
    [
      "an empty name of reasoning beside another",
      [
        chunk({ reasoning_content: "", reasoning: "Hm" }),
        chunk({ content: "Hello" }),
        chunk({}, "stop"),
        USAGE,
      ],
      { text: "Hello", reasoning: "Hm", reason: "stop", tokens: "7+3" },
    ],
    [
      "reasoning in details alone",
      [
        chunk({ reasoning_details: [{ type: "reasoning.text", text: "Hm", index: 0 }] }),
        chunk({ content: "Hello" }),
        chunk({}, "stop"),
        USAGE,
      ],
      { text: "Hello", reasoning: "Hm", reason: "stop", tokens: "7+3" },
    ],
    [
      "two calls of one index without ids",
      [
        chunk(call(0, "", "find", '{"a":1}')),
        chunk(call(0, "", "get", '{"b":2}')),
        chunk({}, "tool_calls"),
        USAGE,
      ],
      { calls: ['find {"a":1}', 'get {"b":2}'], reason: "tool_calls", tokens: "7+3" },
    ],
    [
      "two calls of one function, one index, without ids",
      [
        chunk(call(0, null, "find", '{"a":1}')),
        chunk(call(0, null, "find", '{"a":2}')),
        chunk({}, "tool_calls"),
        USAGE,
      ],
      { calls: ['find {"a":1}', 'find {"a":2}'], reason: "tool_calls", tokens: "7+3" },
    ],
    [
      "a name that each piece repeats",
      [
        chunk(call(0, "c", "find", '{"a"')),
        chunk(call(0, "c", "find", ":1}")),
        chunk({}, "tool_calls"),
        USAGE,
      ],
      { calls: ['find {"a":1}'], reason: "tool_calls", tokens: "7+3" },
    ],
    [
      "a name that comes after the id",
      [
        chunk(call(0, "c", "", null)),
        chunk(call(0, null, "find", "{")),
        chunk(call(0, null, null, "}")),
        chunk({}, "tool_calls"),
        USAGE,
      ],
      { calls: ["find {}"], reason: "tool_calls", tokens: "7+3" },
    ],
    [
      "arguments as an object",
      [chunk(call(0, "c", "find", { a: 1 })), chunk({}, "tool_calls"), USAGE],
      { calls: ['find {"a":1}'], reason: "tool_calls", tokens: "7+3" },
    ],
    [
      "a call after the end",
      [chunk({ content: "Hm." }), chunk({}, "stop"), chunk(call(0, "c", "find", "{}")), USAGE],
      { text: "Hm.", calls: ["find {}"], reason: "tool_calls", tokens: "7+3" },
    ],
  ])("%s", async (_, chunks, expected) => {
    const { model } = modelOn([fakeUpstream({ type: "answer", chunks })]);
    const got = short(await all(model.generate(withTools(), NEVER, SERVER)));
    const { tokens, ...rest } = expected as { tokens: string };
    expect(got).toMatchObject(rest);
    // Estimates of the prompt are no part of the row.
    expect(got.tokens.replace(/^\d+\+/, tokens === "2+1" ? "2+" : "$&")).toBe(tokens);
  });

  const whole = (body: object) => ({ type: "status", status: 200, body }) as const;

  test("an answer that is not streamed", async () => {
    const message = { role: "assistant", content: "Hello", ...call(0, "c", "find", "{}") };
    const body = { choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage: USAGE.usage };
    const { model } = modelOn([fakeUpstream(whole(body))]);
    const got = short(await all(model.generate(withTools(), NEVER, SERVER)));
    expect(got).toEqual({ text: "Hello", calls: ["find {}"], reason: "tool_calls", tokens: "7+3" });
  });

  test("an error with status 200 keeps its words, and a fallback is asked", async () => {
    const { model } = modelOn([fakeUpstream(whole({ error: { message: "Rate limited", code: 429 } }))]);
    expect(errorOf(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({
      code: "upstream_failed",
      message: "the upstream server ended the answer with an error: Rate limited",
    });
  });

  test("a last event without an empty line, and nothing after it", async () => {
    const events = [chunk({ content: "Hello" }), chunk({}, "stop")].map(
      (one) => `data: ${JSON.stringify(one)}`,
    );
    const { model } = modelOn([fakeUpstream({ type: "garbage", data: events.join("\n\n") })]);
    expect(short(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({
      text: "Hello",
      reason: "stop",
    });
  });

  test("garbage after the end does not take the answer away", async () => {
    const events = [chunk({ content: "Hello" }), chunk({}, "stop")].map(
      (one) => `data: ${JSON.stringify(one)}\n\n`,
    );
    const { model } = modelOn([fakeUpstream({ type: "garbage", data: `${events.join("")}data: oops\n\n` })]);
    expect(short(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({
      text: "Hello",
      reason: "stop",
    });
  });
});

describe("what servers refuse or demand", () => {
  const refusing = (words: string, isRefused: (body: Seen["body"]) => boolean) =>
    fakeUpstream((seen) =>
      isRefused(seen.body)
        ? { type: "status", status: 400, body: { error: { message: words } } }
        : { type: "answer" },
    );
  const assistant = (body: Seen["body"]) =>
    (body["messages"] as readonly Record<string, unknown>[]).find(({ role }) => role === "assistant") ?? {};
  const history = [
    said("user", "Hi"),
    said("assistant", "", { reasoning: "Hm", toolCalls: [{ id: "c", name: "find", arguments: "{}" }] }),
    said("tool", "found", { toolCallId: "c" }),
  ];

  test.each<[string, (body: Seen["body"]) => boolean]>([
    ["stream_options is not supported", (body) => "stream_options" in body],
    [
      "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
      (body) => "max_tokens" in body,
    ],
    ["parallel_tool_calls: extra inputs are not permitted", (body) => "parallel_tool_calls" in body],
    [
      "The reasoning_content in the thinking mode must be passed back to the API.",
      (body) => assistant(body)["reasoning_content"] !== "Hm",
    ],
  ])("%s: sent again in the other form, and at once from then on", async (words, isRefused) => {
    const upstream = refusing(words, isRefused);
    upstream.cards = [{ id: "m", owned_by: "somebody" }];
    const { model } = modelOn([upstream]);
    const { prompt, ...request } = withTools(history);
    const asked = { ...request, prompt: { ...(prompt as ChatPrompt), singleCall: true }, maxTokens: 9 };
    for (let i = 0; i < 2; i++)
      expect(short(await all(model.generate(asked, NEVER, SERVER)))).toMatchObject({ text: "Hello there." });
    expect(upstream.seen.map(({ body }) => isRefused(body))).toEqual([true, false, false]);
  });

  test("a cap that is too large is the client's, and the next request has the same name for it", async () => {
    const upstream = fakeUpstream(({ body }) => {
      const message = `max_completion_tokens is too large: ${String(body["max_completion_tokens"])}. This model supports at most 9.`;
      const isLarge = Number(body["max_completion_tokens"]) > 9;
      return isLarge ? { type: "status", status: 400, body: { error: { message } } } : { type: "answer" };
    });
    upstream.cards = [{ id: "m", owned_by: "openai" }];
    const { model } = modelOn([upstream]);
    for (const maxTokens of [10, 9]) await all(model.generate({ ...chat(), maxTokens }, NEVER, SERVER));
    expect(upstream.seen.map(({ body }) => body["max_completion_tokens"])).toEqual([10, 9]);
  });

  test("requests that were refused at the same time are all sent again", async () => {
    const upstream = refusing("stream_options is not supported", (body) => "stream_options" in body);
    const { model } = modelOn([upstream]);
    const answers = await Promise.all([1, 2, 3].map(() => all(model.generate(chat(), NEVER, SERVER))));
    for (const answer of answers) expect(short(answer)).toMatchObject({ text: "Hello there." });
  });

  test("reasoning is withheld from a server that refuses it", async () => {
    const upstream = refusing(
      "property 'reasoning_content' is unsupported",
      (body) => "reasoning_content" in assistant(body),
    );
    const { model } = modelOn([upstream]);
    expect(short(await all(model.generate(withTools(history), NEVER, SERVER)))).toMatchObject({
      text: "Hello there.",
    });
    expect(upstream.seen).toHaveLength(2);
  });

  test("another refusal is the client's, and is sent once", async () => {
    const upstream = refusing("messages: too many", () => true);
    const { model } = modelOn([upstream]);
    expect(errorOf(await all(model.generate(withTools(history), NEVER, SERVER)))).toMatchObject({
      code: "invalid_request",
    });
    expect(upstream.seen).toHaveLength(1);
  });

  test("fields beside a call go back with it, whatever their names", async () => {
    const signed = { google: { thought_signature: "sig" } };
    const first = [
      chunk({ reasoning_details: [{ type: "reasoning.text", text: "H", index: 0, format: "x" }] }),
      chunk({ reasoning_details: [{ type: "reasoning.text", text: "m", index: 0, format: "x" }] }),
      chunk({
        tool_calls: [
          {
            index: 0,
            id: "c",
            extra_content: signed,
            function: { name: "find", arguments: "{}", signature: "f" },
          },
        ],
      }),
      chunk({}, "tool_calls"),
    ];
    const upstream = fakeUpstream(({ body }) =>
      assistant(body)["role"] === undefined ? { type: "answer", chunks: first } : { type: "answer" },
    );
    upstream.cards = [{ id: "m", owned_by: "somebody" }];
    const { model } = modelOn([upstream]);
    await all(model.generate(withTools(), NEVER, SERVER));
    const again = history.map(({ role, content, toolCalls, toolCallId }) => ({
      role,
      content,
      ...defined({ toolCalls, toolCallId }),
    }));
    await all(model.generate(withTools(again), NEVER, SERVER));
    expect(assistant(upstream.seen[1]?.body ?? {})).toEqual({
      role: "assistant",
      content: null,
      reasoning_details: [{ type: "reasoning.text", text: "Hm", index: 0, format: "x" }],
      tool_calls: [
        {
          id: "c",
          type: "function",
          extra_content: signed,
          function: { name: "find", arguments: "{}", signature: "f" },
        },
      ],
    });
  });

  test("reasoning goes back under the name that it came by", async () => {
    const upstream = fakeUpstream({
      type: "answer",
      chunks: [chunk({ reasoning: "Hm" }), chunk({ content: "x" }), chunk({}, "stop")],
    });
    upstream.cards = [{ id: "m", owned_by: "somebody" }];
    const { model } = modelOn([upstream]);
    for (let i = 0; i < 2; i++) await all(model.generate(withTools(history), NEVER, SERVER));
    expect(upstream.seen.map(({ body }) => assistant(body)["reasoning"])).toEqual([undefined, "Hm"]);
  });
});

describe("refusals by status", () => {
  const OTHERS = [402, 407, 408, 421, 425, 451, 498, 529, 301, 308] as const;

  test.each(OTHERS)("%i is no fault of the client's: the other upstream answers", async (status) => {
    const headers = { location: "https://elsewhere.example/v1/chat?key=secret" };
    const [ill, well] = [fakeUpstream({ type: "status", status, headers }), fakeUpstream()];
    const { model } = modelOn([ill, well]);
    expect(short(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({ text: "Hello there." });
    expect([ill.seen.length, well.seen.length]).toEqual([1, 1]);
  });

  test.each([402, 308] as const)("%i of all is 503", async (status) => {
    const headers = { location: "https://elsewhere.example/v1/chat?key=secret" };
    const { model, log } = modelOn([fakeUpstream({ type: "status", status, headers })]);
    expect(errorOf(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({
      code: "upstream_failed",
    });
    if (status === 308)
      expect(log[0]).toContain("redirects (status 308) to https://elsewhere.example/v1/chat; set that url");
  });

  test("529 tells how long to wait", async () => {
    const busy = fakeUpstream({ type: "status", status: 529, headers: { "retry-after": "7" } });
    const { model } = modelOn([busy], { routing: { retries: 0 } });
    expect(errorOf(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({
      code: "model_unavailable",
      retryAfterSecs: 7,
    });
  });

  test("a missing route takes neither the upstream nor its other routes away", async () => {
    const upstream = fakeUpstream(({ path }) =>
      path.endsWith("/chat/completions")
        ? { type: "answer" }
        : { type: "status", status: 404, body: { detail: "Not Found" } },
    );
    const { model, log } = modelOn([upstream]);
    const text = chat({ prompt: { type: "text", text: "Once" } });
    for (let i = 0; i < 2; i++)
      expect(errorOf(await all(model.generate(text, NEVER, SERVER)))).toMatchObject({
        code: "unsupported_capability",
      });
    expect(short(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({ text: "Hello there." });
    expect(upstream.seen.map(({ path }) => path)).toEqual(["/v1/completions", "/v1/chat/completions"]);
    expect(log).toEqual([expect.stringContaining("it has no route /completions")]);
  });

  test("a missing model is a fault of the set-up", async () => {
    const body = { error: { message: "The model `m` does not exist.", code: 404 } };
    const { model } = modelOn([fakeUpstream({ type: "status", status: 404, body })]);
    expect(errorOf(await all(model.generate(chat(), NEVER, SERVER)))).toMatchObject({
      code: "upstream_failed",
    });
    expect(model.upstreams[0]?.status).toBe("cooling");
  });
});

test.each<[string, object]>([
  [
    "Infinity",
    {
      results: [
        { index: 1, score: 0.2 },
        { index: 0, score: 0.9 },
      ],
    },
  ],
  [
    "Voyage",
    {
      object: "list",
      data: [
        { index: 1, relevance_score: 0.2 },
        { index: 0, relevance_score: 0.9 },
      ],
      usage: { total_tokens: 5 },
    },
  ],
])("scores in the form of %s", async (_, body) => {
  const { model } = modelOn([fakeUpstream({ type: "status", status: 200, body })]);
  const request = { model: "big", query: "q", documents: ["a", "b"], truncate: false };
  expect((await model.embed(request, NEVER, SERVER)).vectors).toEqual([[0.9], [0.2]]);
});

test.each([
  ['{"city": "Rome"}', '{"city":"Rome"}'],
  ["", "{}"],
  ["cut {", "cut {"],
])("fields of a call with the arguments %j are found by %j", (sent, returned) => {
  const carried = new CarriedFields();
  const key = { client: "a", id: "1", name: "find" };
  const fields = { message: {}, call: { signature: "s" }, function: {}, reasoning: "" };
  carried.keep({ ...key, arguments: sent }, fields);
  expect(carried.find({ ...key, arguments: returned })).toEqual(fields);
  expect(carried.find({ ...key, arguments: "[]" })).toBeUndefined();
});

test("fields of calls are kept within bounds, for each client", () => {
  const carried = new CarriedFields();
  const key = (client: string, id: string) => ({ client, id, name: "find", arguments: "{}" });
  const fields = (text: string) => ({ message: {}, call: { signature: text }, function: {}, reasoning: "" });
  carried.keep(key("a", "1"), fields("one"));
  expect(carried.find(key("a", "1"))?.call).toEqual({ signature: "one" });
  expect(carried.find(key("b", "1"))).toBeUndefined();
  carried.keep(key("a", "2"), fields("x".repeat(CARRIED_CALL_BYTES_MAX)));
  expect(carried.find(key("a", "2"))).toBeUndefined();
  const large = "x".repeat(CARRIED_CALL_BYTES_MAX / 2);
  const count = Math.ceil(CARRIED_BYTES_MAX / large.length);
  for (let i = 0; i < count; i++) carried.keep(key("c", String(i)), fields(large));
  expect(carried.find(key("a", "1"))).toBeUndefined();
  expect(carried.find(key("c", String(count - 1)))).toBeDefined();
});
