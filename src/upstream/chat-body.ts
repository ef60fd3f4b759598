// Converts a RunRequest to the body of a chat completion in the variant of the receiving server. Pure. Only called for requests
// whose fields the server supports (engines.ts).

import { unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import type { ContentPart, MediaPart, Message, ToolCall, ToolSpec } from "../core/message.ts";
import { messageText } from "../core/message.ts";
import type { ChatPrompt, RunRequest, Thinking, ToolChoice } from "../core/run.ts";
import type { Carried } from "./carried.ts";
import { type Body, commonFields, constraintFields, progressFields, templateFields } from "./common-body.ts";
import type { EngineName } from "./engines.ts";
import type { ServerFacts } from "./facts.ts";
import type { Correction } from "./learned.ts";
import { audioFormat, imageUrl } from "./media.ts";

export type ChatRequest = RunRequest<ChatPrompt>;

/** What earlier answers of a server say of its next request. */
export interface Past {
  readonly corrections: ReadonlySet<Correction>;
  /** Names under which the server sends reasoning. */
  readonly reasoning: ReadonlySet<string>;
  /** Fields that came beside a call. */
  readonly carried: (call: ToolCall) => Carried | undefined;
}

const NO_PAST: Past = { corrections: new Set(), reasoning: new Set(), carried: () => undefined };

/** The body that asks a server for a streamed answer. */
export function chatBody(
  request: ChatRequest,
  model: string,
  facts: ServerFacts,
  past: Past = NO_PAST,
): Body {
  const { prompt, logprobs, maxTokens } = request;
  const { corrections } = past;
  const cap = tokenCap(facts, corrections);
  return {
    model,
    messages: messagesOf(prompt, facts, past),
    ...(maxTokens === undefined ? {} : { [cap]: Math.max(1, maxTokens) }),
    ...commonFields(request, facts.engine),
    ...(logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs.top }),
    ...toolFields(prompt, facts),
    ...(prompt.singleCall === true && prompt.tools.length > 0 && !corrections.has("no_parallel_tool_calls")
      ? { parallel_tool_calls: false }
      : {}),
    ...constraintFields(request, facts),
    ...thinkingFields(prompt.thinking, facts),
    ...prefixFields(prompt, facts),
    ...progressFields(request, facts.engine),
    stream: true,
    ...(corrections.has("no_stream_options") ? {} : { stream_options: { include_usage: true } }),
  };
}

/** Name of the cap on tokens. */
function tokenCap(facts: ServerFacts, corrections: Past["corrections"]): string {
  if (corrections.has("max_tokens")) return "max_tokens";
  const isNew = facts.engine === "other" && facts.isOpenAi;
  return isNew || corrections.has("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
}

/** Messages of the conversation; the beginning of the answer is the last one. */
export function messagesOf(prompt: ChatPrompt, facts: ServerFacts, past: Past = NO_PAST): readonly Body[] {
  const { messages, answerPrefix } = prompt;
  const wire = messages.flatMap((message) => messageOf(message, facts, past));
  return answerPrefix === undefined ? wire : [...wire, { role: "assistant", content: answerPrefix }];
}

function messageOf(message: Message, facts: ServerFacts, past: Past): readonly Body[] {
  const { role, name, toolCallId } = message;
  const named = defined({ name });
  const media = message.content.filter((part) => part.type !== "text");
  switch (role) {
    case "developer":
      return [{ role: facts.engine === "svc" ? role : "system", content: messageText(message), ...named }];
    case "system":
      return [{ role, content: messageText(message), ...named }];
    case "user":
      return [{ role, content: contentOf(message.content), ...named }];
    case "assistant":
      return [assistantOf(message, facts, past)];
    case "tool": {
      const result = { role, content: messageText(message), tool_call_id: toolCallId ?? "", ...named };
      // Chat completions have no media in a tool's result: they follow as the user's.
      return media.length === 0 ? [result] : [result, { role: "user", content: contentOf(media) }];
    }
    default:
      return unreachable(role);
  }
}

function assistantOf(message: Message, { engine }: ServerFacts, past: Past): Body {
  const { toolCalls = [] } = message;
  const text = messageText(message);
  const [first] = toolCalls;
  const beside = first === undefined ? undefined : past.carried(first);
  return {
    role: "assistant",
    content: text === "" && toolCalls.length > 0 ? null : text,
    ...reasoningFields(message.reasoning ?? beside?.reasoning, engine, past),
    ...beside?.message,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map((call) => callOf(call, past)) }),
  };
}

/** Reasoning under the names that the server has for it; servers that never sent any may refuse the field. */
function reasoningFields(reasoning: string | undefined, engine: EngineName, past: Past): Body {
  const { corrections } = past;
  const isDemanded = corrections.has("reasoning_content");
  if (corrections.has("no_reasoning") || (!reasoning && !isDemanded)) return {};
  const names = new Set(past.reasoning);
  if (isDemanded || (engine !== "other" && engine !== "ollama")) names.add("reasoning_content");
  if (engine === "vllm") names.add("reasoning"); // its name since 0.12
  return Object.fromEntries([...names].map((name) => [name, reasoning ?? ""]));
}

/** A call with what its server sent beside it. */
function callOf(call: ToolCall, past: Past): Body {
  const { id, name, arguments: args } = call;
  const beside = past.carried(call);
  return {
    id,
    type: "function",
    function: { name, arguments: args, ...beside?.function },
    ...beside?.call,
  };
}

/** Text alone is one string, whose parts join as in svc; servers differ in how they join parts. */
function contentOf(content: readonly ContentPart[]): string | readonly Body[] {
  if (content.every((part) => part.type === "text"))
    return content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return content.map((part) => (part.type === "text" ? { type: "text", text: part.text } : mediaPart(part)));
}

function mediaPart(part: MediaPart): Body {
  if (part.type === "image") return { type: "image_url", image_url: { url: imageUrl(part) } };
  return { type: "input_audio", input_audio: { data: part.data, format: audioFormat(part) } };
}

function toolFields({ tools, toolChoice }: ChatPrompt, { engine }: ServerFacts): Body {
  if (tools.length === 0) return {};
  // Only svc supports a choice among several tools: other servers get only these tools.
  const isCut = engine !== "svc" && toolChoice.type === "named";
  const listed = isCut ? tools.filter(({ name }) => toolChoice.names.includes(name)) : tools;
  const choice = toolChoiceOf(toolChoice, engine);
  return {
    tools: toolsOf(listed, engine),
    ...defined({ tool_choice: choice }),
  };
}

/**
 * Tools, as chat completions name them. A svc leaves deferred ones out of its prompt, as it sees a search among the others; to other
 * servers only those go that the conversation has found.
 */
export function toolsOf(tools: readonly ToolSpec[], engine: EngineName): readonly Body[] {
  const sent = engine === "svc" ? tools : tools.filter(({ deferred }) => deferred !== true);
  return sent.map(({ name, description, parameters, strict, deferred }) => ({
    type: "function",
    function: { name, ...defined({ description }), parameters, ...(strict ? { strict } : {}) },
    ...(engine === "svc" && deferred !== undefined ? { defer_loading: true } : {}),
  }));
}

function toolChoiceOf(choice: ToolChoice, engine: EngineName): unknown {
  switch (choice.type) {
    case "auto":
      return undefined;
    case "none":
    case "required":
      return choice.type;
    case "named": {
      const mode = choice.required ? "required" : "auto";
      const [only, ...others] = choice.names;
      // llama-server takes a mode alone; it reads a named tool as "auto".
      if (choice.required && only !== undefined && others.length === 0 && engine !== "llama-server")
        return { type: "function", function: { name: only } };
      if (engine !== "svc") return mode;
      return { type: "allowed_tools", mode, tools: choice.names.map((name) => ({ type: "function", name })) };
    }
    default:
      return unreachable(choice);
  }
}

function thinkingFields(thinking: Thinking, { engine }: ServerFacts): Body {
  const { enabled, unsaid, effort, budget } = thinking;
  if (unsaid === true) return engine === "svc" ? defined({ thinking_budget: budget }) : {};
  switch (engine) {
    case "svc":
      return {
        ...(effort === undefined ? { enable_thinking: enabled } : { reasoning_effort: effort }),
        ...defined({ thinking_budget: budget }),
      };
    case "llama-server":
      return { ...templateFields(thinking), ...defined({ thinking_budget_tokens: budget }) };
    case "vllm":
    case "sglang":
      return templateFields(thinking);
    case "ollama":
    case "other":
      if (!enabled) return { reasoning_effort: "none" };
      return defined({ reasoning_effort: effort });
    default:
      return unreachable(engine);
  }
}

/** llama-server continues a final assistant message by default. */
function prefixFields({ answerPrefix }: ChatPrompt, { engine }: ServerFacts): Body {
  if (answerPrefix === undefined || engine === "llama-server") return {};
  return { continue_final_message: true, ...(engine === "svc" ? {} : { add_generation_prompt: false }) };
}
