// Arguments of calls in a history, in every dialect: the model gets an object, whatever was written.

import { expect, test } from "bun:test";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { parseOllamaChat } from "../../src/dialects/ollama/request.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { chatBody, responsesBody } from "../helpers/app.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";

const USER = { role: "user", content: "Hi" };
const DIALECTS: Readonly<Record<string, (written: unknown) => { readonly prompt: unknown }>> = {
  chat: (written) => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: written } };
    const result = { role: "tool", tool_call_id: "c1", content: "1" };
    const messages = [USER, { role: "assistant", tool_calls: [call] }, result];
    return parseChatRequest(chatBody({ messages })).run;
  },
  responses: (written) => {
    const call = { type: "function_call", call_id: "c1", name: "f", arguments: written };
    const result = { type: "function_call_output", call_id: "c1", output: "1" };
    return parseResponsesRequest(responsesBody({ input: [USER, call, result] }), NOTHING_STORED).run;
  },
  messages: (written) => {
    const call = { type: "tool_use", id: "c1", name: "f", input: written };
    const result = { type: "tool_result", tool_use_id: "c1", content: "1" };
    const messages = [USER, { role: "assistant", content: [call] }, { role: "user", content: [result] }];
    return parseMessagesRequest({ model: "default", max_tokens: 9, messages }).run;
  },
  ollama: (written) => {
    const calls = [{ function: { name: "f", arguments: written } }];
    const result = { role: "tool", tool_name: "f", content: "1" };
    const messages = [USER, { role: "assistant", content: "", tool_calls: calls }, result];
    const { work } = parseOllamaChat({ model: "default", messages });
    if (work.type !== "converse") throw new Error("it loads the model");
    return work.conversation.run;
  },
};

const CASES: readonly (readonly [string, object])[] = [
  ['{"a":1}', { a: 1 }],
  ["", {}],
  [" ", {}],
  ['{"a": "x', { input: '{"a": "x' }],
  ["ls -l", { input: "ls -l" }],
  ["[1]", { input: "[1]" }],
  ["null", { input: "null" }],
  ["[".repeat(5000), { input: "[".repeat(5000) }],
];

test.each(Object.entries(DIALECTS))("%s", (_, parse) => {
  for (const [written, wanted] of CASES) {
    const sent = JSON.stringify(parse(written).prompt);
    const given = /"name":"f","arguments":("(?:[^"\\]|\\.)*")/.exec(sent)?.[1] ?? "";
    expect(JSON.parse(JSON.parse(given))).toEqual(wanted);
  }
});
