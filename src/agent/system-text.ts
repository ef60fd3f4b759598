// Puts what the server has to tell the model at the head of a conversation.

import type { Message } from "../core/message.ts";

/**
 * The messages with texts of the server behind the first system message, or in one of their own. Many chat templates
 * take a single system message only, so there is never a second one on the server's account.
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
