// Makes room in the model's context after a tool ran: what it did cannot be undone, so its result gives way, not the answer.

import type { Message } from "../core/message.ts";
import { shorten } from "../core/shorten.ts";

/** A result is not made shorter than this, in UTF-16 units. */
const RESULT_CHARS_MIN = 256;

/** The turn with its longest results at half their length, in the end without pictures; undefined when none can give way. */
export function withShorterResults(turn: readonly Message[]): Message[] | undefined {
  const results = turn.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
  const longest = Math.max(0, ...results.map((part) => (part.type === "text" ? part.text.length : 0)));
  if (longest > RESULT_CHARS_MIN) {
    const charsMax = Math.max(RESULT_CHARS_MIN, Math.floor(longest / 2));
    return mapResults(turn, (content) =>
      content.map((part) => (part.type === "text" ? { ...part, text: shorten(part.text, charsMax) } : part)),
    );
  }
  if (results.every(({ type }) => type === "text")) return undefined;
  return mapResults(turn, (content) => content.filter(({ type }) => type === "text"));
}

function mapResults(
  turn: readonly Message[],
  change: (content: Message["content"]) => Message["content"],
): Message[] {
  return turn.map((message) =>
    message.role === "tool" ? { ...message, content: change(message.content) } : message,
  );
}
