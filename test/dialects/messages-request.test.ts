import { describe, expect, test } from "bun:test";
import { parseCountRequest, parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { messagesBody } from "../helpers/app.ts";
import { type Body, testRules } from "../helpers/rules.ts";

const parse = (extra: Body = {}) => parseMessagesRequest(messagesBody(extra));
const run = (extra: Body = {}) => parse(extra).run;
const agent = (extra: Body = {}) => parse(extra).agent;
/** The converted conversation of messages. */
const said = (messages: unknown, system?: unknown) => run({ messages, system }).prompt.messages;
const user = (content: unknown) => [{ role: "user", content }];
const text = (words: string) => ({ type: "text" as const, text: words });

const FIND = { name: "find", description: "Finds.", input_schema: { type: "object", properties: {} } };
const SEARCH = { type: "web_search_20250305", name: "web_search" };
const PYTHON = { type: "code_execution_20250825", name: "code_execution" };

test("a minimal body takes all defaults", () => {
  expect(parse()).toMatchObject({
    stream: false,
    view: { countsCached: false, omitsThinking: false },
    run: {
      model: "default",
      maxTokens: 64,
      choices: 1,
      stop: [],
      truncate: false,
      prompt: { tools: [], toolChoice: { type: "auto" }, thinking: { enabled: true, unsaid: true } },
    },
    agent: { python: false, files: [], interactive: false },
  });
});

test("sampling and limits", () => {
  const fields = { temperature: 0.5, top_k: 3, min_p: 0.1, repetition_penalty: 1.1, seed: 7 };
  expect(run({ ...fields, stop_sequences: ["a", "b", "a"], truncate_sequence: true })).toMatchObject({
    sampling: { temperature: 0.5, topK: 3, minP: 0.1, repetitionPenalty: 1.1, seed: 7 },
    stop: ["a", "b"],
    truncate: true,
  });
  for (const max_tokens of [null, -1]) expect(run({ max_tokens })).not.toHaveProperty("maxTokens");
  expect(run({ max_tokens: 0 }).maxTokens).toBe(0);
});

test("unused fields are ignored", () => {
  const without = { thinking: { type: "enabled" } };
  const thinking = { type: "enabled" };
  const cited = [{ ...text("Hello"), citations: { enabled: true } }];
  const fields = { thinking, logprobs: true, top_logprobs: 3, metadata: { user_id: "u" } };
  expect(parse({ ...fields, messages: user(cited) })).toEqual(parse(without));
});

describe("messages", () => {
  test("texts and blocks, the system text first", () => {
    expect(said(user("Hi"), "Be brief.")).toEqual([
      { role: "system", content: [text("Be brief.")] },
      { role: "user", content: [text("Hi")] },
    ]);
    expect(said(user([text("a")]), [text("b"), text("c")])[0]?.content).toEqual([
      text("b"),
      text("\n"),
      text("c"),
    ]);
    for (const system of ["", [], null]) expect(said(user("Hi"), system)).toHaveLength(1);
  });

  test("adjacent messages of one role are merged, with a separator between their texts", () => {
    const [first, ...others] = said([
      { role: "user", content: "one" },
      { role: "user", content: [text("two\n"), text("three")] },
    ]);
    expect(others).toEqual([]);
    expect(first?.content).toEqual([text("one"), text("\n"), text("two\n"), text("three")]);
  });

  test("system messages may be anywhere", () => {
    const turns = said(
      [
        { role: "system", content: "b" },
        { role: "user", content: "c" },
        { role: "system", content: "d" },
      ],
      "a",
    );
    expect(turns.map(({ role }) => role)).toEqual(["system", "user", "system"]);
    expect(turns[0]?.content).toEqual([text("a"), text("\n"), text("b")]);
  });

  test("billing headers, which differ in each request, are dropped", () => {
    const note = text("x-anthropic-billing-header: version=1; hash=0815;");
    expect(said(user("Hi"), [note, text("You write code.")])[0]?.content).toEqual([text("You write code.")]);
    expect(said(user("Hi"), [note])).toHaveLength(1);
  });

  test("a tool result becomes a separate message", () => {
    const use = { type: "tool_use", id: "call_1", name: "find", input: { q: "x" } };
    const result = { type: "tool_result", tool_use_id: "call_1", content: "found" };
    const thinking = { type: "thinking", thinking: "hm", signature: "svc" };
    const redacted = { type: "redacted_thinking", data: "x" };
    const turns = said([
      { role: "user", content: "find x" },
      { role: "assistant", content: [thinking, redacted, text("I look."), use] },
      { role: "user", content: [result, text("and now?")] },
    ]);
    expect(turns.slice(1)).toEqual([
      {
        role: "assistant",
        content: [text("I look.")],
        reasoning: "hm",
        toolCalls: [{ id: "call_1", name: "find", arguments: '{"q":"x"}' }],
      },
      { role: "tool", content: [text("found")], toolCallId: "call_1", name: "find" },
      { role: "user", content: [text("and now?")] },
    ]);
  });

  test("results: several, as blocks, empty, failed, of an unknown call", () => {
    const result = (extra: object) => ({ type: "tool_result", tool_use_id: "c", ...extra });
    const source = { type: "text", media_type: "text/plain", data: "doc" };
    const turns = said(
      user([
        result({ content: [text("a"), { type: "document", source }] }),
        result({}),
        result({ content: "no such file", is_error: true }),
      ]),
    );
    expect(turns).toEqual([
      { role: "tool", content: [text("a"), text("\n"), text("doc")], toolCallId: "c" },
      { role: "tool", content: [text("")], toolCallId: "c" },
      { role: "tool", content: [text("Error: "), text("no such file")], toolCallId: "c" },
    ]);
  });

  test("documents are files", () => {
    const document = (source: object, extra: object = {}) => ({ type: "document", source, ...extra });
    const parts = said(
      user([
        document({ type: "base64", media_type: "application/pdf", data: "JVBE" }, { title: "a.pdf" }),
        document({ type: "text", media_type: "text/plain", data: "hé" }, { context: "a note" }),
        document({ type: "content", content: [text("x"), text("y")] }),
        document({ type: "file", file_id: "file-1" }),
        document({ type: "url", url: "https://example.org/a.pdf" }),
      ]),
    )[0]?.content;
    const at = (index: number) => ({ type: "file", param: `messages[0].content[${index}]`, isWhole: true });
    const inline = (data: string) => ({ type: "inline", data: `data:text/plain;base64,${btoa(data)}` });
    expect<readonly object[] | undefined>(parts).toEqual([
      {
        ...at(0),
        source: { type: "inline", data: "data:application/pdf;base64,JVBE", filename: "a.pdf" },
      },
      text("a note"),
      { ...at(1), source: inline("h\u00c3\u00a9") },
      { ...at(2), source: inline("x\ny") },
      { ...at(3), source: { type: "stored", id: "file-1" } },
      { ...at(4), source: { type: "remote", url: "https://example.org/a.pdf" } },
    ]);
  });

  test("merging is linear in the number of messages", () => {
    const messages = Array.from({ length: 16_384 }, () => ({ role: "user", content: "w" }));
    expect(said(messages)[0]?.content).toHaveLength(2 * messages.length - 1);
  });
});

describe("tools", () => {
  const tools = [FIND, { type: "custom", name: "stop", strict: true }];
  const use = (tool_choice?: object) => run({ tools, tool_choice }).prompt;

  test("of the client", () => {
    expect(use().tools).toEqual([
      {
        name: "find",
        description: "Finds.",
        parameters: { type: "object", properties: {} },
        strict: false,
      },
      { name: "stop", parameters: { type: "object", properties: {} }, strict: true },
    ]);
  });

  test("choices", () => {
    expect(use().toolChoice).toEqual({ type: "auto" });
    expect(use({ type: "auto" }).toolChoice).toEqual({ type: "auto" });
    expect(use({ type: "any" }).toolChoice).toEqual({ type: "required" });
    const named = { type: "named", names: ["stop"], required: true, once: true } as const;
    expect(use({ type: "tool", name: "stop" }).toolChoice).toEqual(named);
    expect(use({ type: "none" })).toMatchObject({ tools: [], toolChoice: { type: "none" } });
    expect(use({ type: "auto", disable_parallel_tool_use: true }).singleCall).toBe(true);
    expect(use({ type: "auto" })).not.toHaveProperty("singleCall");
    expect(run({ tools: [PYTHON], tool_choice: { type: "any" } }).prompt.toolChoice.type).toBe("required");
  });

  test("of the server: web search", () => {
    const location = { type: "approximate", city: "Zürich", country: "CH", region: null };
    const search = {
      ...SEARCH,
      allowed_domains: ["a.org"],
      blocked_domains: null,
      max_uses: 2,
      user_location: location,
    };
    expect(agent({ tools: [search] }).webSearch).toEqual({
      contextSize: "medium",
      unlimitedBudget: false,
      allowedDomains: ["a.org"],
      blockedDomains: [],
      location: { city: "Zürich", country: "CH" },
      usesMax: 2,
    });
    expect(agent({ web_search_options: { search_context_size: "low" } }).webSearch?.contextSize).toBe("low");
  });

  test("of the server: every version of web search", () => {
    for (const type of ["web_search_20250305", "web_search_20260209", "web_search_20260318"]) {
      const { webSearch, python } = agent({ tools: [{ ...SEARCH, type }] });
      expect([webSearch?.contextSize, python]).toEqual(["medium", false]);
    }
  });

  test("of the server: code execution under each of its names, and a shell with skills", () => {
    for (const extra of [
      { enable_code_execution: true },
      { tools: [PYTHON] },
      { tools: [{ name: "code_execution" }] },
    ]) {
      expect(agent(extra).python).toBe(true);
      expect(run(extra).prompt.tools).toEqual([]);
    }
    expect(agent({ tools: [{ name: "code_execution", input_schema: {} }] }).python).toBe(false);
    const skill = (version?: unknown) => ({ type: "custom", skill_id: "skill_1", version });
    const skills = [skill(), skill("latest"), skill("3"), skill(4)];
    expect(agent({ container: { skills } }).shell?.skills.map(({ version }) => version)).toEqual([
      "latest",
      "latest",
      3,
      4,
    ]);
    expect(agent({ container: { skills: [] } })).not.toHaveProperty("shell");
  });

  test("none disables all server-side tools", () => {
    const container = { skills: [{ type: "custom", skill_id: "s" }] };
    const everything = { tools: [SEARCH, PYTHON, FIND], enable_code_execution: true, container };
    expect(agent({ ...everything, tool_choice: { type: "none" } })).toEqual({
      python: false,
      files: [],
      interactive: false,
      maxToolRounds: 0,
    });
  });

  test("agent fields", () => {
    const fields = { session_id: "s", agent_permission: "ask", max_tool_rounds: 3, stream: true };
    expect(agent({ ...fields, files: [{ name: "a.csv" }] })).toEqual({
      sessionId: "s",
      permission: "ask",
      maxToolRounds: 3,
      python: false,
      files: [{ name: "a.csv" }],
      interactive: true,
    });
  });
});

describe("thinking", () => {
  const thinking = (extra: Body) => run(extra).prompt.thinking;

  test.each<[Body, object]>([
    [{ thinking: { type: "enabled", budget_tokens: 2048 } }, { enabled: true, budget: 2048 }],
    [{ thinking: { type: "adaptive" } }, { enabled: true }],
    [{ thinking: { type: "disabled" } }, { enabled: false }],
    [{ enable_thinking: false }, { enabled: false }],
    [{ reasoning_effort: " High " }, { enabled: true, effort: "high" }],
    [{ reasoning_effort: "off", thinking: { type: "disabled" } }, { enabled: false }],
    [{ output_config: { effort: "low" } }, { enabled: true, effort: "low" }],
    [{ output_config: { effort: "max" } }, { enabled: true, effort: "xhigh" }],
    [{ output_config: { effort: "none" } }, { enabled: false }],
    [{ output_config: { effort: "low" }, thinking: { type: "disabled" } }, { enabled: false }],
    [
      { output_config: { effort: "low" }, reasoning_effort: "low" },
      { enabled: true, effort: "low" },
    ],
  ])("%j", (extra, expected) => expect<object>(thinking(extra)).toEqual(expected));

  test("may be omitted from the answer", () => {
    expect(parse({ thinking: { type: "adaptive", display: "omitted" } }).view.omitsThinking).toBe(true);
    expect(parse({ thinking: { type: "adaptive", display: "summarized" } }).view.omitsThinking).toBe(false);
  });
});

test("constraints of the answer", () => {
  const schema = { type: "object" };
  const constraint = { type: "json_schema", schema, strict: false } as const;
  expect(run({ output_config: { format: { type: "json_schema", schema } } })).toMatchObject({
    constraint,
    constraintParam: "output_config.format",
  });
  const response_format = { type: "json_schema", json_schema: { name: "a", schema } };
  expect(run({ response_format })).toMatchObject({ constraint, constraintParam: "response_format" });
  expect(run({ grammar: { type: "regex", value: "a+" } })).toMatchObject({
    constraint: { type: "regex", pattern: "a+" },
    constraintParam: "grammar",
  });
});

test.each<[string, Body]>([
  ["the request", { cache_control: { type: "ephemeral" } }],
  ["the system", { system: [{ ...text("a"), cache_control: { type: "ephemeral" } }] }],
  ["a tool", { tools: [{ ...FIND, cache_control: { type: "ephemeral" } }] }],
  ["a message", { messages: user([{ ...text("a"), cache_control: { type: "ephemeral" } }]) }],
  [
    "a result",
    {
      messages: user([
        {
          type: "tool_result",
          tool_use_id: "c",
          content: [{ ...text("a"), cache_control: { type: "ephemeral" } }],
        },
      ]),
    },
  ],
])("cache_control on %s makes usage report cached tokens", (_, extra) => {
  expect(parse(extra).view.countsCached).toBe(true);
});

test("a count request has the same prompt and generates nothing", () => {
  const body = {
    system: "Be brief.",
    tools: [FIND],
    tool_choice: { type: "any" },
    thinking: { type: "disabled" },
  };
  const counted = parseCountRequest(messagesBody(body)).run;
  expect(counted.prompt).toEqual(run(body).prompt);
  expect(counted.countOnly).toBe(true);
  expect(run(body)).not.toHaveProperty("countOnly");
  const ended = [...user("a"), { role: "assistant", content: "b" }];
  expect(parseCountRequest({ messages: ended }).run.prompt).toMatchObject({ answerPrefix: "b" });
});

describe("refused", () => {
  const body = messagesBody;
  const blocks = (...content: readonly unknown[]) => body({ messages: user(content) });
  const spoken = (...content: readonly unknown[]) =>
    body({ messages: [{ role: "assistant", content }, ...user("a")] });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
  const result = (content: unknown) => ({ type: "tool_result", tool_use_id: "c", content });
  const schema = {};
  const format = { type: "json_schema", schema };
  const at = "messages[0].content[0]";

  testRules(parseMessagesRequest, [
    [{}, "missing_field", "messages"],
    [{ messages: [] }, "invalid_request", "messages", "empty"],
    [body({ messages: "Hi" }), "invalid_request", "messages", "array"],
    [body({ messages: [{ role: "tool", content: "a" }] }), "unsupported_value", "messages[0].role", "user"],
    [body({ messages: [{ role: "user" }] }), "missing_field", "messages[0].content"],
    [blocks({ type: "video" }), "unsupported_value", `${at}.type`, '"text"'],
    [blocks({ type: "text" }), "missing_field", `${at}.text`],
    [
      blocks({ type: "image", source: { type: "text", data: "a cat" } }),
      "unsupported_value",
      `${at}.source.type`,
      '"base64"',
    ],
    [blocks({ type: "image" }), "missing_field", `${at}.source`, "required"],
    [
      blocks({ type: "document", source: { type: "base64" } }),
      "missing_field",
      "messages[0].content[0].source.data",
    ],
    [blocks({ type: "tool_use", id: "c", name: "f", input: {} }), "invalid_request", at, "user"],
    [spoken(result("a")), "invalid_request", at, "assistant"],
    [spoken({ type: "tool_use", id: "c", name: "f", input: 5 }), "invalid_request", `${at}.input`, "object"],
    [body({ messages: [{ role: "system", content: [image] }] }), "invalid_request", at, "system"],
    [body({ system: [image] }), "unsupported_value", "system[0].type", "text"],
    [body({ messages: [{ role: "assistant", content: "{" }] }), "invalid_request", "messages[0]", "user"],
    [
      body({
        messages: [
          ...user("a"),
          { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
        ],
      }),
      "invalid_request",
      "messages[1]",
      "results of its calls",
    ],
    [
      body({
        messages: [...user("a"), { role: "assistant", content: "{" }],
        tools: [{ name: "f" }],
        tool_choice: { type: "any" },
      }),
      "contradictory_fields",
      "tool_choice",
      "assistant message",
    ],
    [body({ max_tokens: -2 }), "invalid_request", "max_tokens", "at least 0"],
    [body({ temperature: 3 }), "invalid_request", "temperature", "at most 2"],
    [body({ stop_sequences: "a" }), "invalid_request", "stop_sequences", "array"],
    [body({ stream: "yes" }), "invalid_request", "stream"],
    [body({ metadata: "a" }), "invalid_request", "metadata", "object"],
    [body({ top_logprobs: 21 }), "invalid_request", "top_logprobs", "20"],
    [body({ thinking: { type: "loud" } }), "unsupported_value", "thinking.type", "adaptive"],
    [
      body({ thinking: { type: "enabled", budget_tokens: "5" } }),
      "invalid_request",
      "thinking.budget_tokens",
    ],
    [body({ reasoning_effort: "huge" }), "unsupported_value", "reasoning_effort", "xhigh"],
    [body({ output_config: { effort: "huge" } }), "unsupported_value", "output_config.effort", "xhigh"],
    [
      body({ output_config: { format: { type: "json_object" } } }),
      "unsupported_value",
      "output_config.format.type",
    ],
    [
      body({ thinking: { type: "enabled" }, enable_thinking: false }),
      "contradictory_fields",
      "thinking.type",
      "enable_thinking false",
    ],
    [
      body({ thinking: { type: "disabled" }, reasoning_effort: "low" }),
      "contradictory_fields",
      "thinking.type",
      'reasoning_effort "low"',
    ],
    [
      body({ reasoning_effort: "off", enable_thinking: true }),
      "contradictory_fields",
      "reasoning_effort",
      "enable_thinking",
    ],
    [
      body({ reasoning_effort: "low", output_config: { effort: "high" } }),
      "contradictory_fields",
      "output_config.effort",
      "reasoning_effort",
    ],
    [
      body({ output_config: { format }, grammar: { type: "regex", value: "a" } }),
      "contradictory_fields",
      "output_config.format",
      "grammar",
    ],
    [
      body({
        output_config: { format },
        response_format: { type: "json_schema", json_schema: { name: "a", schema } },
      }),
      "contradictory_fields",
      "output_config.format",
      "response_format",
    ],
    [body({ tools: [{ type: "bash_20250124", name: "bash" }] }), "unsupported_value", "tools[0].type"],
    [body({ tools: [{ input_schema: {} }] }), "missing_field", "tools[0].name"],
    [body({ tools: [{ input_schema: {} }, { input_schema: {} }] }), "missing_field", "tools[0].name"],
    [body({ tools: [FIND, FIND] }), "invalid_request", "tools[1].name", "earlier"],
    [
      body({ tools: [{ name: "f", input_schema: { type: "array" } }] }),
      "invalid_request",
      "tools[0].input_schema.type",
      "object",
    ],
    [body({ tools: [SEARCH, SEARCH] }), "contradictory_fields", "tools[1]", "tools[0]"],
    [
      body({ tools: [SEARCH], web_search_options: {} }),
      "contradictory_fields",
      "web_search_options",
      "tools[0]",
    ],
    [
      body({ tools: [{ ...SEARCH, allowed_domains: Array.from({ length: 101 }, () => "a.org") }] }),
      "invalid_request",
      "tools[0].allowed_domains",
      "100",
    ],
    [
      body({ web_search_options: { external_web_access: false } }),
      "unsupported_value",
      "web_search_options.external_web_access",
    ],
    [body({ tool_choice: 5 }), "invalid_request", "tool_choice", "object"],
    [body({ tools: [FIND], tool_choice: { type: "tool" } }), "missing_field", "tool_choice.name"],
    [
      body({ tools: [FIND, SEARCH], tool_choice: { type: "tool", name: "web_search" } }),
      "invalid_request",
      "tool_choice.name",
      "client",
    ],
    [body({ tool_choice: { type: "required" } }), "unsupported_value", "tool_choice.type", "any"],
    [
      body({ container: { skills: [{ type: "anthropic", skill_id: "pptx" }] } }),
      "unsupported_value",
      "container.skills[0].type",
      "custom",
    ],
    [
      body({ container: { skills: [{ type: "custom", skill_id: "s", version: "new" }] } }),
      "invalid_request",
      "container.skills[0].version",
      "latest",
    ],
    [body({ container: "container_1" }), "invalid_request", "container", "object"],
    [body({ container: { id: "container_1" } }), "unsupported_value", "container.id", "session_id"],
    [body({ agent_permission: "ask" }), "contradictory_fields", "agent_permission", "stream"],
    [body({ agent_permission: "maybe" }), "unsupported_value", "agent_permission", "deny"],
  ]);
});
