// Converts a RunRequest to the body of the Messages API. Pure. Only called for requests whose fields the API has (engines.ts).
// Source: Anthropic's reference of POST /v1/messages, version 2023-06-01.

import { defined } from "../core/defined.ts";
import { type ContentPart, type Message, messageText } from "../core/message.ts";
import type { ChatPrompt, ReasoningEffort } from "../core/run.ts";
import type { ChatRequest } from "./chat-body.ts";
import {
  type Body,
  constraintFields,
  progressFields,
  samplingFields,
  templateFields,
} from "./common-body.ts";
import { estimatedTokens } from "./estimate.ts";
import type { ServerFacts } from "./facts.ts";
import { jsonIn } from "./forms.ts";
import { MESSAGES_TOKENS, PROMPT_MARGIN, THINKING_TOKENS, THINKING_TOKENS_MIN } from "./limits.ts";
import { imageType } from "./media.ts";
import { allowedTools, forcedTool, isForced } from "./tool-choice.ts";

/** The body that asks a server for a streamed message. */
export function messagesBody(request: ChatRequest, model: string, facts: ServerFacts): Body {
  const { prompt, stop, maxTokens = tokensLeft(prompt, facts) } = request;
  return {
    model,
    max_tokens: Math.max(1, maxTokens),
    ...promptFields(prompt, facts),
    ...samplingFields({ ...request, stop: [] }, facts.engine),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
    ...formatFields(request, facts),
    ...thinkingFields(prompt, maxTokens, facts),
    ...progressFields(request, facts.engine, false),
    stream: true,
  };
}

/** The API requires max_tokens. vLLM refuses more than its context has left, so the prompt is estimated. */
function tokensLeft(prompt: ChatPrompt, { contextTokens = Infinity }: ServerFacts): number {
  return Math.min(MESSAGES_TOKENS, contextTokens - Math.ceil(estimatedTokens(prompt) * PROMPT_MARGIN));
}

/** The API has schemas; svc has all constraints under the names of its chat completions. */
function formatFields(request: ChatRequest, facts: ServerFacts): Body {
  const { constraint } = request;
  if (constraint?.type !== "json_schema" || facts.engine === "svc") return constraintFields(request, facts);
  return { output_config: { format: { type: "json_schema", schema: constraint.schema } } };
}

/** The prompt alone, which the API counts the tokens of. */
export function promptFields(prompt: ChatPrompt, facts: ServerFacts): Body {
  const { messages, answerPrefix } = prompt;
  const system = messages.filter(({ role }) => isSystem(role)).map(messageText);
  const turns = merged(messages.filter(({ role }) => !isSystem(role)));
  return {
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    messages: answerPrefix === undefined ? turns : [...turns, { role: "assistant", content: answerPrefix }],
    ...toolFields(prompt, facts),
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
  const json = jsonIn(args);
  if (typeof json === "object" && json !== null && !Array.isArray(json)) return { ...json };
  return args === "" ? {} : { arguments: args };
}

function toolFields({ tools, toolChoice, singleCall }: ChatPrompt, { engine }: ServerFacts): Body {
  // llama-server drops this choice; without tools there are no calls.
  const isWithout = toolChoice.type === "none" && engine === "llama-server";
  if (tools.length === 0 || isWithout) return {};
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

type ThinkingField =
  | { readonly type: "disabled" }
  | { readonly type: "enabled"; readonly budget_tokens: number };

const DEFAULT_EFFORT: ReasoningEffort = "medium";

/** vLLM and llama-server read variables of the chat template instead of `thinking`, of which they take no "disabled". */
function thinkingFields(prompt: ChatPrompt, maxTokens: number, { engine }: ServerFacts): Body {
  if (prompt.thinking.unsaid === true) return {};
  if (engine !== "vllm" && engine !== "llama-server")
    return defined({ thinking: thinkingOf(prompt, maxTokens) });
  const { chat_template_kwargs } = templateFields(prompt.thinking);
  return { chat_template_kwargs };
}

/** The API's budget is a part of max_tokens. Where that leaves too little, and beside a forced call, it does not think. */
function thinkingOf({ thinking, toolChoice }: ChatPrompt, maxTokens: number): ThinkingField | undefined {
  if (!thinking.enabled) return { type: "disabled" };
  const asked = thinking.budget ?? THINKING_TOKENS[thinking.effort ?? DEFAULT_EFFORT];
  const budget = Math.min(asked, thinking.budget === undefined ? Math.floor(maxTokens / 2) : maxTokens - 1);
  if (budget < THINKING_TOKENS_MIN || isForced(toolChoice)) return undefined;
  return { type: "enabled", budget_tokens: budget };
}
