// Wire schemas of Ollama requests. Unknown fields and options are accepted without effect, as Ollama does.

import { OPEN, orNull } from "../../core/schema-fields.ts";
import { progressProperties } from "../shared/progress.ts";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { EMBED_INPUTS_MAX, MESSAGES_MAX, TOP_LOGPROBS_MAX } from "../shared/limits.ts";
import { TOOLS_MAX } from "../../core/limits.ts";
import { compactProperties } from "../shared/compaction.ts";
import { jsonObject } from "../shared/json-object.ts";
import { llamaSamplingProperties, samenessProperties, StopTokens } from "../shared/sampling.ts";
import { reasoningFieldProperties, thinkingProperties } from "../shared/thinking-fields.ts";
import { FUNCTION_TOOLS } from "../shared/tools.ts";

const model = orNull(
  Type.String({
    description: "Model id, optionally with `:latest`; `default` or absent selects the default model.",
  }),
);

/** Options with an effect. Options for loading a model, such as `num_ctx`, have none. */
const OllamaOptions = Type.Object(
  {
    num_predict: orNull(Type.Integer({ description: "Cap on generated tokens; below 1: no cap." })),
    ...llamaSamplingProperties,
    temperature: orNull(
      Type.Number({ minimum: 0, description: "Randomness; 0 always takes the most likely token." }),
    ),
    seed: orNull(Type.Integer({ description: "Makes the answer reproducible; below 0: random." })),
    stop: orNull(StopTokens),
    repeat_penalty: orNull(
      Type.Number({
        minimum: 0,
        description: "Divides the logits of tokens in the prompt or the answer; 0 and 1 are off.",
      }),
    ),
    num_ctx: Type.Optional(
      Type.Unknown({ description: "Accepted without effect; see the setting `max_seq_len`." }),
    ),
  },
  { $id: "OllamaOptions", description: "Sampling and stop options.", ...OPEN },
);
export type OllamaOptions = Static<typeof OllamaOptions>;

/** Time that a model stays loaded after its last request. */
const keepAlive = orNull(
  Type.Union([Type.Number(), Type.String()], {
    description:
      'Time that the model stays loaded after the request: seconds, or a duration such as "5m"; 0 unloads it at once, below 0 keeps it loaded. Default: the server\'s idle_timeout.',
  }),
);

const common = { model, options: orNull(OllamaOptions), keep_alive: keepAlive };

const generationProperties = {
  ...common,
  ...samenessProperties,
  ...progressProperties,
  stream: orNull(Type.Boolean({ description: "Stream the answer as JSON lines. Default true." })),
  format: orNull(
    Type.Union([Type.String(), jsonObject("JSON Schema that the answer must satisfy.")], {
      description: '`"json"` for any JSON object, or a JSON Schema.',
    }),
  ),
  ...thinkingProperties,
  ...reasoningFieldProperties,
  reasoning_effort: orNull(Type.String({ description: "The same as an effort in `think`." })),
  enable_thinking: orNull(Type.Boolean({ description: "The same as `think`." })),
  logprobs: orNull(Type.Boolean({ description: "Return the log probability of each token of the answer." })),
  top_logprobs: orNull(
    Type.Integer({
      minimum: 0,
      maximum: TOP_LOGPROBS_MAX,
      description: "Number of most likely alternatives to return per token. Requires `logprobs`.",
    }),
  ),
};

const Images = orNull(
  Type.Array(Type.String({ minLength: 1 }), {
    description: "Images (PNG, JPEG, GIF, BMP, WebP, AVIF, HEIC, TIFF) as base64.",
  }),
);

const OllamaToolCall = Type.Object(
  {
    id: orNull(Type.String({ description: "Id of the call." })),
    function: Type.Object(
      {
        name: Type.String({ description: "Name of the function.", minLength: 1 }),
        arguments: orNull(Type.Union([jsonObject(), Type.String()], { description: "The arguments." })),
      },
      { description: "The function that was called.", ...OPEN },
    ),
  },
  { $id: "OllamaToolCall", description: "An earlier tool call of the assistant.", ...OPEN },
);

const OllamaMessage = Type.Object(
  {
    role: Type.Union(
      [Type.Literal("system"), Type.Literal("user"), Type.Literal("assistant"), Type.Literal("tool")],
      { description: "Who wrote it." },
    ),
    content: orNull(Type.String({ description: "Text of the message." })),
    thinking: orNull(Type.String({ description: "The reasoning before the content." })),
    images: Images,
    tool_calls: orNull(Type.Array(OllamaToolCall)),
    tool_name: orNull(Type.String({ description: "For a tool result: name of the tool." })),
    tool_call_id: orNull(
      Type.String({ description: "For a tool result: id of the call, if calls have ids." }),
    ),
  },
  { $id: "OllamaMessage", description: "A message of the conversation.", ...OPEN },
);
export type OllamaMessage = Static<typeof OllamaMessage>;

export const OllamaChatRequest = Type.Object(
  {
    ...generationProperties,
    messages: orNull(
      Type.Array(OllamaMessage, {
        maxItems: MESSAGES_MAX,
        description:
          "The conversation so far. Without messages, loads the model, or unloads it with `keep_alive` 0.",
      }),
    ),
    tools: orNull(
      Type.Array(Type.Union([...FUNCTION_TOOLS]), {
        maxItems: TOOLS_MAX,
        description: "Functions that the model may call.",
      }),
    ),
    ...compactProperties,
  },
  {
    $id: "OllamaChatRequest",
    description: "Body of an Ollama chat request.",
    ...OPEN,
    examples: [
      {
        model: "default",
        messages: [{ role: "user", content: "What is the capital of France?" }],
        stream: false,
      },
    ],
  },
);
export type OllamaChatRequest = Static<typeof OllamaChatRequest>;

export const OllamaGenerateRequest = Type.Object(
  {
    ...generationProperties,
    prompt: orNull(
      Type.String({
        description: "The prompt. Without one, loads the model, or unloads it with `keep_alive` 0.",
      }),
    ),
    suffix: orNull(
      Type.String({ description: "Text after the gap to fill, for fill-in-the-middle models." }),
    ),
    system: orNull(Type.String({ description: "Instructions." })),
    images: Images,
    raw: orNull(Type.Boolean({ description: "Continue the prompt unchanged, without a chat template." })),
    template: orNull(
      Type.String({ description: "Not supported; send `raw: true` with a formatted prompt." }),
    ),
    context: Type.Optional(
      Type.Unknown({ description: "Not supported; send the conversation to /api/chat." }),
    ),
  },
  {
    $id: "OllamaGenerateRequest",
    description: "Body of an Ollama generate request.",
    ...OPEN,
    examples: [{ model: "default", prompt: "What is the capital of France?", stream: false }],
  },
);
export type OllamaGenerateRequest = Static<typeof OllamaGenerateRequest>;

const inputs = <T extends TSchema>(input: T) => Type.Array(input, { maxItems: EMBED_INPUTS_MAX });

export const OllamaEmbedRequest = Type.Object(
  {
    ...common,
    input: Type.Union([Type.String(), inputs(Type.String({ minLength: 1 }))], {
      description: "A text, or an array of texts. Without text, only loads the model.",
    }),
    truncate: orNull(Type.Boolean({ description: "Truncate inputs that exceed the context. Default true." })),
    dimensions: orNull(
      Type.Integer({ minimum: 1, description: "Length to truncate vectors to, before normalization." }),
    ),
  },
  {
    $id: "OllamaEmbedRequest",
    description: "Body of an Ollama embed request.",
    ...OPEN,
    examples: [{ model: "default", input: ["A first text.", "A second one."] }],
  },
);
export type OllamaEmbedRequest = Static<typeof OllamaEmbedRequest>;

export const OllamaEmbeddingsRequest = Type.Object(
  { ...common, prompt: orNull(Type.String({ description: "A text. Without text, only loads the model." })) },
  {
    $id: "OllamaEmbeddingsRequest",
    description: "Body of an Ollama embeddings request, the older route with one text.",
    ...OPEN,
    examples: [{ model: "default", prompt: "A text." }],
  },
);

const nameFields = { model, name: orNull(Type.String({ description: "Older name of `model`." })) };

export const OllamaPullRequest = Type.Object(
  {
    ...nameFields,
    stream: orNull(
      Type.Boolean({ description: "Answer in lines of JSON; false: once it is done. Default true." }),
    ),
    insecure: Type.Optional(Type.Unknown({ description: "Accepted without effect." })),
  },
  {
    $id: "OllamaPullRequest",
    description: "Names a model of the hub: `owner/name`, `hf.co/owner/name:Q4_K_M`.",
    ...OPEN,
    examples: [{ model: "hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0" }],
  },
);

export const OllamaDeleteRequest = Type.Object(nameFields, {
  $id: "OllamaDeleteRequest",
  description: "Names a downloaded model.",
  ...OPEN,
  examples: [{ model: "Qwen/Qwen3-0.6B-GGUF:Q8_0" }],
});

export const OllamaShowRequest = Type.Object(
  { model, name: orNull(Type.String({ description: "Older name of `model`." })) },
  { $id: "OllamaShowRequest", description: "Names a model.", ...OPEN, examples: [{ model: "default" }] },
);
