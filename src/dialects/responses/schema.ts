// Wire schema of a Responses request. The schema is the validator, the static type and the OpenAPI component of the same
// name. Unknown fields are accepted everywhere.

import { OPEN, orNull } from "../../core/schema-fields.ts";
import { progressProperties } from "../shared/progress.ts";
import { type Static, Type } from "@sinclair/typebox";
import { TOP_LOGPROBS_MAX } from "../shared/limits.ts";
import { adapterProperties } from "../shared/adapter.ts";
import { requestedFilesProperties } from "../shared/agent.ts";
import { FlatResponseFormat, grammarProperties, responseFormatProperties } from "../shared/constraint.ts";
import { jsonObject } from "../shared/json-object.ts";
import {
  choicesProperties,
  maxTokensProperties,
  orUnlimited,
  endProperties,
  samenessProperties,
  samplingProperties,
  stopProperties,
} from "../shared/sampling.ts";
import { keepAliveProperties } from "../shared/keep-alive.ts";
import { compactProperties } from "../shared/compaction.ts";
import { thinkingBudget, thinkingProperties } from "../shared/thinking-fields.ts";
import { toolChoiceProperties } from "../shared/tools.ts";
import { ResponsesInput } from "./input-items.ts";
import { toolsProperties } from "./tools.ts";

const TextConfig = Type.Object(
  { format: orNull(FlatResponseFormat) },
  { $id: "TextConfig", description: "Form of the answer's text.", ...OPEN },
);

const ReasoningConfig = Type.Object(
  {
    effort: orNull(
      Type.String({
        description: "`off` (or `none`), `low`, `medium`, `high`, `xhigh`.",
        examples: ["medium"],
      }),
    ),
    enabled: orNull(Type.Boolean({ description: "Thinking on or off." })),
    max_tokens: thinkingBudget,
    summary: orNull(
      Type.Union([Type.Literal("auto"), Type.Literal("concise"), Type.Literal("detailed")], {
        description:
          "The full reasoning is returned in any case; under `--compat clients` it is the summary too.",
      }),
    ),
  },
  { $id: "ReasoningConfig", description: "Whether and how much the model reasons.", ...OPEN },
);

const IncludeOption = Type.Union(
  [
    Type.Literal("message.output_text.logprobs"),
    Type.Literal("reasoning.encrypted_content"),
    Type.Literal("file_search_call.results"),
    Type.Literal("web_search_call.action.sources"),
    Type.Literal("message.input_image.image_url"),
    Type.Literal("computer_call_output.output.image_url"),
    Type.Literal("code_interpreter_call.outputs"),
  ],
  { $id: "IncludeOption", description: "Only `message.output_text.logprobs` has an effect." },
);

const unused = (description: string) => Type.Optional(Type.Unknown({ description }));
const label = (description: string) => orNull(Type.String({ description }));

export const ResponsesCreateRequest = Type.Object(
  {
    model: orNull(Type.String({ description: "Model id; `default` or absent selects the default model." })),
    input: ResponsesInput,
    instructions: orNull(Type.String({ description: "A system message for this response alone." })),
    previous_response_id: orNull(
      Type.String({ description: "Continues the conversation of this stored response; empty: none." }),
    ),
    max_output_tokens: orNull(
      orUnlimited(1, "Cap on generated tokens. Default and -1: the rest of the context."),
    ),
    ...maxTokensProperties,
    ...samplingProperties,
    ...samenessProperties,
    ...endProperties,
    ...progressProperties,
    ...stopProperties,
    ...choicesProperties,
    ...toolsProperties,
    ...toolChoiceProperties,
    parallel_tool_calls: orNull(
      Type.Boolean({
        description: "`false` (at most one call per answer) requires a server with `--compat clients`.",
      }),
    ),
    max_tool_calls: orNull(
      Type.Integer({
        minimum: 0,
        description: "Cap on server-side tool rounds; requires a server with `--compat clients`.",
      }),
    ),
    text: orNull(TextConfig),
    ...responseFormatProperties,
    ...grammarProperties,
    reasoning: orNull(ReasoningConfig),
    ...thinkingProperties,
    ...compactProperties,
    context_management: orNull(
      Type.Array(
        Type.Object(
          {
            type: Type.Literal("compaction"),
            compact_threshold: orNull(
              Type.Integer({
                minimum: 1,
                description:
                  "Prompt tokens above which old turns become a summary. Absent: 80 % of the context.",
              }),
            ),
          },
          { $id: "ContextManagementEntry", description: "When the conversation is compacted.", ...OPEN },
        ),
        { maxItems: 16 },
      ),
    ),
    include: orNull(Type.Array(IncludeOption, { maxItems: 64 })),
    logprobs: orNull(Type.Boolean({ description: "Return the log probability of each text token." })),
    top_logprobs: orNull(
      Type.Integer({
        minimum: 0,
        maximum: TOP_LOGPROBS_MAX,
        description: "Number of most likely alternatives to return per token.",
      }),
    ),
    truncation: orNull(
      Type.Union([Type.Literal("auto"), Type.Literal("disabled")], {
        $id: "TruncationStrategy",
        description: "`auto` truncates a prompt that exceeds the context instead of returning an error.",
      }),
    ),
    ...keepAliveProperties,
    stream: orNull(Type.Boolean({ description: "Stream the answer as server-sent events." })),
    store: orNull(Type.Boolean({ description: "Store the response. Default true." })),
    background: orNull(
      Type.Boolean({ description: "Return at once; the response continues after the client disconnects." }),
    ),
    metadata: orNull(jsonObject("Repeated in the response.")),
    ...requestedFilesProperties,
    ...adapterProperties,
    user: label("Repeated in the response, without effect."),
    safety_identifier: label("Repeated in the response, without effect."),
    prompt_cache_key: label("Repeated in the response, without effect: the prefix cache needs no key."),
    service_tier: unused("Accepted without effect."),
    stream_options: unused("Accepted without effect."),
  },
  {
    $id: "ResponsesCreateRequest",
    description: "Body of a request for a response.",
    ...OPEN,
    examples: [
      {
        model: "default",
        instructions: "You answer in one word.",
        input: "What is the capital of France?",
        max_output_tokens: 16,
      },
    ],
  },
);
export type ResponsesCreateRequest = Static<typeof ResponsesCreateRequest>;
