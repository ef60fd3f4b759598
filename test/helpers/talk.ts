// Conversations in few words.

import { defined } from "../../src/core/defined.ts";
import type { Message } from "../../src/core/message.ts";

const text = (words: string) => (words === "" ? [] : [{ type: "text" as const, text: words }]);

export const system = (words: string): Message => ({ role: "system", content: text(words) });
export const user = (words: string): Message => ({ role: "user", content: text(words) });
export const said = (words: string, reasoning?: string): Message => {
  return { role: "assistant", content: text(words), ...defined({ reasoning }) };
};

/** The model calls a tool, having said something before. */
export const calls = (name: string, args = "{}", words = ""): Message => ({
  role: "assistant",
  content: text(words),
  toolCalls: [{ id: `call_${name}`, name, arguments: args }],
});

export const result = (name: string, words: string): Message => {
  return { role: "tool", content: text(words), toolCallId: `call_${name}`, name };
};
