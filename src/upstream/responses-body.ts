// Converts a RunRequest to the body of the Responses API. Pure. Only called for requests whose fields the API has (engines.ts).
// Source: OpenAI's reference of POST /v1/responses.

import { unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { type ContentPart, type Message, messageText } from "../core/message.ts";
import type { ChatPrompt, Thinking } from "../core/run.ts";
import type { ChatRequest } from "./chat-body.ts";
import type { Body } from "./common-body.ts";
import { RESPONSES_TOKENS_MIN } from "./limits.ts";
import { imageUrl } from "./media.ts";
import { allowedTools, forcedTool, isForced } from "./tool-choice.ts";

/** The body that asks a server for a streamed response, which it must not store. */
export function responsesBody(request: ChatRequest, model: string): Body {
  const { prompt, sampling, constraint, maxTokens, logprobs, truncate } = request;
  const { temperature, topP } = sampling;
  return {
    model,
    ...inputFields(prompt),
    ...(maxTokens === undefined ? {} : { max_output_tokens: Math.max(RESPONSES_TOKENS_MIN, maxTokens) }),
    // Neutral values are left out: models that reason refuse the fields.
    ...(temperature === 1 ? {} : { temperature }),
    ...(topP === 1 ? {} : { top_p: topP }),
    ...(logprobs === undefined
      ? {}
      : { include: ["message.output_text.logprobs"], top_logprobs: logprobs.top }),
    ...(constraint?.type === "json_schema"
      ? {
          text: {
            format: {
              type: "json_schema",
              name: "answer",
              schema: constraint.schema,
              strict: constraint.strict ?? false,
            },
          },
        }
      : {}),
    ...thinkingFields(prompt.thinking),
    ...(truncate ? { truncation: "auto" } : {}),
    store: false,
    stream: true,
  };
}

/** Conversation and tools, which the API counts the tokens of. */
export function inputFields(prompt: ChatPrompt): Body {
  return { input: prompt.messages.flatMap(itemsOf), ...toolFields(prompt) };
}

/** Reasoning is left out: the API takes only what it has encrypted itself. */
function itemsOf(message: Message): readonly Body[] {
  const { role, content, toolCalls = [], toolCallId = "" } = message;
  const text = messageText(message);
  switch (role) {
    case "assistant": {
      const calls = toolCalls.map(({ id, name, arguments: args }) => ({
        type: "function_call",
        call_id: id,
        name,
        arguments: args,
      }));
      return text === "" ? calls : [{ role, content: text }, ...calls];
    }
    case "tool": {
      const media = content.filter((part) => part.type !== "text");
      const result = { type: "function_call_output", call_id: toolCallId, output: text };
      return media.length === 0 ? [result] : [result, { role: "user", content: media.map(partOf) }];
    }
    case "user":
      return [{ role, content: content.map(partOf) }];
    case "system":
    case "developer":
      return [{ role, content: text }];
    default:
      return unreachable(role);
  }
}

function partOf(part: ContentPart): Body {
  return part.type === "text"
    ? { type: "input_text", text: part.text }
    : { type: "input_image", image_url: imageUrl(part) };
}

function toolFields({ tools, toolChoice, singleCall }: ChatPrompt): Body {
  if (tools.length === 0) return {};
  const forced = forcedTool(toolChoice);
  const choice =
    forced !== undefined
      ? { type: "function", name: forced }
      : isForced(toolChoice)
        ? "required"
        : toolChoice.type === "none"
          ? "none"
          : undefined;
  return {
    tools: allowedTools(tools, toolChoice).map(({ name, description, parameters, strict }) => ({
      type: "function",
      name,
      ...defined({ description }),
      parameters,
      strict, // the API's own default is true
    })),
    ...defined({ tool_choice: choice }),
    ...(singleCall === true ? { parallel_tool_calls: false } : {}),
  };
}

function thinkingFields({ enabled, unsaid, effort }: Thinking): Body {
  if (unsaid === true) return {};
  if (!enabled) return { reasoning: { effort: "none" } };
  return { reasoning: { ...defined({ effort }), summary: "auto" } };
}
