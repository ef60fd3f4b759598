// Shortens tool results that exceed the context: a tool cannot be undone, so its result is cut instead of failing the answer.

import type { Message } from "../core/message.ts";
import { shorten } from "../core/shorten.ts";

/** Minimum length of a shortened result, UTF-16 units. */
const RESULT_CHARS_MIN = 256;

/** Halves the longest results, then drops media. Undefined if nothing can be shortened. */
export function shortenResults(turn: readonly Message[]): Message[] | undefined {
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
