// Prompts by another renderer of chat templates, which shares no code with llama.cpp's.

import { Template } from "@huggingface/jinja";
import { defined } from "../../src/core/defined.ts";
import type { Message } from "../../src/core/message.ts";
import { messageText } from "../../src/core/message.ts";
import { reasonOf } from "../../src/core/reason.ts";
import type { Asked } from "./template-bench.ts";

/** What templates know of a model's vocabulary. */
export interface EdgeTokens {
  readonly bos: string;
  readonly eos: string;
}

/** A prompt, or what the template says against the conversation. */
export type Outcome = { readonly text: string } | { readonly refusal: string };

type Form = "text" | "parts";

function toTemplateMessage(message: Message, form: Form): Record<string, unknown> {
  const text = messageText(message);
  return {
    role: message.role,
    content: form === "parts" ? [{ type: "text", text }] : text,
    ...defined({ reasoning_content: message.reasoning }),
    ...(message.toolCalls === undefined
      ? {}
      : {
          tool_calls: message.toolCalls.map(({ id, name, arguments: args }) => ({
            id,
            type: "function",
            function: { name, arguments: JSON.parse(args) },
          })),
        }),
    ...defined({ tool_call_id: message.toolCallId, name: message.name }),
  };
}

/** As llama.cpp passes it: 22 Nov 2026. */
function today(): string {
  const parts = new Intl.DateTimeFormat("en", {
    day: "2-digit",
    month: "short",
    year: "numeric",
  }).formatToParts();
  const part = (wanted: string): string => parts.find(({ type }) => type === wanted)?.value ?? "";
  return `${part("day")} ${part("month")} ${part("year")}`;
}

const parsed = new Map<string, Template>();

function templateOf(source: string): Template {
  const known = parsed.get(source) ?? new Template(source);
  parsed.set(source, known);
  return known;
}

function renderAs(
  source: string,
  form: Form,
  { messages, tools = [], thinking }: Asked,
  edge: EdgeTokens,
): Outcome {
  try {
    const text = templateOf(source).render({
      messages: messages.map((message) => toTemplateMessage(message, form)),
      ...(tools.length === 0
        ? {}
        : {
            tools: tools.map(({ name, description, parameters }) => ({
              type: "function",
              function: { name, description: description ?? "", parameters },
            })),
          }),
      bos_token: edge.bos,
      eos_token: edge.eos,
      add_generation_prompt: true,
      date_string: today(),
      enable_thinking: thinking?.enabled ?? true,
    });
    return { text };
  } catch (error) {
    return { refusal: reasonOf(error) };
  }
}

/** Renders a conversation as it is; where the template takes content only in parts, in parts. */
export function renderIndependently(source: string, asked: Asked, edge: EdgeTokens): Outcome {
  const plain = renderAs(source, "text", asked, edge);
  const first = asked.messages[0] === undefined ? "" : messageText(asked.messages[0]);
  if ("text" in plain && plain.text.includes(first.trim())) return plain;
  const inParts = renderAs(source, "parts", asked, edge);
  return "text" in inParts && inParts.text.includes(first.trim()) ? inParts : plain;
}
