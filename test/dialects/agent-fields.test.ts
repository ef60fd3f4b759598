// Agent fields of a chat body: hosted tools, web search, session, permissions, requested files.

import { describe, expect, test } from "bun:test";
import { SEARCH_DOMAINS_MAX } from "../../src/dialects/shared/limits.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { chatBody } from "../helpers/app.ts";
import { type Body, type Rule, testRules } from "../helpers/rules.ts";

const call = (extra: Body) => parseChatRequest(chatBody(extra));
const agent = (extra: Body) => call(extra).agent;
const search = (options: Body) => ({ web_search_options: options });
const interpreter = (container?: unknown) => ({ tools: [{ type: "code_interpreter", container }] });
const filePart = (file: Body) => ({
  messages: [{ role: "user", content: [{ type: "file", file }] }],
});

describe("agent fields", () => {
  test("code_interpreter enables Python", () => {
    expect(agent(interpreter()).python).toBe(true);
    expect(agent(interpreter({ type: "auto" })).python).toBe(true);
    expect(agent({}).python).toBe(false);
  });

  test("enable_shell enables the shell", () => {
    expect(agent({ enable_shell: true }).shell).toEqual({ skills: [] });
    for (const off of [false, null]) expect(agent({ enable_shell: off }).shell).toBeUndefined();
    expect(call({ enable_shell: true, tool_choice: "required" }).run.prompt.toolChoice.type).toBe("required");
  });

  test("hosted tools may accompany functions and satisfy tool_choice required", () => {
    const named = { type: "function", function: { name: "find" } };
    const { run } = call({ tools: [{ type: "code_interpreter" }, named] });
    expect(run.prompt.tools.map(({ name }) => name)).toEqual(["find"]);
    expect(call({ ...interpreter(), tool_choice: "required" }).run.prompt.toolChoice).toEqual({
      type: "required",
    });
  });

  test("search options override their defaults", () => {
    expect(agent(search({})).webSearch).toEqual({
      contextSize: "medium",
      unlimitedBudget: false,
      allowedDomains: [],
      blockedDomains: [],
    });
    const options = {
      search_context_size: "low",
      return_token_budget: "unlimited",
      filters: { allowed_domains: ["example.org"], blocked_domains: ["ads.example.org"] },
      user_location: { type: "approximate", approximate: { city: "Bern", region: null } },
      search_description: "Search.",
      extract_description: "Read.",
      search_content_types: ["text"],
    };
    expect(agent(search(options)).webSearch).toEqual({
      contextSize: "low",
      unlimitedBudget: true,
      allowedDomains: ["example.org"],
      blockedDomains: ["ads.example.org"],
      location: { city: "Bern" },
      searchDescription: "Search.",
      extractDescription: "Read.",
    });
  });

  test("converts session, permission, rounds and files", () => {
    const fields = {
      session_id: "s",
      agent_permission: "deny",
      max_tool_rounds: 0,
      files: [{ name: "a.csv", format: null, description: "Sums." }],
    };
    expect(agent(fields)).toEqual({
      sessionId: "s",
      permission: "deny",
      maxToolRounds: 0,
      python: false,
      files: [{ name: "a.csv", description: "Sums." }],
      interactive: false,
    });
    expect(agent({ code_execution_permission: "ask", stream: true })).toMatchObject({
      permission: "ask",
      interactive: true,
    });
  });

  test("file parts have their source and their path in the body", () => {
    const parts = (file: Body) => call(filePart(file)).run.prompt.messages[0]?.content;
    const param = "messages[0].content[0]";
    expect(parts({ file_id: "file-1" })).toEqual([
      { type: "file", source: { type: "stored", id: "file-1" }, param },
    ]);
    expect(parts({ file_data: "data:,x", filename: "x.txt" })).toEqual([
      { type: "file", source: { type: "inline", data: "data:,x", filename: "x.txt" }, param },
    ]);
  });
});

describe("refused", () => {
  const hosts = (count: number) => Array.from({ length: count }, (_, index) => `h${index}.example`);
  const RULES: readonly Rule[] = [
    [chatBody(interpreter("cntr_1")), "unsupported_value", "tools[0].container", "auto"],
    [
      chatBody(interpreter({ type: "auto", file_ids: [] })),
      "unsupported_value",
      "tools[0].container.file_ids",
    ],
    [
      chatBody(interpreter({ type: "auto", memory_limit: "1g" })),
      "unsupported_value",
      "tools[0].container.memory_limit",
    ],
    [
      chatBody(search({ search_content_types: ["image"] })),
      "unsupported_value",
      "web_search_options.search_content_types",
    ],
    [chatBody(search({ image_settings: {} })), "unsupported_value", "web_search_options.image_settings"],
    [
      chatBody(search({ external_web_access: false })),
      "unsupported_value",
      "web_search_options.external_web_access",
    ],
    [
      chatBody(search({ filters: { allowed_domains: hosts(SEARCH_DOMAINS_MAX + 1) } })),
      "invalid_request",
      "web_search_options.filters.allowed_domains",
      `${SEARCH_DOMAINS_MAX}`,
    ],
    [chatBody({ agent_permission: "ask" }), "contradictory_fields", "agent_permission", "stream"],
    [chatBody({ files: [{ format: "csv" }] }), "missing_field", "files[0].name"],
    [filePart({}), "invalid_request", "messages[0].content[0].file", "file_id"],
    [filePart({ file_id: "a", file_data: "b" }), "invalid_request", "messages[0].content[0].file"],
  ];
  testRules(parseChatRequest, RULES);
});
