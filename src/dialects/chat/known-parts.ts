// Messages of a body in the forms that the schema knows: parts of unknown types are left out, types that clients omit are added.
// Runs before the schema check.

import type { Compat } from "../../core/compat.ts";
import { isObject } from "../../core/json.ts";
import { isPresent, typesOf } from "../shared/check.ts";
import { knownParts } from "../shared/foreign.ts";
import { knownAssistant } from "./assistant-forms.ts";
import { UserPart } from "./schema.ts";

const KNOWN = typesOf(UserPart);
const KNOWN_OF_ASSISTANT: ReadonlySet<unknown> = new Set([...KNOWN, "refusal"]);
const EMPTY = { type: "text", text: "" };

/** Messages for the schema check. */
export function knownMessages(messages: unknown, compat: Compat): unknown {
  if (!Array.isArray(messages)) return messages;
  return messages.map((sent: unknown, index) => {
    if (!isObject(sent)) return sent;
    const role = sent["role"];
    const message = role === "assistant" ? knownAssistant(sent) : sent;
    const isHistory = index < messages.length - 1 || role === "tool";
    const known = role === "assistant" ? KNOWN_OF_ASSISTANT : KNOWN;
    const rules = { compat, known, empty: EMPTY, adapted, mayEmpty: true };
    // What the user asks now is checked: a part of it that is left out would be missed.
    const content = isHistory ? knownParts(message["content"], rules) : message["content"];
    const calls: unknown = message["tool_calls"];
    const typed = Array.isArray(calls) ? { tool_calls: calls.map(withCallType) } : {};
    return { ...message, ...(isPresent(content) ? { content } : {}), ...typed };
  });
}

/** Parts of other APIs that are text: `input_text`, `output_text`, thinking and the like are not. */
function adapted({ type, text }: Readonly<Record<string, unknown>>) {
  const isText =
    typeof text === "string" && String(type).endsWith("text") && !String(type).includes("reason");
  return isText ? { type: "text", text } : undefined;
}

function withCallType(call: unknown): unknown {
  return isObject(call) && !isPresent(call["type"]) ? { ...call, type: "function" } : call;
}
