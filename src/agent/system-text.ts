// Adds the server's system texts to a conversation.

import type { Message } from "../core/message.ts";

/**
 * Appends texts to the first system message, or adds one. Many chat templates accept only a single system message, so the
 * server never adds a second.
 */
export function withSystemTexts(messages: readonly Message[], texts: readonly string[]): readonly Message[] {
  if (texts.length === 0) return messages;
  const [first, ...others] = messages;
  const own = texts.join("\n\n");
  if (first === undefined || (first.role !== "system" && first.role !== "developer")) {
    return [{ role: "system", content: [{ type: "text", text: own }] }, ...messages];
  }
  const glue = first.content.length === 0 ? "" : "\n\n";
  return [{ ...first, content: [...first.content, { type: "text", text: glue + own }] }, ...others];
}
