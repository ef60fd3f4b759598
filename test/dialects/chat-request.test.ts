import { describe, expect, test } from "bun:test";
import { CHOICES_MAX, MESSAGES_MAX } from "../../src/dialects/shared/limits.ts";
import type { Conversation, InputMessage } from "../../src/core/agent.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { chatBody } from "../helpers/app.ts";
import { type Body, refusalOf, type Rule, testRules } from "../helpers/rules.ts";

const refusal = (body: Body) => refusalOf(parseChatRequest, body);
const run = (extra: Body): Conversation["run"] => parseChatRequest(chatBody(extra)).run;
const thinking = (extra: Body) => run(extra).prompt.thinking;
const messages = (...sent: readonly unknown[]): readonly InputMessage[] =>
  parseChatRequest({ messages: sent }).run.prompt.messages;
const user = (content: unknown) => ({ messages: [{ role: "user", content }] });

describe("request", () => {
  test("messages alone take all defaults", () => {
    expect(parseChatRequest(chatBody())).toEqual({
      run: {
        model: "default",
        prompt: {
          type: "chat",
          messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
          tools: [],
          toolChoice: { type: "auto" },
          thinking: { enabled: true, unsaid: true },
        },
        sampling: DEFAULT_SAMPLING,
        stop: [],
        choices: 1,
        truncate: false,
      },
      agent: { python: false, files: [], interactive: false },
      stream: false,
      includeUsage: false,
    });
  });

  test("max_completion_tokens is a synonym of max_tokens", () => {
    expect(run({ max_completion_tokens: 9 }).maxTokens).toBe(9);
    expect(run({ max_completion_tokens: 9, max_tokens: 9 }).maxTokens).toBe(9);
    expect(run({ max_tokens: Number.MAX_SAFE_INTEGER }).maxTokens).toBe(2 ** 31 - 1);
    expect(run({ max_tokens: -1, max_completion_tokens: -1 })).not.toHaveProperty("maxTokens");
  });

  test("include_usage applies only to streams", () => {
    const options = { stream_options: { include_usage: true } };
    expect(parseChatRequest(chatBody({ ...options, stream: true }))).toMatchObject({
      stream: true,
      includeUsage: true,
    });
    expect(parseChatRequest(chatBody({ ...options })).includeUsage).toBe(false);
    expect(parseChatRequest(chatBody({ stream: true })).includeUsage).toBe(false);
  });

  test("converts n and logprobs", () => {
    expect(run({ n: 3 }).choices).toBe(3);
    expect(run({ n: CHOICES_MAX }).choices).toBe(CHOICES_MAX);
    expect(run({ logprobs: true }).logprobs).toEqual({ top: 0 });
    expect(run({ logprobs: true, top_logprobs: 20 }).logprobs).toEqual({ top: 20 });
    expect(run({ logprobs: false }).logprobs).toBeUndefined();
  });

  test("unused and unknown fields are accepted", () => {
    const unused = {
      user: "u",
      metadata: { a: 1 },
      service_tier: "auto",
      parallel_tool_calls: false,
      store: true,
    };
    expect(run({ ...unused, something_new: { deep: [1] } })).toEqual(run({}));
  });

  test("values without effect are accepted", () => {
    const neutral: Body = {
      n: 1,
      logprobs: false,
      top_logprobs: 0,
      logit_bias: {},
      presence_penalty: 0,
      frequency_penalty: 0,
      repetition_penalty: 1,
      dry_multiplier: 0,
      tools: [],
      tool_choice: "auto",
      functions: [],
      files: [],
      response_format: { type: "text" },
      modalities: ["text"],
      agent_permission: "deny",
      max_tool_rounds: 3,
    };
    expect(run(neutral)).toEqual(run({}));
  });
});

describe("messages", () => {
  test("a string is one user message", () => {
    expect(parseChatRequest({ messages: "Hi" }).run.prompt).toMatchObject({
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
    });
  });

  test("converts every role, with string and part contents", () => {
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b", cache_control: {} },
    ];
    expect(
      messages(
        { role: "system", content: "s" },
        { role: "developer", content: parts },
        { role: "user", content: "u", name: "ann" },
        { role: "assistant", content: null, tool_calls: [], reasoning_content: "hm", refusal: null },
        { role: "tool", content: "t", tool_call_id: "call_1", name: null },
      ),
    ).toEqual([
      { role: "system", content: [{ type: "text", text: "s" }] },
      {
        role: "developer",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      { role: "user", content: [{ type: "text", text: "u" }], name: "ann" },
      { role: "assistant", content: [], reasoning: "hm" },
      { role: "tool", content: [{ type: "text", text: "t" }], toolCallId: "call_1" },
    ]);
  });

  test("tool calls keep their ids, or get one if it is missing", () => {
    const calls = [
      { id: "call_9", type: "function", function: { name: "f", arguments: '{"a":1}' } },
      { function: { name: "g", arguments: "" } },
    ];
    expect(messages({ role: "user", content: "u" }, { role: "assistant", tool_calls: calls })[1]).toEqual({
      role: "assistant",
      content: [],
      toolCalls: [
        { id: "call_9", name: "f", arguments: '{"a":1}' },
        { id: "call_1_1", name: "g", arguments: "{}" },
      ],
    });
  });
});

describe("reasoning", () => {
  test.each<[Body, object]>([
    [{}, { enabled: true, unsaid: true }],
    [{ enable_thinking: true }, { enabled: true }],
    [{ enable_thinking: false }, { enabled: false }],
    [{ reasoning_effort: "off" }, { enabled: false }],
    [{ reasoning_effort: "none" }, { enabled: false }],
    [{ reasoning_effort: " HIGH\n" }, { enabled: true, effort: "high" }],
    [{ reasoning_effort: "low" }, { enabled: true, effort: "low" }],
    [
      { reasoning_effort: "medium", enable_thinking: true },
      { enabled: true, effort: "medium" },
    ],
    [{ reasoning_effort: "XHigh" }, { enabled: true, effort: "xhigh" }],
    [{ reasoning_effort: "None", enable_thinking: false }, { enabled: false }],
  ])("%j", (fields, expected: object) => {
    expect<object>({ ...thinking(fields) }).toEqual({ ...expected });
  });

  test.each<[Body, string]>([
    [{ reasoning_effort: "off", enable_thinking: true }, "contradictory_fields"],
    [{ reasoning_effort: "none", enable_thinking: true }, "contradictory_fields"],
    [{ reasoning_effort: "low", enable_thinking: false }, "contradictory_fields"],
    [{ reasoning_effort: "minimal" }, "unsupported_value"],
    [{ reasoning_effort: "" }, "unsupported_value"],
    [{ reasoning_effort: 3 }, "invalid_request"],
    [{ enable_thinking: "yes" }, "invalid_request"],
  ])("%j is refused", (fields, code) => {
    expect<string>(refusal(chatBody(fields)).code).toBe(code);
  });
});

const FIELD_RULES: readonly Rule[] = [
  [{}, "missing_field", "messages", "required"],
  [{ messages: null }, "invalid_request", "messages", "array"],
  [{ messages: 5 }, "invalid_request", "messages", "an array or a string", "a number"],
  [{ messages: [] }, "invalid_request", "messages", "must not be empty"],
  [chatBody({ model: 5 }), "invalid_request", "model", "a string"],
  [chatBody({ max_tokens: 0 }), "invalid_request", "max_tokens", "at least 1"],
  [chatBody({ max_tokens: "5" }), "invalid_request", "max_tokens", "an integer", "a string"],
  [chatBody({ max_completion_tokens: 1.5 }), "invalid_request", "max_completion_tokens"],
  [chatBody({ max_tokens: 1, max_completion_tokens: 2 }), "contradictory_fields", "max_completion_tokens"],
  [chatBody({ agent_permission: "maybe" }), "unsupported_value", "agent_permission", '"ask"', '"maybe"'],
  [chatBody({ agent_permission: "ask" }), "contradictory_fields", "agent_permission", "stream"],
  [chatBody({ code_execution_permission: "ask" }), "contradictory_fields", "code_execution_permission"],
  [chatBody({ max_tool_rounds: -1 }), "invalid_request", "max_tool_rounds"],
];

const MESSAGE_RULES: readonly Rule[] = [
  [{ messages: ["hi"] }, "invalid_request", "messages[0]", "an object"],
  [{ messages: [{ content: "hi" }] }, "missing_field", "messages[0].role"],
  [
    { messages: [{ role: "bot", content: "hi" }] },
    "unsupported_value",
    "messages[0].role",
    '"assistant"',
    '"bot"',
  ],
  [{ messages: [{ role: "user" }] }, "missing_field", "messages[0].content"],
  [user(null), "invalid_request", "messages[0].content", "a string or an array"],
  [user(5), "invalid_request", "messages[0].content", "a number"],
  [user(["x"]), "invalid_request", "messages[0].content[0]", "an object"],
  [user([{ text: "x" }]), "missing_field", "messages[0].content[0].type"],
  [user([{ type: "text" }]), "missing_field", "messages[0].content[0].text"],
  [user([{ type: "text", text: 1 }]), "invalid_request", "messages[0].content[0].text", "a string"],
  [user([{ type: "hologram" }]), "unsupported_value", "messages[0].content[0].type", '"text"', '"hologram"'],
  [
    user([{ type: "text", text: "x" }, { type: "image_url" }]),
    "missing_field",
    "messages[0].content[1].image_url",
  ],
  [user([{ type: "image_url", image_url: {} }]), "missing_field", "messages[0].content[0].image_url.url"],
  [user([{ type: "image_url", image_url: 5 }]), "invalid_request", "messages[0].content[0].image_url"],
  [user([{ type: "input_audio" }]), "missing_field", "messages[0].content[0].input_audio"],
  [
    user([{ type: "input_audio", input_audio: { format: "wav" } }]),
    "missing_field",
    "messages[0].content[0].input_audio.data",
  ],
  [user([{ type: "video_url" }]), "missing_field", "messages[0].content[0].video_url"],
  [
    { messages: [{ role: "system", content: [{ type: "image_url", image_url: "YQ==" }] }] },
    "unsupported_value",
    "messages[0].content[0].type",
  ],
  [user([{ type: "file" }]), "missing_field", "messages[0].content[0].file"],
  [
    { messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: [] } }] }] },
    "invalid_request",
    "messages[0].tool_calls[0].function.arguments",
    "a string",
    "an object",
  ],
  [
    { messages: [{ role: "assistant", function_call: { name: "f" } }] },
    "unsupported_value",
    "messages[0].function_call",
    "tool_calls",
  ],
  [{ messages: Array(MESSAGES_MAX + 1).fill({ role: "user", content: "" }) }, "invalid_request", "messages"],
];

const REFUSED_FIELDS: readonly Rule[] = [
  [chatBody({ n: 0 }), "invalid_request", "n", "at least 1", "at most 128"],
  [chatBody({ n: 129 }), "invalid_request", "n", "129"],
  [chatBody({ logprobs: 2 }), "invalid_request", "logprobs", "true or false", "a number"],
  [chatBody({ logprobs: true, top_logprobs: 21 }), "invalid_request", "top_logprobs", "at most 20"],
  [chatBody({ logprobs: true, top_logprobs: -1 }), "invalid_request", "top_logprobs"],
  [chatBody({ top_logprobs: 3 }), "contradictory_fields", "top_logprobs", "logprobs: true"],
  [chatBody({ logprobs: false, top_logprobs: 3 }), "contradictory_fields", "top_logprobs"],
  [chatBody({ functions: [{ name: "f" }] }), "unsupported_capability", "functions", "tools"],
  [chatBody({ modalities: ["text", "audio"] }), "unsupported_capability", "modalities"],
];

describe("refused: fields", () => testRules(parseChatRequest, FIELD_RULES));
describe("refused: messages", () => testRules(parseChatRequest, MESSAGE_RULES));
describe("refused: unsupported features", () => testRules(parseChatRequest, REFUSED_FIELDS));

test("errors never quote messages", () => {
  const secret = "a very private sentence";
  const bodies = [
    { messages: [{ role: "user", content: { text: secret } }] },
    { messages: [{ role: "user", content: [{ type: "text", text: secret }, 1] }] },
    { messages: [{ role: "user", content: secret }], temperature: 9 },
    { messages: [{ role: "user", content: secret }, secret] },
  ];
  for (const body of bodies) expect(JSON.stringify(refusal(body).toBody())).not.toContain("private");
});
