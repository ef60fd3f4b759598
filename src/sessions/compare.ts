// Compares messages. Clients resend the server's messages in slightly different form: null for "", parts for a string, other
// line ends, without reasoning.

import { isDeepStrictEqual } from "node:util";
import type { InputMessage } from "../core/agent.ts";
import { comparable, inputText } from "../core/input-file.ts";
import { jsonIn } from "../core/json.ts";
import type { ToolCall } from "../core/message.ts";

/** Whether a message is a system or developer message, which may change between turns. */
export function isFraming({ role }: InputMessage): boolean {
  return role === "system" || role === "developer";
}

/** Whether a message may be hidden from the client: a tool result or a message with calls. */
export function isToolTurn({ role, toolCalls = [] }: InputMessage): boolean {
  return role === "tool" || (role === "assistant" && toolCalls.length > 0);
}

/** Normalized text for the comparison, preceded by `before`. */
export function textOf(message: InputMessage, before = ""): string {
  return comparable(before + inputText(message))
    .replaceAll("\r\n", "\n")
    .trim();
}

/**
 * Whether `sent` equals `stored`. `before` is the text of earlier rounds of the same answer: the client got all rounds as one
 * text.
 */
export function isSame(stored: InputMessage, sent: InputMessage, before = ""): boolean {
  if (stored.role !== sent.role) return false;
  const text = textOf(sent);
  const isSent = text === textOf(stored) || text === textOf(stored, before);
  return isSent && sameCalls(stored.toolCalls ?? [], sent.toolCalls ?? []);
}

function sameCalls(stored: readonly ToolCall[], sent: readonly ToolCall[]): boolean {
  return stored.length === sent.length && stored.every((call, index) => isSameCall(call, sent[index]));
}

/** Ignores ids: some clients generate their own. */
function isSameCall(stored: ToolCall, sent: ToolCall | undefined): boolean {
  return (
    stored.name === sent?.name &&
    isDeepStrictEqual(jsonIn(stored.arguments, stored.arguments), jsonIn(sent.arguments, sent.arguments))
  );
}
