// Request fields that a response repeats, with their defaults.

import type { Conversation } from "../../core/agent.ts";
import type { Thinking } from "../../core/run.ts";
import { isPresent } from "../shared/check.ts";
import type { ResponseEcho } from "./resource.ts";
import type { ResponsesCreateRequest } from "./schema.ts";
import type { HostedTool } from "./tools.ts";

/** The repeated fields of a checked body. */
export function echoOf(body: ResponsesCreateRequest, run: Conversation["run"]): ResponseEcho {
  return {
    instructions: body.instructions ?? null,
    previous_response_id: body.previous_response_id === "" ? null : (body.previous_response_id ?? null),
    max_output_tokens: run.maxTokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    temperature: run.sampling.temperature,
    top_p: run.sampling.topP,
    presence_penalty: run.sampling.presencePenalty,
    frequency_penalty: run.sampling.frequencyPenalty,
    top_logprobs: run.logprobs?.top ?? 0,
    tool_choice: body.tool_choice ?? "auto",
    tools: (body.tools ?? []).filter((tool) => !isEmpty(tool)).map(toolEcho),
    text: { format: formatEcho(body) },
    reasoning: { effort: effortEcho(run.prompt.thinking), summary: body.reasoning?.summary ?? null },
    truncation: body.truncation ?? "disabled",
    store: body.store ?? true,
    background: body.background ?? false,
    service_tier: "default",
    metadata: body.metadata ?? {},
    user: body.user ?? null,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
  };
}

/** Whether a tool is the placeholder for an omitted one. */
function isEmpty(tool: HostedTool): boolean {
  return tool.type === "namespace" && !isPresent(tool.tools);
}

/** Clients of this dialect expect functions in the flat form, with all fields. */
function toolEcho(tool: HostedTool): Record<string, unknown> {
  if (tool.type !== "function") return { ...tool };
  const { name, description, parameters, strict } = tool.function ?? tool;
  return {
    type: "function",
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? false,
  };
}

/** The effort in the terms of this dialect. */
function effortEcho({ enabled, effort }: Thinking): string | null {
  return enabled ? (effort ?? null) : "none";
}

/** The format in the flat form, with all fields. */
function formatEcho({ text, response_format: other }: ResponsesCreateRequest): Record<string, unknown> {
  const first = text?.format ?? { type: "text" };
  const format = first.type === "text" ? (other ?? first) : first;
  if (format.type !== "json_schema") return { type: format.type };
  const defaults = { name: "answer", description: null, strict: false };
  return { type: format.type, ...defaults, ...(format.json_schema ?? format) };
}
