// Generic tool format, for chat templates without tool support: tools are described in the system message, calls and results
// are text of ordinary messages. ffi/shim/generic_calls.cpp parses such calls; docs/tools.md describes the format.
// A required call is one call: small models that must call go on with every function in turn (SmolLM2, five tools: 47 of 60 answers ended
// by themselves, with one call 55).

import type { ContentPart, Message, ToolSpec } from "../../src/core/message.ts";

const OPENING =
  "You may call functions. They are described here, one a line, with the JSON Schema of their arguments:";

/** Whether a prompt describes its tools in the generic format. */
export const isGeneric = (prompt: string): boolean => prompt.includes(OPENING);

const text = (words: string): ContentPart => ({ type: "text", text: words });

function instructions(tools: readonly ToolSpec[]): string {
  const lines = tools.map(({ name, description, parameters }) =>
    JSON.stringify({ name, description: description ?? "", parameters }),
  );
  return [
    OPENING,
    "<tools>",
    ...lines,
    "</tools>",
    "To call one, answer with nothing but its name and its arguments as JSON, like this:",
    "<tool_call>",
    '{"name": "function name", "arguments": {"argument": "value"}}',
    "</tool_call>",
    "The next message says what the function has answered.",
  ].join("\n");
}

/**
 * A message in the roles of a template without tools. A result is a sentence of the user: a small model repeats markup that it was not
 * trained for instead of answering. `names`: functions by the ids of their calls.
 */
function plain(message: Message, names: ReadonlyMap<string, string>): Message {
  if (message.role === "tool") {
    const name = message.name ?? names.get(message.toolCallId ?? "");
    const opening = name === undefined ? "The answer of the function is: " : `The answer of ${name} is: `;
    return { role: "user", content: [text(opening), ...message.content] };
  }
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return message;
  const written = calls.map(
    ({ name, arguments: args }) =>
      `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args === "" ? "{}" : args}}\n</tool_call>`,
  );
  const said = message.content.length === 0 ? [] : [...message.content, text("\n")];
  const { toolCalls: _, ...rest } = message;
  return { ...rest, content: [...said, text(written.join("\n"))] };
}

/** A result after which the model speaks asks it to. */
function withRequest(shown: Message, message: Message, next: Message | undefined): Message {
  const isLast = message.role === "tool" && (next === undefined || next.role === "assistant");
  return isLast ? { ...shown, content: [...shown.content, text("\nPlease answer me in words.")] } : shown;
}

/** The messages with the tools in the system message, which is added if missing. */
export function genericMessages(
  messages: readonly Message[],
  tools: readonly ToolSpec[],
): readonly Message[] {
  const calls = messages.flatMap(({ toolCalls = [] }) =>
    toolCalls.map(({ id, name }) => [id, name] as const),
  );
  const names = new Map(calls);
  const asked = messages.map((message, at) => withRequest(plain(message, names), message, messages[at + 1]));
  const all = joined(asked);
  if (tools.length === 0) return all;
  const [first, ...rest] = all;
  const told = text(instructions(tools));
  if (first?.role !== "system" && first?.role !== "developer")
    return [{ role: "system", content: [told] }, ...all];
  return [{ ...first, content: [...first.content, text("\n\n"), told] }, ...rest];
}

/** Consecutive results and user messages are merged: many templates require alternating roles. */
function joined(messages: readonly Message[]): readonly Message[] {
  const out: Message[] = [];
  for (const message of messages) {
    const before = out.at(-1);
    if (before?.role === "user" && message.role === "user")
      out[out.length - 1] = { ...before, content: [...before.content, text("\n"), ...message.content] };
    else out.push(message);
  }
  return out;
}
