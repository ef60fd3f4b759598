// Converts a RunRequest to the body of the Responses API. Pure. Only called for requests whose fields the API has (engines.ts).
// Source: OpenAI's reference of POST /v1/responses.

import { unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { type ContentPart, type Message, messageText } from "../core/message.ts";
import type { ChatPrompt, Thinking } from "../core/run.ts";
import type { ChatRequest } from "./chat-body.ts";
import {
  type Body,
  constraintFields,
  progressFields,
  samplingFields,
  templateFields,
} from "./common-body.ts";
import type { ServerFacts } from "./facts.ts";
import { RESPONSES_TOKENS_MIN } from "./limits.ts";
import { audioFormat, imageUrl } from "./media.ts";
import { allowedTools, forcedTool, isForced, takesToolNames } from "./tool-choice.ts";

/** The body that asks a server for a streamed response, which it must not store. */
export function responsesBody(request: ChatRequest, model: string, facts: ServerFacts): Body {
  const { prompt, maxTokens, logprobs, truncate } = request;
  const min = facts.engine === "other" ? RESPONSES_TOKENS_MIN : 1;
  return {
    model,
    ...inputFields(prompt, facts),
    ...(maxTokens === undefined ? {} : { max_output_tokens: Math.max(min, maxTokens) }),
    ...samplingFields(request, facts.engine),
    ...(logprobs === undefined
      ? {}
      : { include: ["message.output_text.logprobs"], top_logprobs: logprobs.top }),
    ...formatFields(request, facts),
    ...thinkingFields(prompt.thinking, facts),
    ...(truncate ? { truncation: "auto" } : {}),
    store: false,
    ...progressFields(request, facts.engine, false),
    stream: true,
  };
}

/** Schemas have a field of the API, which llama-server does not read; other constraints are named as in chat completions. */
function formatFields(request: ChatRequest, facts: ServerFacts): Body {
  const { constraint, constraintParam } = request;
  const isPlain = constraint?.type === "json_schema" && constraintParam !== "grammar";
  if (constraint?.type !== "json_schema" || facts.engine === "llama-server")
    return constraintFields(request, facts);
  if (!isPlain && facts.engine === "svc") return constraintFields(request, facts);
  const { schema, strict = false } = constraint;
  return { text: { format: { type: "json_schema", name: "answer", schema, strict } } };
}

/** Conversation and tools, which the API counts the tokens of. */
export function inputFields(prompt: ChatPrompt, facts: ServerFacts): Body {
  return { input: prompt.messages.flatMap(itemsOf), ...toolFields(prompt, facts) };
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
      // Without its type llama-server refuses the item.
      return text === "" ? calls : [{ type: "message", role, content: text }, ...calls];
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
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", image_url: imageUrl(part) };
    case "audio":
      return { type: "input_audio", input_audio: { data: part.data, format: audioFormat(part) } };
    default:
      return unreachable(part);
  }
}

function toolFields({ tools, toolChoice, singleCall }: ChatPrompt, { engine }: ServerFacts): Body {
  if (tools.length === 0) return {};
  const forced = takesToolNames(engine) ? forcedTool(toolChoice) : undefined;
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

function thinkingFields(thinking: Thinking, { engine }: ServerFacts): Body {
  const { enabled, unsaid, effort, budget } = thinking;
  const limit = engine === "svc" ? defined({ thinking_budget: budget }) : {};
  if (unsaid === true) return limit;
  if (engine === "llama-server") return templateFields(thinking);
  if (!enabled) return { reasoning: { effort: "none" } };
  return { reasoning: { ...defined({ effort }), summary: "auto" }, ...limit };
}
