// Tools in ordinary messages, for templates without tool support: results are sentences without markup.

import { expect, test } from "bun:test";
import { genericMessages } from "../../ffi/llama/generic-tools.ts";
import { withOneCall } from "../../ffi/llama/render-request.ts";
import type { Message } from "../../src/core/message.ts";

const said = (role: Message["role"], words: string, extra: Partial<Message> = {}): Message => ({
  role,
  content: words === "" ? [] : [{ type: "text", text: words }],
  ...extra,
});
const CALLS = said("assistant", "", {
  toolCalls: [
    { id: "1", name: "weather", arguments: '{"city":"Oslo"}' },
    { id: "2", name: "time", arguments: "" },
  ],
});
const shown = (messages: readonly Message[]): readonly string[] =>
  genericMessages(messages, []).map(
    ({ role, content }) =>
      `${role}: ${content.map((part) => (part.type === "text" ? part.text : "?")).join("")}`,
  );

test("results name their functions, and the last one asks for an answer", () => {
  const results = [said("tool", "snow", { toolCallId: "1" }), said("tool", "14:35", { toolCallId: "2" })];
  expect(shown([said("user", "Oslo?"), CALLS, ...results])).toEqual([
    "user: Oslo?",
    'assistant: <tool_call>\n{"name": "weather", "arguments": {"city":"Oslo"}}\n</tool_call>\n<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call>',
    "user: The answer of weather is: snow\nThe answer of time is: 14:35\nPlease answer me in words.",
  ]);
});

test("a result that was answered stays as it was, and one before a question asks for nothing", () => {
  const result = said("tool", "snow", { toolCallId: "1" });
  const first = shown([said("user", "Oslo?"), CALLS, result]);
  const answered = [
    said("user", "Oslo?"),
    CALLS,
    result,
    said("assistant", "It snows."),
    said("user", "Thanks"),
  ];
  expect(shown(answered).slice(0, 3)).toEqual([...first]);
  expect(shown([said("user", "Oslo?"), CALLS, result, said("user", "And Rome?")]).at(-1)).toBe(
    "user: The answer of weather is: snow\nAnd Rome?",
  );
});

test("a result of an unknown call has no name", () => {
  expect(
    shown([said("user", "Hi"), said("assistant", "Hm"), said("tool", "42", { toolCallId: "9" })]).at(-1),
  ).toBe("user: The answer of the function is: 42\nPlease answer me in words.");
});

test("an answer that must be a call is one call; others may have several", () => {
  const choices = [{ type: "required" }, { type: "auto" }, { type: "none" }] as const;
  const single = choices.map((toolChoice) => {
    const prompt = {
      type: "chat",
      messages: [],
      tools: [],
      toolChoice,
      thinking: { enabled: false },
    } as const;
    return withOneCall(prompt);
  });
  expect(single.map((prompt) => prompt.type === "chat" && prompt.singleCall === true)).toEqual([
    true,
    false,
    false,
  ]);
});
