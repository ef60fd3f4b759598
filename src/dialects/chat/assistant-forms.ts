// An assistant's earlier message as other servers and libraries write it: its reasoning under other names, or as parts of its content, and
// a refusal beside it. Runs before the schema check.

import { isObject, type Json } from "../../core/json.ts";
import { isPresent } from "../shared/check.ts";

/** Names of the reasoning as text, the dialect's own first. */
const TEXTS = ["reasoning_content", "reasoning", "thinking"] as const;
/** Names of the reasoning as a list of parts. */
const LISTS = ["reasoning_details", "thinking_blocks"] as const;
const REASONING_PARTS: ReadonlySet<unknown> = new Set(["thinking", "reasoning"]);

/** The message in the forms of the schema. */
export function knownAssistant(message: Json): Json {
  const { refusal, content, ...others } = message;
  const { parts, thoughts } = partedContent(content);
  const reasoning = reasoningOf(message) ?? thoughts;
  const rest = Object.entries(others).filter(([name]) => !isReasoning(name, others[name]));
  const said = isText(refusal) ? withRefusal(parts, refusal) : parts;
  return {
    ...Object.fromEntries(rest),
    ...(isPresent(refusal) && typeof refusal !== "string" ? { refusal } : {}), // named as unknown
    ...(said === undefined ? {} : { content: said }),
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
  };
}

function isReasoning(name: string, value: unknown): boolean {
  if (LISTS.some((list) => list === name)) return Array.isArray(value);
  return TEXTS.some((text) => text === name) && typeof value === "string";
}

function reasoningOf(message: Json): string | undefined {
  const text = TEXTS.map((name) => message[name]).find(isText);
  if (text !== undefined) return text;
  const lists = LISTS.map((name) => textOf(message[name]));
  return lists.find(isText);
}

/** Text of parts in any of the forms that reasoning has: `text`, `thinking`, `summary`. Encrypted ones have none. */
function textOf(parts: unknown): string {
  if (typeof parts === "string") return parts;
  if (!Array.isArray(parts)) return "";
  const texts = parts.map((part: unknown) => {
    if (!isObject(part)) return "";
    return textOf(part["text"] ?? part["thinking"] ?? part["summary"]);
  });
  return texts.join("");
}

function partedContent(content: unknown): { readonly parts: unknown; readonly thoughts?: string } {
  if (!Array.isArray(content)) return { parts: content };
  const isThought = (part: unknown): boolean => isObject(part) && REASONING_PARTS.has(part["type"]);
  const thoughts = textOf(content.filter(isThought));
  if (thoughts === "") return { parts: content };
  return { parts: content.filter((part) => !isThought(part)), thoughts };
}

/** A refusal is what the assistant said, unless its content says so already. */
function withRefusal(content: unknown, refusal: string): unknown {
  const part = { type: "refusal", refusal };
  if (!isPresent(content) || content === "") return [part];
  if (typeof content === "string") return [{ type: "text", text: content }, part];
  const isSaid = (one: unknown): boolean => isObject(one) && one["refusal"] === refusal;
  return Array.isArray(content) && !content.some(isSaid) ? [...content, part] : content;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
