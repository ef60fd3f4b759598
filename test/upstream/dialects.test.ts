// Upstreams that are asked through the Messages and the Responses API: bodies, events, refusals.

import { describe, expect, onTestFinished, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import type { Message } from "../../src/core/message.ts";
import type { ChatPrompt, RunEvent, RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { Connections } from "../../src/upstream/connections.ts";
import { UpstreamModel } from "../../src/upstream/model.ts";
import type { UpstreamDialect } from "../../src/upstream/options.ts";
import { type FakeUpstream, fakeUpstream } from "../helpers/fake-upstream.ts";

const NEVER = new AbortController().signal;
const PNG = "iVBORw0KGgo=";

function modelOn({ url }: FakeUpstream, dialect: UpstreamDialect): UpstreamModel {
  const model = new UpstreamModel({
    name: "big",
    kind: "text",
    upstreams: [{ url, model: "m", key: "sk-1", dialect, weight: 1 }],
    routing: { policy: "round_robin", firstTokenMs: 5000, retries: 0, cooldownMs: 60_000, queueMax: 16 },
    connections: new Connections(200),
    fallbacks: () => [],
    log: () => undefined,
  });
  onTestFinished(() => model.stop());
  return model;
}

const said = (role: Message["role"], words: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: "text", text: words }],
  ...more,
});
const TOOL = { name: "find", description: "Finds.", parameters: { type: "object" }, strict: true };

/** A conversation with every kind of message. */
const MESSAGES: readonly Message[] = [
  said("system", "Be brief."),
  said("developer", "Be kind."),
  {
    role: "user",
    content: [
      { type: "text", text: "See" },
      { type: "image", data: PNG },
    ],
  },
  said("assistant", "", {
    reasoning: "hm",
    toolCalls: [
      { id: "call_1", name: "find", arguments: '{"a":1}' },
      { id: "call_2", name: "find", arguments: "" },
    ],
  }),
  said("tool", "one", { toolCallId: "call_1" }),
  said("tool", "", { toolCallId: "call_2" }),
];

function chat(prompt: Partial<ChatPrompt> = {}, extra: Partial<RunRequest> = {}): RunRequest {
  return {
    model: "big",
    prompt: {
      type: "chat",
      messages: [said("user", "Hello?")],
      tools: [],
      toolChoice: { type: "auto" },
      thinking: { enabled: true, unsaid: true },
      ...prompt,
    },
    sampling: DEFAULT_SAMPLING,
    stop: [],
    choices: 1,
    truncate: false,
    ...extra,
  };
}

/** Asks a server whose model list says `owner`; "acme" is no known one. */
async function ask(dialect: UpstreamDialect, request: RunRequest, chunks: readonly object[], owner = "acme") {
  const fake = fakeUpstream({ type: "answer", chunks });
  fake.cards = [{ id: "m", owned_by: owner }];
  const events = await Array.fromAsync(modelOn(fake, dialect).generate(request, NEVER, SERVER));
  return { events, seen: fake.seen[0] };
}

const bodyOf = async (dialect: UpstreamDialect, request: RunRequest, owner?: string) =>
  (await ask(dialect, request, dialect === "messages" ? MESSAGE : RESPONSE, owner)).seen?.body;

/** A message with reasoning, text and two tool calls, the second without arguments. */
const MESSAGE: readonly object[] = [
  {
    type: "message_start",
    message: { usage: { input_tokens: 5, cache_read_input_tokens: 20, output_tokens: 1 } },
  },
  { type: "ping" },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "x" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello" } },
  { type: "content_block_stop", index: 1 },
  {
    type: "content_block_start",
    index: 2,
    content_block: { type: "tool_use", id: "toolu_1", name: "find", input: {} },
  },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"a":' } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "1}" } },
  { type: "content_block_stop", index: 2 },
  {
    type: "content_block_start",
    index: 3,
    content_block: { type: "tool_use", id: "toolu_2", name: "list", input: {} },
  },
  { type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: "" } },
  { type: "content_block_stop", index: 3 },
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use", stop_sequence: null },
    usage: { output_tokens: 9 },
  },
  { type: "message_stop" },
];

/** A response with reasoning, text and a tool call. */
const RESPONSE: readonly object[] = [
  { type: "response.created", response: { status: "in_progress" } },
  { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "hm" },
  { type: "response.output_item.added", output_index: 1, item: { type: "message", content: [] } },
  {
    type: "response.output_text.delta",
    output_index: 1,
    delta: "Hello",
    logprobs: [{ token: "Hello", logprob: -0.5, bytes: null, top_logprobs: [{ token: "Hi", logprob: -1 }] }],
  },
  { type: "response.output_text.done", output_index: 1, text: "Hello" },
  {
    type: "response.output_item.added",
    output_index: 2,
    item: { type: "function_call", id: "fc_1", call_id: "call_1", name: "find", arguments: "" },
  },
  { type: "response.function_call_arguments.delta", output_index: 2, delta: '{"a":' },
  { type: "response.function_call_arguments.delta", output_index: 2, delta: "1}" },
  {
    type: "response.completed",
    response: {
      status: "completed",
      usage: {
        input_tokens: 25,
        input_tokens_details: { cached_tokens: 20 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 2 },
      },
    },
  },
];

/** Reasoning, text and calls of an answer, and how it ended. */
function summary(events: readonly RunEvent[]) {
  const of = (type: "text" | "reasoning"): string =>
    events.map((event) => (event.type === type ? event.text : "")).join("");
  const calls: string[] = [];
  for (const event of events) {
    if (event.type === "tool_call_start") calls.push(`${event.id} ${event.name} `);
    if (event.type === "tool_call_args") calls[event.index] += event.delta;
  }
  const end = events.find((event) => event.type === "choice_end");
  const finish = events.at(-1);
  return {
    text: of("text"),
    reasoning: of("reasoning"),
    calls,
    reason: end?.reason,
    stop: end?.stop,
    usage: finish?.type === "finish" ? finish.usage : finish,
  };
}

describe("the Messages API", () => {
  test("gets the conversation in its own form", async () => {
    const request = chat(
      { messages: MESSAGES, tools: [TOOL], answerPrefix: "So" },
      { stop: ["END"], sampling: { ...DEFAULT_SAMPLING, temperature: 0.5, topK: 7 } },
    );
    const { seen } = await ask("messages", request, MESSAGE);
    expect(seen).toMatchObject({
      path: "/v1/messages",
      headers: { "x-api-key": "sk-1", "anthropic-version": "2023-06-01" },
    });
    expect(seen?.headers["authorization"]).toBeUndefined();
    expect(seen?.body).toEqual({
      model: "m",
      max_tokens: 8192,
      system: "Be brief.\n\nBe kind.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "call_1", name: "find", input: { a: 1 } },
            { type: "tool_use", id: "call_2", name: "find", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "one" }] },
            { type: "tool_result", tool_use_id: "call_2" },
          ],
        },
        { role: "assistant", content: "So" },
      ],
      tools: [{ name: "find", description: "Finds.", input_schema: { type: "object" } }],
      temperature: 0.5,
      top_k: 7,
      stop_sequences: ["END"],
      stream: true,
    });
  });

  test("is told how to choose tools and how to think", async () => {
    const tools = [TOOL];
    const choice = async (prompt: Partial<ChatPrompt>) =>
      (await bodyOf("messages", chat({ tools, ...prompt })))?.["tool_choice"];
    expect(await choice({})).toBeUndefined();
    expect(await choice({ toolChoice: { type: "required" } })).toEqual({ type: "any" });
    expect(await choice({ singleCall: true })).toEqual({ type: "auto", disable_parallel_tool_use: true });
    expect(await choice({ toolChoice: { type: "none" }, singleCall: true })).toEqual({ type: "none" });
    const named = { type: "named", names: ["find"], required: true } as const;
    expect(await choice({ toolChoice: named })).toEqual({ type: "tool", name: "find" });

    const thinking = async (prompt: Partial<ChatPrompt>, maxTokens?: number) =>
      (await bodyOf("messages", chat(prompt, maxTokens === undefined ? {} : { maxTokens })))?.["thinking"];
    expect(await thinking({ thinking: { enabled: false } })).toEqual({ type: "disabled" });
    expect(await thinking({ thinking: { enabled: true, effort: "low" } })).toEqual({
      type: "enabled",
      budget_tokens: 2048,
    });
    expect(await thinking({ thinking: { enabled: true } }, 3000)).toEqual({
      type: "enabled",
      budget_tokens: 1500,
    });
    expect(await thinking({ thinking: { enabled: true } }, 100)).toBeUndefined();
  });

  test("asks for no more tokens than a known context has left", async () => {
    const fake = fakeUpstream({ type: "answer", chunks: MESSAGE });
    fake.cards = [{ id: "m", owned_by: "vllm", max_model_len: 4096 }];
    const messages = [said("user", "word ".repeat(400))]; // 500 estimated tokens
    await Array.fromAsync(modelOn(fake, "messages").generate(chat({ messages }), NEVER, SERVER));
    const asked = Number(fake.seen[0]?.body["max_tokens"]);
    expect(asked).toBeGreaterThan(3000);
    expect(asked).toBeLessThan(3596);
  });

  test("answers with reasoning, text, tool calls and counts", async () => {
    const { events } = await ask("messages", chat({ tools: [TOOL] }), MESSAGE);
    expect(summary(events)).toEqual({
      text: "Hello",
      reasoning: "hm",
      calls: ['toolu_1 find {"a":1}', "toolu_2 list {}"],
      reason: "tool_calls",
      stop: undefined,
      usage: { promptTokens: 25, cachedTokens: 20, completionTokens: 9, reasoningTokens: 1 },
    });
  });

  test.each([
    ["end_turn", null, "stop", undefined],
    ["max_tokens", null, "length", undefined],
    ["stop_sequence", "END", "stop", "END"],
  ] as const)("stop_reason %s", async (reason, sequence, expected, stop) => {
    const chunks = [
      ...MESSAGE.slice(0, 9),
      {
        type: "message_delta",
        delta: { stop_reason: reason, stop_sequence: sequence },
        usage: { output_tokens: 2 },
      },
      { type: "message_stop" },
    ];
    const { events } = await ask("messages", chat({}, { stop: ["END"] }), chunks);
    expect(summary(events)).toMatchObject({ reason: expected, stop });
  });

  test("has neither embeddings nor audio", async () => {
    const fake = fakeUpstream();
    const model = modelOn(fake, "messages");
    expect(await model.load()).toMatchObject({ embeds: false, ranks: false, modalities: ["image"] });
    const audio: Message = { role: "user", content: [{ type: "audio", data: "UklGRg==" }] };
    const events = await Array.fromAsync(model.generate(chat({ messages: [audio] }), NEVER, SERVER));
    expect(events).toMatchObject([{ type: "error", error: { code: "unsupported_capability" } }]);
    expect(fake.seen).toEqual([]);
  });
});

describe("the Responses API", () => {
  test("gets the conversation in its own form and stores nothing", async () => {
    const request = chat(
      { messages: MESSAGES, tools: [TOOL], singleCall: true, thinking: { enabled: true, effort: "high" } },
      {
        maxTokens: 5,
        logprobs: { top: 1 },
        constraint: { type: "json_schema", schema: { type: "object" }, strict: true },
      },
    );
    const { seen } = await ask("responses", request, RESPONSE);
    expect(seen).toMatchObject({ path: "/v1/responses", headers: { authorization: "Bearer sk-1" } });
    expect(seen?.body).toEqual({
      model: "m",
      input: [
        { role: "system", content: "Be brief." },
        { role: "developer", content: "Be kind." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "See" },
            { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
          ],
        },
        { type: "function_call", call_id: "call_1", name: "find", arguments: '{"a":1}' },
        { type: "function_call", call_id: "call_2", name: "find", arguments: "" },
        { type: "function_call_output", call_id: "call_1", output: "one" },
        { type: "function_call_output", call_id: "call_2", output: "" },
      ],
      tools: [
        {
          type: "function",
          name: "find",
          description: "Finds.",
          parameters: { type: "object" },
          strict: true,
        },
      ],
      parallel_tool_calls: false,
      max_output_tokens: 16,
      include: ["message.output_text.logprobs"],
      top_logprobs: 1,
      text: { format: { type: "json_schema", name: "answer", schema: { type: "object" }, strict: true } },
      reasoning: { effort: "high", summary: "auto" },
      store: false,
      stream: true,
    });
  });

  test("answers with reasoning, text, log probabilities, tool calls and counts", async () => {
    const { events } = await ask("responses", chat({ tools: [TOOL] }, { logprobs: { top: 1 } }), RESPONSE);
    expect(summary(events)).toEqual({
      text: "Hello",
      reasoning: "hm",
      calls: ['call_1 find {"a":1}'],
      reason: "tool_calls",
      stop: undefined,
      usage: { promptTokens: 25, cachedTokens: 20, completionTokens: 9, reasoningTokens: 2 },
    });
    expect(events.find(({ type }) => type === "text")).toMatchObject({
      logprobs: [{ text: "Hello", logprob: -0.5, top: [{ text: "Hi", logprob: -1 }] }],
    });
  });

  test("an answer that was cut, and one that failed", async () => {
    const cut = [...RESPONSE.slice(0, 5), { type: "response.incomplete", response: {} }];
    expect(summary((await ask("responses", chat(), cut)).events)).toMatchObject({ reason: "length" });
    const failed = { type: "response.failed", response: { error: { code: "server_error", message: "no" } } };
    const { events } = await ask("responses", chat(), [...RESPONSE.slice(0, 5), failed]);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "upstream_failed" } });
  });
});

/** Requests of sampling and of a schema, which the two APIs carry to some servers. */
const SAMPLED = {
  ...DEFAULT_SAMPLING,
  topK: 5,
  minP: 0.1,
  seed: 7,
  presencePenalty: 1,
  repetitionPenalty: 1.2,
};
const SCHEMA = { constraint: { type: "json_schema", schema: { type: "object" } } } as const;
const FORMAT = { type: "json_schema", schema: { type: "object" } };

describe("fields beyond the two APIs reach the servers that have them", () => {
  test.each([
    ["messages", "svc", { repetition_penalty: 1.2, seed: 7, min_p: 0.1, top_k: 5, presence_penalty: 1 }],
    ["responses", "svc", { repetition_penalty: 1.2, seed: 7, min_p: 0.1, top_k: 5, presence_penalty: 1 }],
    ["responses", "llamacpp", { repeat_penalty: 1.2, seed: 7, min_p: 0.1, top_k: 5, presence_penalty: 1 }],
  ] as const)("sampling by %s to %s", async (dialect, owner, fields) => {
    const body = await bodyOf(dialect, chat({}, { sampling: SAMPLED, stop: ["END"] }), owner);
    expect(body).toMatchObject({ ...fields, [dialect === "messages" ? "stop_sequences" : "stop"]: ["END"] });
  });

  test.each([
    ["messages", "acme", { output_config: { format: FORMAT } }],
    ["messages", "vllm", { output_config: { format: FORMAT } }],
    ["messages", "svc", { response_format: { type: "json_schema" } }],
    ["responses", "llamacpp", { response_format: { type: "json_schema" } }],
    ["responses", "svc", { text: { format: { ...FORMAT, name: "answer" } } }],
  ] as const)("a schema by %s to %s", async (dialect, owner, fields) => {
    expect(await bodyOf(dialect, chat({}, SCHEMA), owner)).toMatchObject(fields);
  });

  test("a fingerprint and its request by both to svc", async () => {
    const same = { fingerprint: true, batchInvariant: true } as const;
    const ends = {
      messages: { type: "message_delta", delta: { stop_reason: "end_turn", fingerprint: "0a1b" } },
      responses: { type: "response.completed", response: { status: "completed", fingerprint: "0a1b" } },
    };
    for (const [dialect, last] of Object.entries(ends)) {
      const chunks =
        dialect === "messages"
          ? [...MESSAGE.slice(0, 9), last, MESSAGE.at(-1) ?? {}]
          : [...RESPONSE.slice(0, 5), last];
      const { events, seen } = await ask(dialect as UpstreamDialect, chat({}, same), chunks, "svc");
      expect(seen?.body).toMatchObject({ fingerprint: true, determinism: "batch-invariant" });
      expect(events.find(({ type }) => type === "choice_end")).toMatchObject({ fingerprint: "0a1b" });
    }
  });

  test("a regex to vLLM and svc", async () => {
    const regex = { constraint: { type: "regex", pattern: "a+" }, constraintParam: "grammar" } as const;
    const expected = { vllm: { structured_outputs: { regex: "a+" } }, svc: { grammar: { value: "a+" } } };
    for (const [owner, fields] of Object.entries(expected))
      expect(await bodyOf("responses", chat({}, regex), owner)).toMatchObject(fields);
  });

  test("audio by Responses to svc", async () => {
    const audio: Message = { role: "user", content: [{ type: "audio", data: "UklGRg==" }] };
    expect(await bodyOf("responses", chat({ messages: [audio] }), "svc")).toMatchObject({
      input: [{ content: [{ type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }] }],
    });
  });

  test("thinking and tools as servers behind the API read them", async () => {
    const off = { thinking: { enabled: false } };
    const kwargs = { chat_template_kwargs: { enable_thinking: false, thinking: false } };
    for (const owner of ["vllm", "llamacpp"]) {
      const body = await bodyOf("messages", chat(off), owner);
      expect([owner, body]).toMatchObject([owner, kwargs]);
      expect(body?.["thinking"]).toBeUndefined();
    }
    expect(await bodyOf("responses", chat(off), "llamacpp")).toMatchObject(kwargs);
    const named = { toolChoice: { type: "named", names: ["find"], required: true }, tools: [TOOL] } as const;
    expect(await bodyOf("responses", chat(named), "llamacpp")).toMatchObject({ tool_choice: "required" });
    const none = { toolChoice: { type: "none" }, tools: [TOOL] } as const;
    expect((await bodyOf("messages", chat(none), "llamacpp"))?.["tools"]).toBeUndefined();
    expect(await bodyOf("responses", chat({}, { maxTokens: 5 }), "vllm")).toMatchObject({
      max_output_tokens: 5,
    });
  });
});

test.each([
  ["messages", "acme", { sampling: { ...DEFAULT_SAMPLING, seed: 1 } }, "seed"],
  ["messages", "acme", { sampling: { ...DEFAULT_SAMPLING, presencePenalty: 1 } }, "presence_penalty"],
  ["messages", "llamacpp", { constraint: { type: "json_schema", schema: {} } }, "response_format"],
  ["messages", "library", { prompt: { ...chat().prompt, toolChoice: { type: "required" } } }, "tool_choice"],
  ["responses", "acme", { stop: ["END"] }, "stop"],
  ["responses", "acme", { sampling: { ...DEFAULT_SAMPLING, topK: 5 } }, "top_k"],
  ["responses", "vllm", { sampling: { ...DEFAULT_SAMPLING, presencePenalty: 1 } }, "presence_penalty"],
  ["responses", "llamacpp", { logprobs: { top: 1 } }, "logprobs"],
  ["responses", "svc", { prompt: { type: "text", text: "Once" } }, "prompt"],
] as const)("the %s API of %s does not have %o", async (dialect, owner, extra, field) => {
  const fake = fakeUpstream();
  fake.cards = [{ id: "m", owned_by: owner }];
  const request = chat({}, { constraintParam: "response_format", ...(extra as Partial<RunRequest>) });
  const events = await Array.fromAsync(modelOn(fake, dialect).generate(request, NEVER, SERVER));
  expect(events).toMatchObject([{ type: "error", error: { code: "unsupported_capability", param: field } }]);
  expect(fake.seen).toEqual([]);
});

test.each(["messages", "responses"] as const)("an error within a stream of the %s API", async (dialect) => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const first = dialect === "messages" ? MESSAGE.slice(0, 8) : RESPONSE.slice(0, 4);
  const { events } = await ask(dialect, chat(), [...first, overloaded]);
  expect(events.at(-1)).toMatchObject({
    type: "error",
    error: { code: "upstream_failed", message: expect.stringContaining("Overloaded") },
  });
});
