// Histories behind a compaction that paused: turns that the block has verbatim are sent once to the model.

import { expect, test } from "bun:test";
import { messageText } from "../../src/core/message.ts";
import { conversationOf } from "../../src/dialects/messages/content.ts";
import { opaqueText } from "../../src/dialects/shared/compaction.ts";

const spent = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
const said = (role: "user" | "assistant", ...texts: readonly string[]) => ({
  role,
  content: texts.map((text) => ({ type: "text" as const, text })),
});

/** The roles and words of a conversation whose block has these turns after the summary. */
function wordsOf(kept: readonly ReturnType<typeof said>[], after: readonly ReturnType<typeof said>[]) {
  const encrypted_content = opaqueText({
    type: "compaction",
    summary: "S",
    replaced: 1,
    tokens: 1,
    spent,
    kept,
  });
  const block = { type: "compaction" as const, content: "S", encrypted_content };
  const messages = [{ role: "assistant" as const, content: [block] }, ...after];
  return conversationOf(undefined, messages).map((message) =>
    "content" in message
      ? `${message.role} ${messageText({ ...message, content: message.content.filter((part) => part.type === "text") })}`
      : "",
  );
}

const A = said("assistant", "a");
const Q = said("user", "q");

test.each([
  ["behind the conversation", [said("user", "S", "u"), A, Q], [], ["user S\nu", "assistant a", "user q"]],
  ["before the last turns", [said("user", "S", "u"), A, Q], [A, Q], ["user S\nu", "assistant a", "user q"]],
  ["before the last question", [said("user", "S", "u"), A, Q], [Q], ["user S\nu", "assistant a", "user q"]],
  ["before more turns than it has", [said("user", "S", "q")], [A, Q], ["user S", "assistant a", "user q"]],
  ["before the question that it has", [said("user", "S", "q")], [Q], ["user S\nq"]],
  ["before a new question", [said("user", "S", "u"), A], [Q], ["user S\nu", "assistant a", "user q"]],
] as const)("%s", (_, kept, after, expected) => {
  expect(wordsOf(kept, after)).toEqual([...expected]);
});
