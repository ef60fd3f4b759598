// Converts a RunRequest to the body of a chat completion in the variant of the receiving server. Pure. Only called for requests
// whose fields the server supports (engines.ts).

import { unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import type { ContentPart, MediaPart, Message } from "../core/message.ts";
import { messageText } from "../core/message.ts";
import type { ChatPrompt, RunRequest, Thinking, ToolChoice } from "../core/run.ts";
import { type Body, commonFields, constraintFields, progressFields, templateFields } from "./common-body.ts";
import type { EngineName } from "./engines.ts";
import type { ServerFacts } from "./facts.ts";
import { audioFormat, imageUrl } from "./media.ts";
import { allowedTools, forcedTool, takesToolNames } from "./tool-choice.ts";

export type ChatRequest = RunRequest<ChatPrompt>;

/** The body that asks a server for a streamed answer. */
export function chatBody(request: ChatRequest, model: string, facts: ServerFacts): Body {
  const { prompt, logprobs, maxTokens } = request;
  const cap = facts.engine === "other" && facts.isOpenAi ? "max_completion_tokens" : "max_tokens";
  return {
    model,
    messages: messagesOf(prompt, facts),
    ...(maxTokens === undefined ? {} : { [cap]: Math.max(1, maxTokens) }),
    ...commonFields(request, facts.engine),
    ...(logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs.top }),
    ...toolFields(prompt, facts),
    ...constraintFields(request, facts),
    ...thinkingFields(prompt.thinking, facts),
    ...prefixFields(prompt, facts),
    ...progressFields(request, facts.engine),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** Messages of the conversation; the beginning of the answer is the last one. */
export function messagesOf(prompt: ChatPrompt, facts: ServerFacts): readonly Body[] {
  const { messages, answerPrefix } = prompt;
  const wire = messages.flatMap((message) => messageOf(message, facts));
  return answerPrefix === undefined ? wire : [...wire, { role: "assistant", content: answerPrefix }];
}

function messageOf(message: Message, facts: ServerFacts): readonly Body[] {
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
      return [assistantOf(message, facts)];
    case "tool": {
      const result = { role, content: messageText(message), tool_call_id: toolCallId ?? "", ...named };
      // Chat completions have no media in a tool's result: they follow as the user's.
      return media.length === 0 ? [result] : [result, { role: "user", content: contentOf(media) }];
    }
    default:
      return unreachable(role);
  }
}

function assistantOf(message: Message, { engine }: ServerFacts): Body {
  const { reasoning, toolCalls = [] } = message;
  const text = messageText(message);
  const knowsReasoning = engine !== "other" && engine !== "ollama";
  return {
    role: "assistant",
    content: text === "" && toolCalls.length > 0 ? null : text,
    ...(reasoning === undefined || !knowsReasoning ? {} : { reasoning_content: reasoning }),
    ...(reasoning === undefined || engine !== "vllm" ? {} : { reasoning }), // its name since 0.12
    ...(toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
            id,
            type: "function",
            function: { name, arguments: args },
          })),
        }),
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

function toolFields({ tools, toolChoice, singleCall }: ChatPrompt, { engine }: ServerFacts): Body {
  if (tools.length === 0) return {};
  const listed = engine === "svc" ? tools : allowedTools(tools, toolChoice);
  const choice = toolChoiceOf(toolChoice, engine);
  return {
    tools: listed.map(({ name, description, parameters, strict }) => ({
      type: "function",
      function: {
        name,
        ...defined({ description }),
        parameters,
        ...(strict ? { strict } : {}),
      },
    })),
    ...defined({ tool_choice: choice }),
    ...(singleCall === true ? { parallel_tool_calls: false } : {}),
  };
}

function toolChoiceOf(choice: ToolChoice, engine: EngineName): unknown {
  switch (choice.type) {
    case "auto":
      return undefined;
    case "none":
    case "required":
      return choice.type;
    case "named": {
      const only = takesToolNames(engine) ? forcedTool(choice) : undefined;
      if (only !== undefined) return { type: "function", function: { name: only } };
      const mode = choice.required ? "required" : "auto";
      if (engine !== "svc") return mode;
      return { type: "allowed_tools", mode, tools: choice.names.map((name) => ({ type: "function", name })) };
    }
    default:
      return unreachable(choice);
  }
}

function thinkingFields(thinking: Thinking, { engine }: ServerFacts): Body {
  const { enabled, unsaid, effort } = thinking;
  if (unsaid === true) return {};
  switch (engine) {
    case "svc":
      return effort === undefined ? { enable_thinking: enabled } : { reasoning_effort: effort };
    case "vllm":
    case "sglang":
    case "llama-server":
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
