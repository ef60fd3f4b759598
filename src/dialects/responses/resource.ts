// Wire schema of the response resource: the body of an answer, the stored record, and part of lifecycle events.

import { type Static, Type } from "@sinclair/typebox";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { Usage } from "../../core/run.ts";
import { count, nullable } from "../../core/schema-fields.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { adapterAnswerProperties } from "../shared/adapter.ts";
import { agentAnswerProperties } from "../shared/agent-events.ts";
import { closedThoughts, closedThoughtsOf } from "../shared/usage.ts";
import { OutputItem } from "./output-items.ts";

const anyObject = Type.Record(Type.String(), Type.Unknown());

const ResponseStatus = Type.Union(
  [
    Type.Literal("queued"),
    Type.Literal("in_progress"),
    Type.Literal("completed"),
    Type.Literal("incomplete"),
    Type.Literal("failed"),
    Type.Literal("cancelled"),
  ],
  { $id: "ResponseStatus", description: "The last four are final." },
);
export type ResponseStatus = Static<typeof ResponseStatus>;

export const ResponseError = Type.Object(
  {
    code: Type.String({ description: "Error code, for programs." }),
    message: Type.String({ description: "What is wrong and how to fix it, for people." }),
    type: Type.String({ description: "Class of the code, as client libraries distinguish it." }),
  },
  { $id: "ResponseError", description: "Why the response failed." },
);
export type ResponseError = Static<typeof ResponseError>;

const IncompleteDetails = Type.Object(
  {
    reason: Type.Union(
      [Type.Literal("max_output_tokens"), Type.Literal("content_filter"), Type.Literal("interrupted")],
      {
        description:
          "`content_filter`: a filter of the upstream server; `interrupted`: the response was cancelled.",
      },
    ),
  },
  { $id: "IncompleteDetails", description: "Why the answer is cut." },
);

export const ResponseUsage = Type.Object(
  {
    input_tokens: count("Tokens of the prompt."),
    input_tokens_details: Type.Object(
      { cached_tokens: count("Prompt tokens taken from the prefix cache instead of computed.") },
      { $id: "InputTokensDetails", description: "Parts of `input_tokens`." },
    ),
    output_tokens: count("Generated tokens."),
    output_tokens_details: Type.Object(
      {
        reasoning_tokens: count("Generated reasoning tokens."),
        closed_thoughts: Type.Optional(closedThoughts),
      },
      { $id: "OutputTokensDetails", description: "Parts of `output_tokens`." },
    ),
    total_tokens: count("Input and output tokens."),
  },
  { $id: "ResponseUsage", description: "Tokens of the response." },
);
export type ResponseUsage = Static<typeof ResponseUsage>;

/** Request fields that the resource repeats, with their defaults. */
const echoProperties = {
  instructions: nullable(Type.String({ description: "As sent." })),
  previous_response_id: nullable(Type.String({ description: "As sent." })),
  max_output_tokens: nullable(Type.Integer({ description: "As sent." })),
  max_tool_calls: nullable(Type.Integer({ description: "As sent." })),
  parallel_tool_calls: Type.Boolean({ description: "As sent." }),
  temperature: Type.Number({ description: "As sent, or the default." }),
  top_p: Type.Number({ description: "As sent, or the default." }),
  presence_penalty: Type.Number({ description: "As sent, or the default." }),
  frequency_penalty: Type.Number({ description: "As sent, or the default." }),
  top_logprobs: Type.Integer({ description: "As sent." }),
  tool_choice: Type.Union([Type.String(), anyObject], { description: "As sent." }),
  tools: Type.Array(anyObject, { description: "As sent; functions in the flat form." }),
  text: Type.Object(
    { format: { ...anyObject, description: "As sent." } },
    { description: "Format of the answer." },
  ),
  reasoning: Type.Object(
    {
      effort: nullable(Type.String({ description: "As sent." })),
      summary: nullable(Type.String({ description: "As sent." })),
    },
    { description: "Reasoning that was requested." },
  ),
  truncation: Type.Union([Type.Literal("auto"), Type.Literal("disabled")], { description: "As sent." }),
  store: Type.Boolean({ description: "Whether the response is stored." }),
  background: Type.Boolean({ description: "Whether it runs without its client." }),
  service_tier: Type.Literal("default"),
  metadata: { ...anyObject, description: "As sent." },
  user: nullable(Type.String({ description: "As sent." })),
  safety_identifier: nullable(Type.String({ description: "As sent." })),
  prompt_cache_key: nullable(Type.String({ description: "As sent." })),
};
const ResponseEcho = Type.Object(echoProperties);
export type ResponseEcho = Static<typeof ResponseEcho>;

export const ResponseResource = Type.Object(
  {
    id: Type.String({ description: "Send it as `previous_response_id` to continue the conversation." }),
    object: Type.Literal("response"),
    created_at: Type.Integer({ description: "Unix seconds." }),
    completed_at: Type.Union([Type.Integer(), Type.Null()], {
      description: "Unix seconds; null unless `status` is `completed`.",
    }),
    status: ResponseStatus,
    error: Type.Union([ResponseError, Type.Null()]),
    incomplete_details: Type.Union([IncompleteDetails, Type.Null()]),
    model: Type.String({ description: "Id of the model that answered." }),
    output: Type.Array(OutputItem),
    usage: Type.Union([ResponseUsage, Type.Null()], { description: "Null until the answer is complete." }),
    ...adapterAnswerProperties,
    fingerprint: Type.Optional(
      Type.String({
        description:
          "Hash over what determines the answer, its tokens and their log probabilities, where asked for; of each choice, separated by a comma.",
      }),
    ),
    cut_files: agentAnswerProperties.cut_files,
    ...echoProperties,
  },
  { $id: "ResponseResource", description: "A finished or unfinished response." },
);
export type ResponseResource = Static<typeof ResponseResource>;

/** Fields of a response that are known before generation. */
export interface ResponseHead extends Pick<AnswerMeta, "id" | "created" | "model"> {
  readonly echo: ResponseEcho;
  /** Reasoning is given as its summary too. */
  readonly summarizes?: true;
}

/** Whether a status is final. */
export function isFinal(status: ResponseStatus): boolean {
  return status !== "queued" && status !== "in_progress";
}

/** The wire form of a run's token counts. */
export function usageBody(usage: Usage): ResponseUsage {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens, ...closedThoughtsOf(usage) },
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
}

/** The wire form of an error inside a resource. */
export function errorBody(error: ErrorData): ResponseError {
  const { code, message, type } = ServiceError.fromData(error).toBody().error;
  return { code, message, type };
}

/** Answer to the deletion of a stored response. */
export const DeletedResponse = Type.Object(
  {
    id: Type.String({ description: "Id of the response." }),
    object: Type.Literal("response"),
    deleted: Type.Literal(true),
  },
  { $id: "DeletedResponse", description: "A response that was deleted." },
);

/** Body of an input token count. */
export const InputTokens = Type.Object(
  {
    object: Type.Literal("response.input_tokens"),
    input_tokens: Type.Integer({ description: "Tokens of the prompt.", minimum: 0 }),
  },
  { $id: "ResponseInputTokens", description: "Size of a prompt." },
);
