// Schemas of the stream events of this dialect. A stream also has the agent events common to all dialects.
// No `[DONE]` ends a stream: its terminal event does. An error is sent as `error` and as `response.failed`. A cancelled response ends as
// `response.incomplete`, because no event for it exists.

import { type Static, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { PromptProgress } from "../shared/progress.ts";
import { TokenLogprobBody } from "../shared/logprobs.ts";
import { ContentPart, FileCitation, OutputItem, SummaryPart } from "./output-items.ts";
import { ResponseError, ResponseResource } from "./resource.ts";

const response = { response: ResponseResource };
const outputIndex = { output_index: Type.Integer({ minimum: 0, description: "Position in `output`." }) };
const item = { ...outputIndex, item: OutputItem };
const ofItem = { ...outputIndex, item_id: Type.String({ description: "Id of the item." }) };
const ofPart = {
  ...ofItem,
  content_index: Type.Integer({ description: "Position in the item's `content`.", minimum: 0 }),
};
const ofCall = { ...ofItem, call_id: Type.String({ description: "Id of the call." }) };
const ofSummary = {
  ...ofItem,
  summary_index: Type.Integer({ description: "Position in the item's `summary`.", minimum: 0 }),
};
const delta = { delta: Type.String({ description: "Next characters." }) };
const param = {
  param: Type.Union([Type.String(), Type.Null()], { description: "Path of the request field at fault." }),
};
const logprobs = {
  logprobs: Type.Array(TokenLogprobBody, {
    description: "Log probabilities of the tokens; empty unless requested.",
  }),
};

/** Fields of each event type, without `type` and `sequence_number`. */
const FIELDS = {
  "response.created": Type.Object(response),
  "response.queued": Type.Object(response),
  "response.in_progress": Type.Object({ ...response, prompt_progress: Type.Optional(PromptProgress) }),
  "response.completed": Type.Object(response),
  "response.incomplete": Type.Object(response),
  "response.failed": Type.Object(response),
  "response.output_item.added": Type.Object(item),
  "response.output_item.done": Type.Object(item),
  "response.content_part.added": Type.Object({ ...ofPart, part: ContentPart }),
  "response.content_part.done": Type.Object({ ...ofPart, part: ContentPart }),
  "response.output_text.delta": Type.Object({ ...ofPart, ...delta, ...logprobs }),
  "response.output_text.done": Type.Object({
    ...ofPart,
    text: Type.String({ description: "The whole text." }),
    ...logprobs,
  }),
  "response.output_text.annotation.added": Type.Object({
    ...ofPart,
    annotation_index: Type.Integer({ description: "Position in the part's `annotations`.", minimum: 0 }),
    annotation: FileCitation,
  }),
  "response.reasoning_text.delta": Type.Object({ ...ofPart, ...delta }),
  "response.reasoning_text.done": Type.Object({
    ...ofPart,
    text: Type.String({ description: "The whole text." }),
  }),
  "response.reasoning_summary_part.added": Type.Object({ ...ofSummary, part: SummaryPart }),
  "response.reasoning_summary_part.done": Type.Object({ ...ofSummary, part: SummaryPart }),
  "response.reasoning_summary_text.delta": Type.Object({ ...ofSummary, ...delta }),
  "response.reasoning_summary_text.done": Type.Object({
    ...ofSummary,
    text: Type.String({ description: "The whole text." }),
  }),
  "response.function_call_arguments.delta": Type.Object({ ...ofCall, ...delta }),
  "response.function_call_arguments.done": Type.Object({
    ...ofCall,
    name: Type.String({ description: "Name of the function." }),
    arguments: Type.String({ description: "All arguments, JSON text." }),
  }),
  "response.custom_tool_call_input.delta": Type.Object({ ...ofCall, ...delta }),
  "response.custom_tool_call_input.done": Type.Object({
    ...ofCall,
    input: Type.String({ description: "The whole input." }),
  }),
  // Some clients read the fields of the event, others those of its `error` object.
  error: Type.Object({
    code: Type.String({ description: "Error code, for programs." }),
    message: Type.String({ description: "What is wrong and how to fix it, for people." }),
    ...param,
    error: Type.Object(
      { ...ResponseError.properties, ...param },
      { description: "The same, where other clients read it." },
    ),
  }),
} as const;

export type EventType = keyof typeof FIELDS;
export type EventFields<T extends EventType> = Static<(typeof FIELDS)[T]>;

const SCHEMAS: readonly (readonly [string, { readonly properties: TProperties }])[] = Object.entries(FIELDS);

/** One `data:` line of a stream, for the OpenAPI document. */
export const ResponsesStreamEvent: TSchema = Type.Union(
  SCHEMAS.map(([type, { properties }]) =>
    Type.Object({
      type: Type.Literal(type),
      sequence_number: Type.Integer({ minimum: 0, description: "From 0, without gaps." }),
      ...properties,
    }),
  ),
  { $id: "ResponsesStreamEvent", description: "The event of the frame is named like `type`." },
);
