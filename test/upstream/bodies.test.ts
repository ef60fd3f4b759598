// Requests in the spelling of each server, as docs/fleet.md has them. Pure.

import { describe, expect, test } from "bun:test";
import { defined } from "../../src/core/defined.ts";
import type { ChatPrompt, RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { chatBody, type ChatRequest } from "../../src/upstream/chat-body.ts";
import { type EngineName, fieldsOf, unsupportedBy } from "../../src/upstream/engines.ts";
import { factsOf, type ServerFacts } from "../../src/upstream/facts.ts";

const PROMPT: ChatPrompt = {
  type: "chat",
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [],
  toolChoice: { type: "auto" },
  thinking: { enabled: true, unsaid: true },
};
const REQUEST: ChatRequest = {
  model: "m",
  prompt: PROMPT,
  sampling: DEFAULT_SAMPLING,
  stop: [],
  choices: 1,
  truncate: false,
};
const server = (engine: EngineName, more: Partial<ServerFacts> = {}): ServerFacts => ({
  engine,
  isOpenAi: false,
  runsNoTools: true,
  ...more,
});
const body = (extra: Partial<ChatRequest>, facts: ServerFacts) =>
  chatBody({ ...REQUEST, ...extra }, "m", facts);

test("a plain request has what every server knows", () => {
  expect(body({ maxTokens: 5 }, server("other"))).toEqual({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    max_tokens: 5,
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(body({ maxTokens: 5 }, server("other", { isOpenAi: true }))).toMatchObject({
    max_completion_tokens: 5,
  });
});

describe("fields that servers name otherwise", () => {
  test("sampling", () => {
    const sampling = { ...DEFAULT_SAMPLING, repetitionPenalty: 1.1, topK: 5, minP: 0.1 };
    expect(body({ sampling }, server("vllm"))).toMatchObject({
      repetition_penalty: 1.1,
      top_k: 5,
      min_p: 0.1,
    });
    expect(body({ sampling }, server("llama-server"))).toMatchObject({ repeat_penalty: 1.1 });
    expect(body({ truncate: true }, server("vllm"))).toMatchObject({ truncate_prompt_tokens: -1 });
  });

  test("thinking", () => {
    const off = { prompt: { ...PROMPT, thinking: { enabled: false } } };
    expect(body(off, server("svc"))).toMatchObject({ enable_thinking: false });
    expect(body(off, server("sglang"))).toMatchObject({
      chat_template_kwargs: { enable_thinking: false, thinking: false },
    });
    expect(body(off, server("ollama"))).toMatchObject({ reasoning_effort: "none" });
    const hard = { prompt: { ...PROMPT, thinking: { enabled: true, effort: "xhigh" } as const } };
    expect(body(hard, server("svc"))).toMatchObject({ reasoning_effort: "xhigh" });
    expect(body(hard, server("vllm"))).toMatchObject({ reasoning_effort: "high" });
  });

  test("guided decoding", () => {
    const regex = { constraint: { type: "regex", pattern: "a+" }, constraintParam: "grammar" } as const;
    expect(body(regex, server("svc"))).toMatchObject({ grammar: { type: "regex", value: "a+" } });
    expect(body(regex, server("sglang"))).toMatchObject({ regex: "a+" });
    expect(body(regex, server("vllm", { version: [0, 12] }))).toMatchObject({
      structured_outputs: { regex: "a+" },
    });
    expect(body(regex, server("vllm", { version: [0, 9] }))).toMatchObject({ guided_regex: "a+" });
    const schema = { constraint: { type: "json_schema", schema: { type: "object" } } } as const;
    expect(body(schema, server("ollama"))).toMatchObject({
      response_format: { type: "json_schema", json_schema: { schema: { type: "object" }, strict: false } },
    });
  });

  test("the beginning of an answer, and a choice among some tools", () => {
    const begun = { prompt: { ...PROMPT, answerPrefix: "Well," } };
    expect(body(begun, server("vllm"))).toMatchObject({
      messages: [{}, { role: "assistant", content: "Well," }],
      continue_final_message: true,
      add_generation_prompt: false,
    });
    const tools = ["a", "b"].map((name) => ({ name, parameters: {}, strict: false }));
    const toolChoice = { type: "named", names: ["a", "c"], required: true } as const;
    const some = { prompt: { ...PROMPT, tools, toolChoice } };
    expect(body(some, server("vllm"))).toMatchObject({
      tools: [{ function: { name: "a" } }],
      tool_choice: "required",
    });
    const one = { type: "named", names: ["a"], required: true } as const;
    const forced = { prompt: { ...PROMPT, tools, toolChoice: one } };
    expect(body(forced, server("vllm"))).toMatchObject({
      tool_choice: { type: "function", function: { name: "a" } },
    });
    // It reads a named tool as "auto".
    expect(body(forced, server("llama-server"))).toMatchObject({
      tools: [{ function: { name: "a" } }],
      tool_choice: "required",
    });
    expect(body(some, server("svc"))).toMatchObject({
      tool_choice: { type: "allowed_tools", mode: "required" },
    });
  });

  test("tools on demand: svc leaves them out of its prompt, others get those that were found", () => {
    const tools = ([undefined, true, "found"] as const).map((deferred, at) => ({
      name: `tool_${at}`,
      parameters: {},
      strict: false,
      ...defined({ deferred }),
    }));
    const request = { prompt: { ...PROMPT, tools } };
    const sentTo = (engine: EngineName) =>
      (body(request, server(engine))["tools"] as readonly Record<string, unknown>[]).map(
        ({ function: called, defer_loading }) => [(called as { name: string }).name, defer_loading],
      );
    expect(sentTo("svc")).toEqual([
      ["tool_0", undefined],
      ["tool_1", true],
      ["tool_2", true],
    ]);
    expect(sentTo("vllm")).toEqual([
      ["tool_0", undefined],
      ["tool_2", undefined],
    ]);
  });
});

test("media, earlier calls and reasoning", () => {
  const messages = [
    { role: "developer", content: [{ type: "text", text: "Be brief." }] },
    {
      role: "user",
      content: [
        { type: "image", data: "iVBORw0" },
        { type: "audio", data: "UklGRiQAAABXQVZF" },
      ],
    },
    {
      role: "assistant",
      content: [],
      reasoning: "Look.",
      toolCalls: [{ id: "c", name: "f", arguments: "{}" }],
    },
    {
      role: "tool",
      toolCallId: "c",
      content: [
        { type: "text", text: "ok" },
        { type: "image", data: "/9j/" },
      ],
    },
  ] as const;
  expect(body({ prompt: { ...PROMPT, messages } }, server("vllm"))["messages"]).toEqual([
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0" } },
        { type: "input_audio", input_audio: { data: "UklGRiQAAABXQVZF", format: "wav" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      reasoning_content: "Look.",
      reasoning: "Look.",
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", content: "ok", tool_call_id: "c" },
    { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/jpeg;base64,/9j/" } }] },
  ]);
});

test("servers are known by their model list", () => {
  expect(factsOf({ id: "m", owned_by: "vllm", max_model_len: 8192 }, "0.11.2")).toMatchObject({
    engine: "vllm",
    version: [0, 11],
    contextTokens: 8192,
    runsNoTools: true,
  });
  expect(factsOf({ id: "m", owned_by: "svc", tools_available: true })).toMatchObject({
    engine: "svc",
    runsNoTools: false,
  });
  expect(factsOf({ id: "m", owned_by: "acme" })).toMatchObject({ engine: "other", runsNoTools: false });
});

test("a request names the field that a server does not honour", () => {
  const needs = (extra: Partial<RunRequest>, engine: EngineName) =>
    unsupportedBy(engine, fieldsOf({ ...REQUEST, ...extra }));
  expect(needs({}, "ollama")).toBeUndefined();
  expect(needs({ choices: 2 }, "ollama")).toBe("n");
  expect(needs({ truncate: true }, "sglang")).toBe("truncate_sequence");
  expect(needs({ constraint: { type: "lark", grammar: "start: /a/" } }, "vllm")).toBe("grammar");
  expect(needs({ prompt: { type: "tokens", tokens: [1] } }, "ollama")).toBe("prompt");
  for (const engine of ["svc", "vllm", "other"] as const)
    expect(
      needs({ prompt: { type: "gap", before: "", after: "", files: [], answerTokens: 1 } }, engine),
    ).toBe("infill");
});
