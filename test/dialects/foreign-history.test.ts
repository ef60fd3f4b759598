// Histories that other servers wrote: what is known becomes calls, results and text; what is not is left out and named; nothing
// of it refuses the next turn.

import { describe, expect, test } from "bun:test";
import type { InputMessage } from "../../src/core/agent.ts";
import type { Compat, CompatMode } from "../../src/core/compat.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { parseCountRequest, parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { parseOllamaChat } from "../../src/dialects/ollama/request.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";
import { refusalOf } from "../helpers/rules.ts";

type Block = Readonly<Record<string, unknown>>;

/** The messages of a body, in words, and what was left out. */
interface Read {
  readonly words: readonly string[];
  readonly left: readonly string[];
}

const USER = { role: "user", content: "go on" } as const;
const PNG = `iVBORw0KGgo${"A".repeat(600)}`;

function read(parse: (compat: Compat) => readonly InputMessage[], mode: CompatMode): Read {
  const left: string[] = [];
  const note: Compat["note"] = (kind, what) => void left.push(`${kind}=${what}`);
  return { words: parse({ mode, hosted: new Set(), note }).map(wordsOf), left };
}

function wordsOf({ role, content, toolCalls, toolCallId, reasoning }: InputMessage): string {
  const parts = content.map((part) => (part.type === "text" ? part.text.trim() : `<${part.type}>`));
  const calls = (toolCalls ?? []).map(({ id, name, arguments: args }) => `${id}:${name}(${args})`);
  const marks = [
    role,
    ...(toolCallId === undefined ? [] : [toolCallId]),
    ...(reasoning === undefined ? [] : ["thought"]),
  ];
  return `${marks.join(" ")}: ${[...parts, ...calls].filter((word) => word !== "").join("|")}`;
}

const responses = (items: readonly unknown[]) => (compat: Compat) =>
  parseResponsesRequest({ input: [...items, USER] }, NOTHING_STORED, compat).run.prompt.messages;
const messages =
  (content: unknown, role = "assistant") =>
  (compat: Compat) =>
    parseMessagesRequest({ messages: [USER, { role, content }, USER] }, compat).run.prompt.messages;
const chat = (message: Block) => (compat: Compat) =>
  parseChatRequest({ messages: [message, USER] }, compat).run.prompt.messages;

const MODES = ["strict", "clients"] as const;

describe("an item of Responses", () => {
  const CASES: readonly [Block, readonly string[]][] = [
    [
      { type: "web_search_call", id: "ws", status: "completed", action: { type: "search", query: "x" } },
      ['assistant: ws:web_search({"type":"search","query":"x"})', "tool ws: [done]"],
    ],
    [
      {
        type: "file_search_call",
        id: "fs",
        queries: ["a"],
        results: [{ filename: "f.txt", text: "found", score: 1 }],
      },
      ['assistant: fs:file_search({"queries":["a"]})', "tool fs: found"],
    ],
    [
      {
        type: "code_interpreter_call",
        id: "ci",
        code: "1+1",
        outputs: [{ type: "logs", logs: "2" }],
        container_id: "c",
      },
      ['assistant: ci:code_interpreter({"code":"1+1"})', 'tool ci: {"logs":"2"}'],
    ],
    [
      { type: "image_generation_call", id: "ig", revised_prompt: "a cat", result: PNG },
      ['assistant: ig:image_generation({"revised_prompt":"a cat"})', "tool ig: <media>"],
    ],
    [
      {
        type: "mcp_call",
        id: "m",
        server_label: "s",
        name: "find",
        arguments: '{"q":1}',
        output: "here",
        error: null,
      },
      ['assistant: m:find({"q":1})', "tool m: here"],
    ],
    [
      { type: "mcp_call", id: "m", name: "find", arguments: "", error: { code: 1, message: "no" } },
      ["assistant: m:find({})", 'tool m: {"code":1,"message":"no"}'],
    ],
    [
      { type: "local_shell_call", id: "i", call_id: "l", action: { type: "exec", command: ["ls"] } },
      ['assistant: l:local_shell({"type":"exec","command":["ls"]})'],
    ],
    [{ type: "local_shell_call_output", id: "l", output: "a.txt" }, ["tool l: a.txt"]],
    [
      { type: "apply_patch_call", call_id: "p", operation: { type: "delete_file", path: "a" } },
      ['assistant: p:apply_patch({"type":"delete_file","path":"a"})'],
    ],
    [
      { type: "apply_patch_call_output", call_id: "p", status: "failed", output: "no file" },
      ["tool p: no file|failed"],
    ],
    [
      { type: "computer_call", id: "x", call_id: "c", action: { type: "screenshot" } },
      ['assistant: c:computer({"type":"screenshot"})'],
    ],
    [
      {
        type: "computer_call_output",
        call_id: "c",
        output: { type: "computer_screenshot", image_url: "data:image/png;base64,aa" },
      },
      ["tool c: <media>"],
    ],
    [
      { type: "custom_tool_call", call_id: "u", name: "sh", input: "ls\n" },
      ['assistant: u:sh({"input":"ls\\n"})'],
    ],
    [{ type: "custom_tool_call_output", call_id: "u", output: "done" }, ["tool u: done"]],
    [
      { type: "tool_search_call", call_id: "t", arguments: { query: "q" } },
      ['assistant: t:tool_search({"query":"q"})'],
    ],
    [{ type: "tool_search_output", call_id: "t", tools: [{ name: "find" }] }, ['tool t: {"name":"find"}']],
    [
      { type: "mcp_approval_request", id: "a", server_label: "s", name: "rm", arguments: "{}" },
      ['assistant: a:mcp_approval({"server_label":"s","name":"rm","arguments":"{}"})'],
    ],
    [
      { type: "mcp_approval_response", approval_request_id: "a", approve: true, reason: null },
      ["tool a: true"],
    ],
    [{ type: "function_call_output", call_id: "n", output: null }, ["tool n: "]],
    [{ role: "assistant", content: [{ type: "summary_text", text: "short" }] }, ["assistant: short"]],
  ];
  test.each(CASES)("%j", (item, words) => {
    for (const mode of MODES)
      expect(read(responses([item]), mode)).toEqual({ words: [...words, "user: go on"], left: [] });
  });

  test.each([
    [{ type: "compaction", encrypted_content: "x" }, "compaction"],
    [{ type: "mcp_list_tools", server_label: "s", tools: [] }, "mcp_list_tools"],
    [{ type: "additional_tools", tools: [] }, "additional_tools"],
    [{ type: "hologram_call", id: "h" }, "hologram_call"],
    [{ type: "item_reference", id: "msg_elsewhere" }, "item_reference"],
    [{ role: "assistant", content: [{ type: "hologram" }] }, "hologram"],
    [{ type: "function_call_output", call_id: "c", output: [{ type: "smell" }] }, "smell"],
  ])("%j is left out", (item, type) => {
    for (const mode of MODES) expect(read(responses([item]), mode).left).toEqual([`history_item=${type}`]);
  });

  test("that is left out does not take the reasoning from the answer after it", () => {
    const reasoning = { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] };
    const call = { type: "function_call", call_id: "f", name: "f", arguments: "{}" };
    const { words } = read(responses([reasoning, { type: "compaction" }, call]), "strict");
    expect(words[0]).toBe("assistant thought: f:f({})");
  });

  test("that is malformed is refused where this server knows it", () => {
    const parse = responses([{ type: "custom_tool_call", call_id: "u", name: "sh" }]);
    expect(refusalOf(() => read(parse, "clients"), {})).toMatchObject({
      code: "missing_field",
      param: "input[0].input",
    });
  });
});

describe("a block of Messages", () => {
  const use = { type: "server_tool_use", id: "s", name: "web_search", input: { query: "x" } };
  const found = { type: "web_search_result", url: "https://a.b", title: "A", encrypted_content: "secret" };
  const CASES: readonly [readonly Block[], readonly string[]][] = [
    [
      [
        { type: "text", text: "I look." },
        use,
        { type: "web_search_tool_result", tool_use_id: "s", content: [found] },
        { type: "text", text: "So." },
      ],
      [
        'assistant: I look.|s:web_search({"query":"x"})',
        'tool s: [{"url":"https://a.b","title":"A"}]',
        "assistant: So.",
      ],
    ],
    [
      [
        { ...use, type: "mcp_tool_use", server_name: "m" },
        {
          type: "mcp_tool_result",
          tool_use_id: "s",
          is_error: false,
          content: [{ type: "text", text: "ok" }],
        },
      ],
      ['assistant: s:web_search({"query":"x"})', "tool s: ok"],
    ],
    [
      [
        use,
        {
          type: "bash_code_execution_tool_result",
          tool_use_id: "s",
          content: { type: "bash_code_execution_result", stdout: "hi", return_code: 0 },
        },
      ],
      ['assistant: s:web_search({"query":"x"})', 'tool s: {"stdout":"hi","return_code":0}'],
    ],
    [
      [use, { type: "telepathy_tool_result", tool_use_id: "s", content: "felt" }],
      ['assistant: s:web_search({"query":"x"})', "tool s: felt"],
    ],
    [[{ type: "future", text: "readable" }], ["assistant: readable"]],
  ];
  test("a summary in words stands for what was before it", () => {
    const { words } = read(messages([{ type: "compaction", content: "Earlier: a." }]), "strict");
    expect(words[1]).toStartWith("user: Summary of the conversation so far:\nEarlier: a.");
  });

  test.each(CASES)("%j", (content, words) => {
    for (const mode of MODES)
      expect(read(messages(content), mode)).toEqual({
        words: ["user: go on", ...words, "user: go on"],
        left: [],
      });
  });

  test.each([
    [{ type: "tool_reference", tool_name: "Fetch" }, "Tool: Fetch"],
    [
      { type: "search_result", source: "https://a.b", title: "A", content: [{ type: "text", text: "b" }] },
      'search result: {"source":"https://a.b","title":"A","content":[{"text":"b"}]}',
    ],
  ])("in a result of a tool: %j", (part, text) => {
    const result = { type: "tool_result", tool_use_id: "c", content: [part] };
    for (const mode of MODES) expect(read(messages([result], "user"), mode).words[1]).toBe(`tool c: ${text}`);
  });

  test("of a user is text", () => {
    const { words } = read(messages([{ type: "container_upload", file_id: "f" }], "user"), "strict");
    expect(words.join(" ")).toContain('container upload: {"file_id":"f"}');
  });

  test("of a future type is left out, also where nothing remains, and where tokens are counted", () => {
    const content = [{ type: "hologram", data: "x" }];
    for (const mode of MODES) expect(read(messages(content), mode).left).toEqual(["history_item=hologram"]);
    const body = { messages: [USER, { role: "assistant", content }, USER] };
    expect(() => parseCountRequest(body)).not.toThrow();
  });

  test("is refused where it is all that the user says now", () => {
    const parse = (compat: Compat) =>
      parseMessagesRequest({ messages: [{ role: "user", content: [{ type: "hologram" }] }] }, compat).run
        .prompt.messages;
    expect(refusalOf(() => read(parse, "clients"), {})).toMatchObject({
      param: "messages[0].content[0].type",
    });
  });

  test("an answer without content says nothing", () => {
    expect(read(messages(null), "strict").words).toEqual(["user: go on", "assistant: ", "user: go on"]);
  });
});

describe("a message of chat completions", () => {
  const CASES: readonly [Block, string][] = [
    [{ role: "assistant", content: [{ type: "refusal", refusal: "No." }] }, "assistant: No."],
    [{ role: "assistant", content: [{ type: "output_text", text: "Yes." }] }, "assistant: Yes."],
    [
      { role: "assistant", tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }] },
      'assistant: call_0_0:f({"a":1})',
    ],
    [{ role: "assistant", tool_calls: [{ id: "c", function: { name: "f" } }] }, "assistant: c:f({})"],
    [
      { role: "assistant", tool_calls: [{ id: "c", type: "custom", custom: { name: "sh", input: "ls" } }] },
      'assistant: c:sh({"input":"ls"})',
    ],
    [{ role: "tool", tool_call_id: "c", content: null }, "tool c: "],
    [
      {
        role: "tool",
        tool_call_id: "c",
        content: [
          { type: "text", text: "see" },
          { type: "image_url", image_url: { url: "data:image/png;base64,aa" } },
        ],
      },
      "tool c: see|<media>",
    ],
  ];
  test.each(CASES)("%j", (message, words) => {
    for (const mode of MODES)
      expect(read(chat(message), mode)).toEqual({ words: [words, "user: go on"], left: [] });
  });

  test("loses parts of unknown types, and says so", () => {
    const message = { role: "assistant", content: [{ type: "hologram" }, { type: "text", text: "a" }] };
    for (const mode of MODES)
      expect(read(chat(message), mode)).toEqual({
        words: ["assistant: a", "user: go on"],
        left: ["history_item=hologram"],
      });
  });
});

test("words of other servers for a tool choice mean the same, and functions need no type", () => {
  const tool = { function: { name: "f" } };
  for (const mode of MODES) {
    const compat: Compat = { mode, hosted: new Set(), note: () => undefined };
    const body = { messages: [USER], tools: [tool] };
    for (const tool_choice of ["any", { type: "any" }, { type: "required" }])
      expect(parseChatRequest({ ...body, tool_choice }, compat).run.prompt.toolChoice.type).toBe("required");
    const auto = parseChatRequest({ ...body, tool_choice: { type: "auto" } }, compat).run.prompt;
    expect(auto).toMatchObject({ toolChoice: { type: "auto" }, tools: [{ name: "f" }] });
    const tools = [{ name: "f" }];
    const word = parseMessagesRequest({ messages: [USER], tools, tool_choice: "auto" }, compat).run.prompt;
    expect(word.toolChoice).toEqual({ type: "auto" });
    const called = { role: "assistant", tool_calls: [{ function: { name: "f" } }] };
    const { work } = parseOllamaChat({ messages: [called, USER], tools: [tool] }, compat);
    expect(work).toMatchObject({ conversation: { run: { prompt: { tools: [{ name: "f" }] } } } });
  }
});
