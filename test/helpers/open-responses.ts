// What the Open Responses specification requires of resources and events, in our own words, as JSON Schemas. Its text is
// at openresponses.org; docs/responses.md has the table of what passes.

import type { SchemaObject } from "ajv";

const text = { type: "string" };
const integer = { type: "integer" };
const number = { type: "number" };
const flag = { type: "boolean" };
const object = { type: "object" };
const orNull = (schema: SchemaObject): SchemaObject => ({ anyOf: [schema, { type: "null" }] });
const list = (items: SchemaObject): SchemaObject => ({ type: "array", items });
const oneOf = (...words: readonly string[]): SchemaObject => ({ enum: words });

/** An object that must have all of these properties. */
function shape(properties: Readonly<Record<string, SchemaObject>>): SchemaObject {
  return { type: "object", properties, required: Object.keys(properties) };
}

const logprob = shape({ token: text, logprob: number, bytes: list(integer), top_logprobs: list(object) });
const outputText = shape({ type: oneOf("output_text"), text, annotations: list(object) });
const reasoningText = shape({ type: oneOf("reasoning_text"), text });
const status = oneOf("in_progress", "completed", "incomplete");

const item: SchemaObject = {
  anyOf: [
    shape({ type: oneOf("message"), id: text, status, role: oneOf("assistant"), content: list(outputText) }),
    shape({ type: oneOf("function_call"), id: text, call_id: text, name: text, arguments: text, status }),
    shape({ type: oneOf("reasoning"), id: text, summary: list(object), content: list(reasoningText) }),
  ],
};

const functionTool = shape({
  type: oneOf("function"),
  name: text,
  description: orNull(text),
  parameters: orNull(object),
  strict: orNull(flag),
});

const usage = shape({
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  input_tokens_details: shape({ cached_tokens: integer }),
  output_tokens_details: shape({ reasoning_tokens: integer }),
});

const format: SchemaObject = {
  anyOf: [
    shape({ type: oneOf("text") }),
    shape({ type: oneOf("json_schema"), name: text, description: orNull(text), strict: flag }),
  ],
};

/** A response. */
export const RESOURCE = shape({
  id: text,
  object: oneOf("response"),
  created_at: integer,
  completed_at: orNull(integer),
  status: text,
  incomplete_details: orNull(shape({ reason: text })),
  model: text,
  previous_response_id: orNull(text),
  instructions: orNull(text),
  output: list(item),
  error: orNull(shape({ code: text, message: text })),
  tools: list(functionTool),
  tool_choice: {
    anyOf: [oneOf("none", "auto", "required"), shape({ type: oneOf("function", "allowed_tools") })],
  },
  truncation: oneOf("auto", "disabled"),
  parallel_tool_calls: flag,
  text: shape({ format }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: integer,
  temperature: number,
  reasoning: orNull(
    shape({
      effort: orNull(oneOf("none", "low", "medium", "high", "xhigh")),
      summary: orNull(oneOf("concise", "detailed", "auto")),
    }),
  ),
  usage: orNull(usage),
  max_output_tokens: orNull(integer),
  max_tool_calls: orNull(integer),
  store: flag,
  background: flag,
  service_tier: text,
  metadata: object,
  safety_identifier: orNull(text),
  prompt_cache_key: orNull(text),
});

const numbered = (properties: Readonly<Record<string, SchemaObject>>) =>
  shape({ type: text, sequence_number: integer, ...properties });
const ofItem = { item_id: text, output_index: integer };
const ofPart = { ...ofItem, content_index: integer };
const part = { anyOf: [outputText, reasoningText] };
const lifecycle = numbered({ response: RESOURCE });

/** Events by their type. */
export const EVENTS: Readonly<Record<string, SchemaObject>> = {
  "response.created": lifecycle,
  "response.queued": lifecycle,
  "response.in_progress": lifecycle,
  "response.completed": lifecycle,
  "response.incomplete": lifecycle,
  "response.failed": lifecycle,
  "response.output_item.added": numbered({ output_index: integer, item }),
  "response.output_item.done": numbered({ output_index: integer, item }),
  "response.content_part.added": numbered({ ...ofPart, part }),
  "response.content_part.done": numbered({ ...ofPart, part }),
  "response.output_text.delta": numbered({ ...ofPart, delta: text, logprobs: list(logprob) }),
  "response.output_text.done": numbered({ ...ofPart, text, logprobs: list(logprob) }),
  "response.function_call_arguments.delta": numbered({ ...ofItem, delta: text }),
  "response.function_call_arguments.done": numbered({ ...ofItem, arguments: text }),
  error: numbered({ error: shape({ type: text, code: orNull(text), message: text, param: orNull(text) }) }),
  // The specification calls these response.reasoning.*; the clients that are in use know them by these names.
  "response.reasoning_text.delta": numbered({ ...ofPart, delta: text }),
  "response.reasoning_text.done": numbered({ ...ofPart, text }),
};

/** Body of an error answer. */
export const ERROR = shape({ error: shape({ type: text, code: text, message: text }) });
