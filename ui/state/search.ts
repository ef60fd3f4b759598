// Search in the texts of all conversations.

import { answerText, type Conversation, type Message } from "./conversation.ts";

/** Characters shown around a hit. */
const BEFORE_CHARS = 30;
const SNIPPET_CHARS = 110;

/** A message that contains what was searched. */
export interface Hit {
  readonly message: string;
  /** A line around it. */
  readonly line: string;
}

/** The first message that contains a text; undefined without one. `query`: in lower case. */
export function hitOf({ messages }: Conversation, query: string): Hit | undefined {
  for (const message of messages) {
    const text = textOf(message);
    const at = text.toLowerCase().indexOf(query);
    if (at < 0) continue;
    const from = Math.max(0, at - BEFORE_CHARS);
    const line = text.slice(from, from + SNIPPET_CHARS).replaceAll(/\s+/g, " ");
    const end = from + SNIPPET_CHARS < text.length ? "…" : "";
    return { message: message.id, line: `${from > 0 ? "…" : ""}${line}${end}` };
  }
  return undefined;
}

/** What is searched of a message. */
export function textOf(message: Message): string {
  if (message.role === "assistant") return answerText(message);
  return [message.text, ...message.attachments.map(({ name }) => name)].join("\n");
}
