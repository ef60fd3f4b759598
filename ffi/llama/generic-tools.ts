// Generic tool format, for chat templates without tool support: tools are described in the system message, calls and results
// are text of ordinary messages. Where a template only shows no tools, the description alone. ffi/shim/generic_calls.cpp parses such
// calls; docs/tools.md describes the format.
// A required call is one call: small models that must call go on with every function in turn (SmolLM2, five tools: 47 of 60 answers ended
// by themselves, with one call 55).

import type { ContentPart, Message, ToolSpec } from "../../src/core/message.ts";

const OPENING =
  "You may call functions. They are described here, one a line, with the JSON Schema of their arguments:";

const CALLING = "To call one, answer with nothing but its name and its arguments as JSON, like this:";
const EXAMPLE = '<tool_call>\n{"name": "function name", "arguments": {"argument": "value"}}\n</tool_call>';

/** Whether the tools of a prompt are described here and not by the template. */
export const describesTools = (prompt: string): boolean => prompt.includes(OPENING);

/** Whether that is for calls in the generic format. */
export const isGeneric = (prompt: string): boolean => prompt.includes(CALLING);

const text = (words: string): ContentPart => ({ type: "text", text: words });

function instructions(tools: readonly ToolSpec[], ...calling: readonly string[]): string {
  const lines = tools.map(({ name, description, parameters }) =>
    JSON.stringify({ name, description: description ?? "", parameters }),
  );
  const after = "The next message says what the function has answered.";
  return [OPENING, "<tools>", ...lines, "</tools>", ...calling, after].join("\n");
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
  return tools.length === 0 ? all : ordered(all, instructions(tools, CALLING, EXAMPLE));
}

/** The messages with the tools in the system message, for a template that writes calls, like this one, and shows no tools. */
export function withTools(
  messages: readonly Message[],
  tools: readonly ToolSpec[],
  example: string,
): readonly Message[] {
  return ordered(messages, instructions(tools, "To call one, answer like this:", example));
}

/** The messages with this order at the end of the first system message, which is added if missing. */
function ordered(messages: readonly Message[], order: string): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== "system" && first?.role !== "developer")
    return [{ role: "system", content: [text(order)] }, ...messages];
  return [{ ...first, content: [...first.content, text("\n\n"), text(order)] }, ...rest];
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
