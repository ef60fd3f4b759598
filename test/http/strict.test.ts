// Everything that the interface says is refused, refused by a server as it starts: status, and the field that is named. Spec:
// chat completions, Responses, messages, embeddings, images, speech, Errors.

import { describe, expect, test } from "bun:test";
import { HOSTED_TOOLS } from "../../src/core/compat.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";

const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";
const MESSAGES = "/v1/messages";

const fn = { type: "function", name: "f" };
const interpreter = (container: unknown) => ({ tools: [{ type: "code_interpreter", container }] });
const search = (options: object) => ({ tools: [{ type: "web_search", ...options }] });
const preview = (options: object) => ({ tools: [{ type: "web_search_preview", ...options }] });
const shell = (environment: object) => ({ tools: [{ type: "shell", environment }] });
const allowed = (type: string) => ({
  tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type }] },
});
const file = (part: object) => ({ messages: [{ role: "user", content: [{ type: "file", file: part }] }] });
const domains = Array.from({ length: 101 }, (_, index) => `d${index}.org`);

type Row = readonly [string, Readonly<Record<string, unknown>>, string];

/** [route, body, field] */
const REFUSED: readonly Row[] = [
  [CHAT, chatBody({ response_format: { type: "json_object" } }), "response_format.type"],
  [CHAT, chatBody({ tool_choice: "required" }), "tool_choice"],
  [CHAT, chatBody({ agent_permission: "ask" }), "agent_permission"],
  [CHAT, chatBody({ agent_permission: "sometimes" }), "agent_permission"],
  [CHAT, chatBody({ reasoning_effort: "off", enable_thinking: true }), "reasoning_effort"],
  [CHAT, chatBody({ reasoning_effort: "high", enable_thinking: false }), "reasoning_effort"],
  [CHAT, chatBody({ reasoning_effort: "minimal" }), "reasoning_effort"],
  [CHAT, chatBody(interpreter("cntr_1")), "tools[0].container"],
  [CHAT, chatBody(interpreter({ type: "auto", file_ids: ["f"] })), "tools[0].container.file_ids"],
  [CHAT, chatBody(interpreter({ type: "auto", memory_limit: "4g" })), "tools[0].container.memory_limit"],
  [CHAT, chatBody(file({ file_url: "https://a.org/b" })), "messages[0].content[0].file"],
  [RESPONSES, responsesBody({ response_format: { type: "json_object" } }), "response_format.type"],
  [RESPONSES, responsesBody({ text: { format: { type: "json_object" } } }), "text.format.type"],
  [RESPONSES, responsesBody({ parallel_tool_calls: false }), "parallel_tool_calls"],
  [RESPONSES, responsesBody({ max_tool_calls: 1 }), "max_tool_calls"],
  [RESPONSES, responsesBody({ max_tool_calls: 0 }), "max_tool_calls"],
  [RESPONSES, responsesBody({ tool_choice: "required" }), "tool_choice"],
  [
    RESPONSES,
    responsesBody({ tools: [fn], tool_choice: { type: "function", name: "g" } }),
    "tool_choice.name",
  ],
  [RESPONSES, responsesBody({ ...search({}), tool_choice: { type: "web_search" } }), "tool_choice.type"],
  [RESPONSES, responsesBody({ ...search({}), ...allowed("web_search") }), "tool_choice.tools[0].type"],
  [RESPONSES, responsesBody(search({ search_content_types: ["image"] })), "tools[0].search_content_types"],
  [RESPONSES, responsesBody(search({ image_settings: {} })), "tools[0].image_settings"],
  [RESPONSES, responsesBody(search({ external_web_access: false })), "tools[0].external_web_access"],
  [
    RESPONSES,
    responsesBody(search({ filters: { allowed_domains: domains } })),
    "tools[0].filters.allowed_domains",
  ],
  [RESPONSES, responsesBody(preview({ filters: {} })), "tools[0].filters"],
  [RESPONSES, responsesBody(preview({ return_token_budget: "default" })), "tools[0].return_token_budget"],
  [RESPONSES, responsesBody(interpreter("cntr_1")), "tools[0].container"],
  [RESPONSES, responsesBody(interpreter({ type: "auto", file_ids: ["f"] })), "tools[0].container.file_ids"],
  [
    RESPONSES,
    responsesBody(interpreter({ type: "auto", memory_limit: "4g" })),
    "tools[0].container.memory_limit",
  ],
  [RESPONSES, responsesBody(shell({ type: "local" })), "tools[0].environment.type"],
  [RESPONSES, responsesBody(shell({ type: "container_reference" })), "tools[0].environment.type"],
  [
    RESPONSES,
    responsesBody(shell({ type: "container_auto", skills: [{ type: "inline" }] })),
    "tools[0].environment.skills[0].type",
  ],
  [RESPONSES, responsesBody({ tools: [{ type: "file_search" }] }), "tools[0].type"],
  [RESPONSES, responsesBody({ reasoning: { effort: "max" } }), "reasoning.effort"],
  [RESPONSES, responsesBody({ background: true, store: false }), "background"],
  [MESSAGES, messagesBody({ response_format: { type: "json_object" } }), "response_format.type"],
  [MESSAGES, messagesBody({ reasoning_effort: "off", enable_thinking: true }), "reasoning_effort"],
  [MESSAGES, messagesBody({ agent_permission: "ask" }), "agent_permission"],
  [MESSAGES, messagesBody({ tools: [{ type: "bash_20250124", name: "bash" }] }), "tools[0].type"],
  [MESSAGES, { max_tokens: 1 }, "messages"],
  ["/v1/embeddings", { input: "a", dimensions: 64 }, "dimensions"],
  ["/v1/images/generations", { prompt: "a", size: "64x64" }, "size"],
  ["/v1/audio/speech", { input: "a", response_format: "mp3" }, "response_format"],
  ["/v1/audio/speech", { input: "a", response_format: "opus" }, "response_format"],
  ["/v1/audio/speech", { input: "a", response_format: "aac" }, "response_format"],
  ["/v1/audio/speech", { input: "a", response_format: "flac" }, "response_format"],
];

describe("strict refuses", () => {
  const app = testApp(undefined, { compat: { mode: "strict", hosted: new Set(HOSTED_TOOLS) } });
  test.each(REFUSED.map(([path, body, field]) => [path, field, body] as const))(
    "%s: %s",
    async (path, field, body) => {
      const response = await app.post(path, body);
      const { error } = await response.json();
      expect({ status: response.status, param: error.param }).toEqual({ status: 400, param: field });
      expect(error.message).toContain(field.split(".")[0] ?? "");
    },
  );
});
