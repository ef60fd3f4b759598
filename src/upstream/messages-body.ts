// Converts a RunRequest to the body of the Messages API. Pure. Only called for requests whose fields the API has (engines.ts).
// Source: Anthropic's reference of POST /v1/messages, version 2023-06-01.

import { defined } from "../core/defined.ts";
import { type ContentPart, type Message, messageText } from "../core/message.ts";
import type { ChatPrompt, ReasoningEffort } from "../core/run.ts";
import type { SamplingParams } from "../core/sampling.ts";
import type { ChatRequest } from "./chat-body.ts";
import type { Body } from "./common-body.ts";
import { MESSAGES_TOKENS, THINKING_TOKENS, THINKING_TOKENS_MIN } from "./limits.ts";
import { imageType } from "./media.ts";
import { allowedTools, forcedTool, isForced } from "./tool-choice.ts";

/** The body that asks a server for a streamed message. */
export function messagesBody(request: ChatRequest, model: string): Body {
  const { prompt, sampling, stop, maxTokens = MESSAGES_TOKENS } = request;
  const thinking = thinkingOf(prompt, maxTokens);
  return {
    model,
    max_tokens: Math.max(1, maxTokens),
    ...promptFields(prompt),
    // With thinking on, the API takes no sampling but its own.
    ...(thinking?.type === "enabled" ? {} : samplingFields(sampling)),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
    ...defined({ thinking }),
    stream: true,
  };
}

/** The prompt alone, which the API counts the tokens of. */
export function promptFields(prompt: ChatPrompt): Body {
  const { messages, answerPrefix } = prompt;
  const system = messages.filter(({ role }) => isSystem(role)).map(messageText);
  const turns = merged(messages.filter(({ role }) => !isSystem(role)));
  return {
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    messages: answerPrefix === undefined ? turns : [...turns, { role: "assistant", content: answerPrefix }],
    ...toolFields(prompt),
  };
}

function isSystem(role: Message["role"]): boolean {
  return role === "system" || role === "developer";
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: Body[];
}

/** Results of parallel calls must stand in one message of the user: neighbours of one role become one. */
function merged(messages: readonly Message[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks = blocksOf(message);
    if (blocks.length === 0) continue; // the API refuses empty messages
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else turns.push({ role, content: [...blocks] });
  }
  return turns;
}

/** Reasoning is left out: without its signature the API refuses it. */
function blocksOf(message: Message): readonly Body[] {
  const { role, content, toolCalls = [], toolCallId = "" } = message;
  const blocks = content.flatMap(blockOf);
  if (role === "tool")
    return [
      { type: "tool_result", tool_use_id: toolCallId, ...(blocks.length === 0 ? {} : { content: blocks }) },
    ];
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    type: "tool_use",
    id,
    name,
    input: inputOf(args),
  }));
  return [...blocks, ...calls];
}

/** The API refuses empty text. */
function blockOf(part: ContentPart): readonly Body[] {
  if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
  return [{ type: "image", source: { type: "base64", media_type: imageType(part), data: part.data } }];
}

/** Arguments are an object; what a model cut off or spelled wrong is passed on as a text. */
function inputOf(args: string): Body {
  try {
    const json: unknown = JSON.parse(args);
    if (typeof json === "object" && json !== null && !Array.isArray(json)) return { ...json };
  } catch {
    // Below.
  }
  return args === "" ? {} : { arguments: args };
}

function toolFields({ tools, toolChoice, singleCall }: ChatPrompt): Body {
  if (tools.length === 0) return {};
  const single = singleCall === true ? { disable_parallel_tool_use: true } : {};
  const name = forcedTool(toolChoice);
  const type =
    name !== undefined ? "tool" : isForced(toolChoice) ? "any" : toolChoice.type === "none" ? "none" : "auto";
  return {
    tools: allowedTools(tools, toolChoice).map((tool) => ({
      name: tool.name,
      ...defined({ description: tool.description }),
      input_schema: tool.parameters,
    })),
    ...(type === "auto" && singleCall !== true
      ? {}
      : { tool_choice: { type, ...defined({ name }), ...(type === "none" ? {} : single) } }),
  };
}

/** Neutral values are left out: newer models refuse both fields together. */
function samplingFields({ temperature, topP, topK }: SamplingParams): Body {
  return {
    ...(temperature === 1 ? {} : { temperature }),
    ...(topP === 1 ? {} : { top_p: topP }),
    ...(topK > 0 ? { top_k: topK } : {}),
  };
}

type ThinkingField =
  | { readonly type: "disabled" }
  | { readonly type: "enabled"; readonly budget_tokens: number };

const DEFAULT_EFFORT: ReasoningEffort = "medium";

/** The API's budget is a part of max_tokens. Where that leaves too little, and beside a forced call, it does not think. */
function thinkingOf({ thinking, toolChoice }: ChatPrompt, maxTokens: number): ThinkingField | undefined {
  if (thinking.unsaid === true) return undefined;
  if (!thinking.enabled) return { type: "disabled" };
  const budget = Math.min(THINKING_TOKENS[thinking.effort ?? DEFAULT_EFFORT], Math.floor(maxTokens / 2));
  if (budget < THINKING_TOKENS_MIN || isForced(toolChoice)) return undefined;
  return { type: "enabled", budget_tokens: budget };
}
