import { describe, expect, test } from "bun:test";
import { SEARCH_DOMAINS_MAX } from "../../src/dialects/shared/limits.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { parseResponsesRequest, type StoredResponses } from "../../src/dialects/responses/request.ts";
import { ToolNames } from "../../src/dialects/responses/tool-names.ts";
import { responsesBody } from "../helpers/app.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";
import { type Body, refusalOf, type Rule, testRules } from "../helpers/rules.ts";

const parse = (body: Body) => parseResponsesRequest(body, NOTHING_STORED);
const call = (extra: Body = {}, stored: StoredResponses = NOTHING_STORED) =>
  parseResponsesRequest(responsesBody(extra), stored);
const messages = (input: unknown, extra: Body = {}) => call({ input, ...extra }).run.prompt.messages;
const said = (text: string) => [{ type: "text" as const, text }];
const fn = { type: "function", name: "find" };

describe("request", () => {
  test("takes the defaults of the dialect", () => {
    expect(call()).toEqual({
      run: {
        model: "default",
        prompt: {
          type: "chat",
          messages: [{ role: "user", content: said("Hello") }],
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
      summarizes: false,
      background: false,
      store: true,
      names: expect.any(ToolNames),
      echo: expect.any(Object),
      input: [{ type: "message", role: "user", content: "Hello" }],
      messages: [{ role: "user", content: said("Hello") }],
    });
  });

  test("converts every field", () => {
    const { run, stream, store, background } = call({
      model: "m",
      max_output_tokens: 5,
      temperature: 0,
      top_k: 3,
      stop: ["x"],
      n: 2,
      truncation: "auto",
      reasoning: { effort: " High ", summary: "auto" },
      stream: true,
      background: true,
    });
    expect(run).toMatchObject({
      model: "m",
      maxTokens: 5,
      sampling: { temperature: 0, topK: 3 },
      stop: ["x"],
      choices: 2,
      truncate: true,
      prompt: { thinking: { enabled: true, effort: "high" } },
    });
    expect({ stream, store, background }).toEqual({ stream: true, store: true, background: true });
  });

  test.each(["max_output_tokens", "max_tokens", "max_completion_tokens"])("%s caps the answer", (name) => {
    expect(call({ [name]: 7 }).run.maxTokens).toBe(7);
  });

  test.each(["off", "none"])("effort %s turns reasoning off", (effort) => {
    const { run, echo } = call({ reasoning: { effort } });
    expect(run.prompt.thinking).toEqual({ enabled: false });
    expect(echo.reasoning).toEqual({ effort: "none", summary: null });
  });

  test("fields of other dialects are ignored", () => {
    const others = {
      enable_thinking: false,
      reasoning_effort: "off",
      truncate_sequence: true,
      session_id: "s",
      agent_permission: "deny",
      max_tool_rounds: 0,
      web_search_options: {},
    };
    expect(call(others)).toEqual(call());
  });

  test.each([
    [{ logprobs: true }, { top: 0 }],
    [{ top_logprobs: 3 }, { top: 3 }],
    [{ include: ["message.output_text.logprobs"], top_logprobs: 0 }, { top: 0 }],
    [{ include: ["reasoning.encrypted_content"] }, undefined],
  ])("log probabilities: %j", (extra, expected) => expect(call(extra).run.logprobs).toEqual(expected));

  test("accepts a schema in text.format or in response_format", () => {
    const schema = { type: "object" };
    const flat = { type: "json_schema", name: "a", schema };
    const nested = { type: "json_schema", json_schema: { name: "a", schema } };
    const constraint = { type: "json_schema", schema, strict: false } as const;
    expect(call({ text: { format: flat } }).run).toMatchObject({
      constraint,
      constraintParam: "text.format",
    });
    expect(call({ response_format: nested }).run).toMatchObject({
      constraint,
      constraintParam: "response_format",
    });
    const shown = { format: { ...flat, description: null, strict: false } };
    expect(call({ text: { format: flat } }).echo.text).toEqual(shown);
    expect(call({ response_format: nested }).echo.text).toEqual(shown);
    expect(call({ text: { format: { type: "text" }, verbosity: "low" } }).run.constraint).toBeUndefined();
  });
});

describe("conversion of input items to messages", () => {
  test("instructions come first", () => {
    expect(messages("Hi", { instructions: "Be kind." })).toEqual([
      { role: "system", content: said("Be kind.") },
      { role: "user", content: said("Hi") },
    ]);
  });

  test("messages, with or without type, as text or parts", () => {
    const content = [
      { type: "input_text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(
      messages([
        { role: "developer", content: "d" },
        { type: "message", role: "user", content },
        { role: "assistant", content: [{ type: "output_text", text: "c", annotations: [] }], id: "msg_1" },
        { role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
      ]),
    ).toEqual([
      { role: "developer", content: said("d") },
      { role: "user", content: [...said("a"), ...said("b")] },
      { role: "assistant", content: said("c") },
      { role: "assistant", content: said("no") },
    ]);
  });

  test("reasoning, text and calls of one turn become one message", () => {
    expect(
      messages([
        { role: "user", content: "u" },
        { type: "reasoning", id: "rs_1", summary: [], content: [{ type: "reasoning_text", text: "hm" }] },
        { role: "assistant", content: "I look." },
        { type: "function_call", call_id: "c1", name: "find", arguments: "{}" },
        { type: "function_call", call_id: "c2", name: "stop", arguments: "" },
        { type: "function_call_output", call_id: "c1", output: "one" },
        { type: "function_call_output", call_id: "c2", output: [{ type: "input_text", text: "two" }] },
      ]),
    ).toEqual([
      { role: "user", content: said("u") },
      {
        role: "assistant",
        content: said("I look."),
        reasoning: "hm",
        toolCalls: [
          { id: "c1", name: "find", arguments: "{}" },
          { id: "c2", name: "stop", arguments: "{}" },
        ],
      },
      { role: "tool", content: said("one"), toolCallId: "c1", name: "find" },
      { role: "tool", content: said("two"), toolCallId: "c2", name: "stop" },
    ]);
  });

  test("a call after new reasoning starts a message; a summary is used if there is no reasoning text", () => {
    const items = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "sum" }] },
      { type: "function_call", call_id: "c", name: "find", arguments: "{}" },
      { type: "reasoning", encrypted_content: "xx", summary: [] },
      { role: "user", content: "u" },
    ];
    expect(messages(items)).toEqual([
      {
        role: "assistant",
        content: [],
        reasoning: "sum",
        toolCalls: [{ id: "c", name: "find", arguments: "{}" }],
      },
      { role: "user", content: said("u") },
    ]);
  });

  test("shell calls of the server, sent back", () => {
    const output = [{ stdout: "a\n", stderr: "", outcome: { type: "exit", exit_code: 0 } }];
    expect(
      messages([
        { type: "shell_call", call_id: "c", action: { commands: ["ls"] }, id: "sc_1", status: "completed" },
        { type: "shell_call_output", call_id: "c", output, id: "sco_1" },
      ]),
    ).toEqual([
      {
        role: "assistant",
        content: [],
        toolCalls: [{ id: "c", name: "svc_shell", arguments: '{"commands":["ls"]}' }],
      },
      { role: "tool", content: said(JSON.stringify(output)), toolCallId: "c", name: "svc_shell" },
    ]);
  });

  test.each([
    [{ file_id: "file-1" }, { type: "stored", id: "file-1" }],
    [
      { file_data: "data:,x", filename: "x.txt" },
      { type: "inline", data: "data:,x", filename: "x.txt" },
    ],
    [{ file_data: "eA==" }, { type: "inline", data: "eA==" }],
    [{ file_url: "https://example.org/a" }, { type: "remote", url: "https://example.org/a" }],
  ])("files: %j", (file, source) => {
    const parts: unknown = messages([{ role: "user", content: [{ type: "input_file", ...file }] }])[0]
      ?.content;
    expect(parts).toEqual([{ type: "file", source, param: "input[0].content[0]" }]);
  });

  test("references are resolved, also without type", () => {
    const stored: StoredResponses = {
      ...NOTHING_STORED,
      item: (id) => (id === "msg_1" ? { type: "message", role: "user", content: "found" } : undefined),
    };
    for (const reference of [{ type: "item_reference", id: "msg_1" }, { id: "msg_1" }]) {
      expect(call({ input: [reference] }, stored).messages).toEqual([
        { role: "user", content: said("found") },
      ]);
    }
  });

  test("previous_response_id continues conversation and session, without the earlier instructions", () => {
    const stored: StoredResponses = {
      ...NOTHING_STORED,
      conversation: () => ({ messages: [{ role: "user", content: said("before") }], sessionId: "sess_1" }),
    };
    const {
      run,
      agent,
      messages: kept,
    } = call({ previous_response_id: "resp_1", instructions: "New." }, stored);
    expect(run.prompt.messages.map(({ role }) => role)).toEqual(["system", "user", "user"]);
    expect(kept.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(agent.sessionId).toBe("sess_1");
  });
});

describe("tools", () => {
  test("functions in both forms; the resource has the flat one", () => {
    const tools = [fn, { type: "function", function: { name: "stop", strict: true } }];
    const { run, echo } = call({ tools });
    expect(run.prompt.tools.map(({ name, strict }) => [name, strict])).toEqual([
      ["find", false],
      ["stop", true],
    ]);
    expect(echo.tools).toEqual([
      { type: "function", name: "find", description: null, parameters: null, strict: false },
      { type: "function", name: "stop", description: null, parameters: null, strict: true },
    ]);
  });

  test("of the server", () => {
    const skills = [
      { type: "skill_reference", skill_id: "a", version: "latest" },
      { type: "skill_reference", skill_id: "b", version: 2 },
      { type: "skill_reference", skill_id: "c", version: "3" },
      { type: "skill_reference", skill_id: "d" },
    ];
    const { agent } = call({
      tools: [
        {
          type: "web_search",
          search_context_size: "low",
          user_location: { type: "approximate", city: "Bern" },
        },
        { type: "code_interpreter", container: { type: "auto" } },
        { type: "shell", environment: { type: "container_auto", skills } },
      ],
      files: [{ name: "a.csv" }],
      tool_choice: "required",
    });
    expect(agent).toEqual({
      fields: { web_search: "tools[0]", code_execution: "tools[1]", shell: "tools[2]" },
      python: true,
      shell: {
        skills: [
          { skillId: "a", version: "latest" },
          { skillId: "b", version: 2 },
          { skillId: "c", version: 3 },
          { skillId: "d", version: "latest" },
        ],
      },
      webSearch: {
        contextSize: "low",
        unlimitedBudget: false,
        allowedDomains: [],
        blockedDomains: [],
        location: { city: "Bern" },
      },
      files: [{ name: "a.csv" }],
      interactive: false,
    });
  });

  test("a stream is interactive, a background response is not", () => {
    expect(call({ stream: true }).agent.interactive).toBe(true);
    for (const extra of [{}, { background: true }, { background: true, stream: true }]) {
      expect(call(extra).agent.interactive).toBe(false);
    }
  });

  test("the search preview ignores external_web_access", () => {
    const { agent } = call({ tools: [{ type: "web_search_preview", external_web_access: false }] });
    expect(agent.webSearch).toMatchObject({ contextSize: "medium" });
  });
});

describe("refused", () => {
  const hosts = Array.from({ length: SEARCH_DOMAINS_MAX + 1 }, (_, index) => `h${index}.example`);
  const tool = (extra: Body) => responsesBody({ tools: [extra] });
  const shell = (environment: Body) => tool({ type: "shell", environment });
  const part = (extra: Body) => responsesBody({ input: [{ role: "user", content: [extra] }] });
  const RULES: readonly Rule[] = [
    [{}, "missing_field", "input"],
    [responsesBody({ input: [] }), "invalid_request", "input", "empty"],
    [responsesBody({ input: 5 }), "invalid_request", "input"],
    [responsesBody({ input: [{ type: "future_call" }] }), "unsupported_value", "input[0].type", "message"],
    [responsesBody({ input: [{ content: "a" }] }), "missing_field", "input[0].type"],
    [responsesBody({ input: [{ role: "tool", content: "a" }] }), "unsupported_value", "input[0].role"],
    [responsesBody({ input: [{ role: "user" }] }), "missing_field", "input[0].content"],
    [
      responsesBody({ input: [{ type: "function_call", name: "a", arguments: "" }] }),
      "missing_field",
      "input[0].call_id",
    ],
    [part({ type: "input_image" }), "invalid_request", "input[0].content[0]", "image_url and file_id"],
    [part({ type: "input_image", image_url: "a", file_id: "b" }), "invalid_request", "input[0].content[0]"],
    [part({ type: "input_audio", format: "wav" }), "missing_field", "input[0].content[0].data"],
    [part({ type: "input_video" }), "invalid_request", "input[0].content[0]", "video_url, data and file_id"],
    [
      responsesBody({
        input: [{ role: "assistant", content: [{ type: "input_image", image_url: "YQ==" }] }],
      }),
      "invalid_request",
      "input[0].content[0]",
      "assistant",
    ],
    [part({ type: "input_file" }), "invalid_request", "input[0].content[0]", "file_id"],
    [part({ type: "input_file", file_id: "a", file_url: "b" }), "invalid_request", "input[0].content[0]"],
    [part({ type: "nope" }), "unsupported_value", "input[0].content[0].type"],
    [responsesBody({ input: [{ type: "item_reference", id: "msg_1" }] }), "invalid_request", "input[0].id"],
    [responsesBody({ previous_response_id: "resp_1" }), "response_not_found", "previous_response_id"],
    [responsesBody({ parallel_tool_calls: false }), "unsupported_value", "parallel_tool_calls", "true"],
    [responsesBody({ max_tool_calls: 3 }), "unsupported_value", "max_tool_calls", "--max-tool-rounds"],
    [responsesBody({ background: true, store: false }), "contradictory_fields", "background", "store"],
    [responsesBody({ conversation: "conv_1" }), "unsupported_capability", "conversation"],
    [responsesBody({ prompt: { id: "p" } }), "unsupported_capability", "prompt"],
    [responsesBody({ truncation: "always" }), "unsupported_value", "truncation", "auto"],
    [responsesBody({ reasoning: { effort: "huge" } }), "unsupported_value", "reasoning.effort", "low"],
    [responsesBody({ text: { format: { type: "json_object" } } }), "unsupported_value", "text.format.type"],
    [
      responsesBody({ response_format: { type: "json_object" } }),
      "unsupported_value",
      "response_format.type",
    ],
    [
      responsesBody({ text: { format: { type: "json_schema", name: "a" } } }),
      "missing_field",
      "text.format.schema",
    ],
    [
      responsesBody({
        text: { format: { type: "json_schema", name: "a", schema: {} } },
        grammar: { type: "regex", value: "a" },
      }),
      "contradictory_fields",
      "grammar",
    ],
    [
      responsesBody({ max_output_tokens: 5, max_tokens: 6 }),
      "contradictory_fields",
      "max_tokens",
      "max_output_tokens",
    ],
    [responsesBody({ max_output_tokens: 0 }), "invalid_request", "max_output_tokens"],
    [responsesBody({ logprobs: false, top_logprobs: 2 }), "contradictory_fields", "top_logprobs"],
    [responsesBody({ metadata: "a" }), "invalid_request", "metadata"],
    [
      responsesBody({ tools: [fn], tool_choice: { type: "function", name: "no" } }),
      "invalid_request",
      "tool_choice.name",
    ],
    [responsesBody({ tool_choice: { type: "web_search_preview" } }), "unsupported_value", "tool_choice.type"],
    [
      responsesBody({
        tools: [fn],
        tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "shell" }] },
      }),
      "unsupported_value",
      "tool_choice.tools[0].type",
    ],
    [tool({ type: "mcp", server_label: "a" }), "unsupported_value", "tools[0].type", "web_search"],
    [
      tool({ type: "web_search", search_content_types: ["image"] }),
      "unsupported_value",
      "tools[0].search_content_types",
    ],
    [tool({ type: "web_search", image_settings: {} }), "unsupported_value", "tools[0].image_settings"],
    [
      tool({ type: "web_search", external_web_access: false }),
      "unsupported_value",
      "tools[0].external_web_access",
    ],
    [
      tool({ type: "web_search", filters: { blocked_domains: hosts } }),
      "invalid_request",
      "tools[0].filters.blocked_domains",
    ],
    [
      tool({ type: "web_search", filters: { allowed_domains: hosts } }),
      "invalid_request",
      "tools[0].filters.allowed_domains",
    ],
    [
      tool({ type: "web_search_preview", filters: {} }),
      "unsupported_value",
      "tools[0].filters",
      "web_search",
    ],
    [
      tool({ type: "web_search_preview", return_token_budget: "default" }),
      "unsupported_value",
      "tools[0].return_token_budget",
    ],
    [
      responsesBody({ tools: [{ type: "web_search" }, { type: "web_search_preview" }] }),
      "contradictory_fields",
      "tools",
    ],
    [tool({ type: "code_interpreter", container: "cntr_1" }), "unsupported_value", "tools[0].container"],
    [
      tool({ type: "code_interpreter", container: { type: "auto", file_ids: [] } }),
      "unsupported_value",
      "tools[0].container.file_ids",
    ],
    [
      tool({ type: "code_interpreter", container: { type: "auto", memory_limit: "1g" } }),
      "unsupported_value",
      "tools[0].container.memory_limit",
    ],
    [shell({ type: "local" }), "unsupported_value", "tools[0].environment.type", "container_auto"],
    [
      shell({ type: "container_reference", container_id: "c" }),
      "unsupported_value",
      "tools[0].environment.type",
    ],
    [
      shell({ type: "container_auto", memory_limit: "1g" }),
      "unsupported_value",
      "tools[0].environment.memory_limit",
    ],
    [
      shell({ type: "container_auto", skills: [{ type: "local", path: "a" }] }),
      "unsupported_value",
      "tools[0].environment.skills[0].type",
    ],
    [
      shell({ type: "container_auto", skills: [{ type: "inline" }] }),
      "unsupported_value",
      "tools[0].environment.skills[0].type",
    ],
    [
      shell({ type: "container_auto", skills: [{ type: "skill_reference", skill_id: "a", version: "v1" }] }),
      "invalid_request",
      "tools[0].environment.skills[0].version",
    ],
  ];
  testRules(parse, RULES);

  test("an unknown value of include", () => {
    const { code, param } = refusalOf(parse, responsesBody({ include: ["everything"] }));
    expect({ code, param }).toEqual({ code: "unsupported_value", param: "include[0]" });
  });
});
