// When two messages are the same one. Clients send back what they were told in slightly other words: null for "",
// parts for a text, other line ends, without the reasoning.

import { isDeepStrictEqual } from "node:util";
import type { InputMessage } from "../core/agent.ts";
import { inputText, withoutFileNames } from "../core/input-file.ts";
import type { ToolCall } from "../core/message.ts";

/** Whether a message is one that frames the conversation and may change between turns. */
export function isFraming({ role }: InputMessage): boolean {
  return role === "system" || role === "developer";
}

/** Whether a message may be one that the client was never shown. */
export function isToolTurn({ role, toolCalls = [] }: InputMessage): boolean {
  return role === "tool" || (role === "assistant" && toolCalls.length > 0);
}

/** The text that counts; `before` precedes it. */
export function textOf(message: InputMessage, before = ""): string {
  return withoutFileNames(before + inputText(message))
    .replaceAll("\r\n", "\n")
    .trim();
}

/**
 * Whether `sent` is `stored`. `before` is what the model said in earlier rounds of the same answer: the client was told
 * all of it as one text.
 */
export function isSame(stored: InputMessage, sent: InputMessage, before = ""): boolean {
  if (stored.role !== sent.role) return false;
  const text = textOf(sent);
  const isTold = text === textOf(stored) || text === textOf(stored, before);
  return isTold && sameCalls(stored.toolCalls ?? [], sent.toolCalls ?? []);
}

function sameCalls(stored: readonly ToolCall[], sent: readonly ToolCall[]): boolean {
  return stored.length === sent.length && stored.every((call, index) => isSameCall(call, sent[index]));
}

/** Ids may differ: some clients make their own. */
function isSameCall(stored: ToolCall, sent: ToolCall | undefined): boolean {
  return stored.name === sent?.name && isDeepStrictEqual(parsed(stored.arguments), parsed(sent.arguments));
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
