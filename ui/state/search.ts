// Search in the texts of all conversations.

import { answerText, type Conversation, type Message } from "./conversation.ts";

/** Characters shown around a hit. */
const BEFORE_CHARS = 30;
const SNIPPET_CHARS = 110;

/** The first message that contains a text, as a line around it; undefined without one. `query`: in lower case. */
export function snippetOf({ messages }: Conversation, query: string): string | undefined {
  for (const message of messages) {
    const text = textOf(message);
    const at = text.toLowerCase().indexOf(query);
    if (at < 0) continue;
    const from = Math.max(0, at - BEFORE_CHARS);
    const line = text.slice(from, from + SNIPPET_CHARS).replaceAll(/\s+/g, " ");
    return `${from > 0 ? "…" : ""}${line}${from + SNIPPET_CHARS < text.length ? "…" : ""}`;
  }
  return undefined;
}

function textOf(message: Message): string {
  if (message.role === "assistant") return answerText(message);
  return [message.text, ...message.attachments.map(({ name }) => name)].join("\n");
}
