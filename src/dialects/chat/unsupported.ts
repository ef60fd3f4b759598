// Request fields of this dialect that would change the answer and that this build does not act on. They are refused
// by name, never silently ignored; a value that changes nothing (0, [], null …) passes. A feature that arrives
// takes its row out of here and gets a field in schema.ts.

import { type ErrorCode, ServiceError } from "../../core/error.ts";
import { shown } from "../shared/check.ts";

interface Refusal {
  readonly field: string;
  /** Whether a value has no effect and may pass. Null always passes. */
  readonly harmless: (value: unknown) => boolean;
  readonly code: ErrorCode;
  /** What to send instead. */
  readonly fix: string;
}

const never = () => false;
const equals = (neutral: unknown) => (value: unknown) => value === neutral;
const emptyArray = (value: unknown) => Array.isArray(value) && value.length === 0;
const emptyObject = (value: unknown) => isRecord(value) && Object.keys(value).length === 0;

const value = (field: string, harmless: Refusal["harmless"], fix: string): Refusal => {
  return { field, harmless, code: "unsupported_value", fix };
};
const capability = (field: string, harmless: Refusal["harmless"], fix = "omit it"): Refusal => {
  return { field, harmless, code: "unsupported_capability", fix };
};

const REFUSALS: readonly Refusal[] = [
  value("n", equals(1), "send 1 or omit it"),
  value("logprobs", equals(false), "send false or omit it"),
  value("top_logprobs", equals(0), "omit it"),
  value("logit_bias", emptyObject, "omit it"),
  value("presence_penalty", equals(0), "send 0 or omit it"),
  value("frequency_penalty", equals(0), "send 0 or omit it"),
  value("repetition_penalty", equals(1), "send 1 or omit it"),
  value("dry_multiplier", equals(0), "send 0 or omit it"),
  capability("grammar", never),
  capability("adapter", never),
  capability("web_search_options", never),
  capability("session_id", never, "send the whole conversation in messages"),
  capability("files", emptyArray),
  capability("enable_shell", equals(false)),
  capability("enable_code_execution", equals(false)),
  capability("functions", emptyArray),
  capability(
    "modalities",
    (given) => Array.isArray(given) && given.every(equals("text")),
    'send ["text"] or omit it',
  ),
];

/** Throws a ServiceError for the first thing in a body that this build cannot honour. Runs before the schema check. */
export function refuseUnsupported(body: Readonly<Record<string, unknown>>): void {
  for (const { field, harmless, code, fix } of REFUSALS) {
    const given = body[field];
    if (given === undefined || given === null || harmless(given)) continue;
    throw new ServiceError(code, `${field} is not supported with the value ${shown(given)}; ${fix}`, {
      param: field,
    });
  }
  refuseResponseFormat(body["response_format"]);
  refuseTools(body["tools"], body["tool_choice"]);
  if (Array.isArray(body["messages"])) body["messages"].forEach(refuseMessage);
}

function refuseResponseFormat(format: unknown): void {
  if (format === undefined || format === null) return;
  const type = isRecord(format) ? format["type"] : format;
  if (type === "text") return;
  const param = "response_format.type";
  if (type === "json_object") {
    const message = 'response_format.type "json_object" is not accepted; send a schema with "json_schema"';
    throw new ServiceError("unsupported_value", message, { param });
  }
  if (type === "json_schema") {
    const message = 'response_format.type "json_schema" is not supported yet; omit response_format';
    throw new ServiceError("unsupported_capability", message, { param });
  }
  const message = `response_format.type must be "text" or "json_schema"; got ${shown(type)}`;
  throw new ServiceError("unsupported_value", message, { param });
}

/** Tools may be listed when they may not be called; otherwise a choice must be one that needs no tool. */
function refuseTools(tools: unknown, choice: unknown): void {
  if (tools !== undefined && tools !== null && !Array.isArray(tools)) {
    throw new ServiceError("invalid_request", "tools must be an array", { param: "tools" });
  }
  if (choice === "none") return;
  if (Array.isArray(tools) && tools.length > 0) {
    const message = 'tools are not supported yet; omit them or send tool_choice "none"';
    throw new ServiceError("unsupported_capability", message, { param: "tools" });
  }
  if (choice === undefined || choice === null || choice === "auto") return;
  if (choice === "required" || isRecord(choice)) {
    const what = choice === "required" ? 'tool_choice "required"' : "tool_choice naming a tool";
    throw new ServiceError("invalid_request", `${what} needs at least one tool in tools`, {
      param: "tool_choice",
    });
  }
  const message = `tool_choice must be "auto", "none", "required" or an object naming tools; got ${shown(choice)}`;
  throw new ServiceError("unsupported_value", message, { param: "tool_choice" });
}

/** Content parts that the dialect defines and that need a model or a store which this build does not have. */
const MEDIA_PARTS = new Set<unknown>(["image_url", "input_audio", "audio_url", "video_url", "file"]);

function refuseMessage(message: unknown, index: number): void {
  if (!isRecord(message)) return;
  if (message["function_call"] !== undefined && message["function_call"] !== null) {
    const param = `messages[${index}].function_call`;
    throw new ServiceError("unsupported_value", `${param} is not supported; send tool_calls`, { param });
  }
  const content = message["content"];
  if (!Array.isArray(content)) return;
  for (const [partIndex, part] of content.entries()) {
    if (!isRecord(part) || !MEDIA_PARTS.has(part["type"])) continue;
    const param = `messages[${index}].content[${partIndex}]`;
    const text = `${param} has the type ${shown(part["type"])}, which is not supported; send only "text" parts`;
    throw new ServiceError("unsupported_capability", text, { param });
  }
}

function isRecord(candidate: unknown): candidate is Readonly<Record<string, unknown>> {
  return typeof candidate === "object" && candidate !== null && !Array.isArray(candidate);
}
