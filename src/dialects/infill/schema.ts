// The infill wire: what editor plugins for llama.cpp's server (llama.vim, llama.vscode) send and read. Units of times are
// milliseconds.

import { type Static, Type } from "@sinclair/typebox";
import { INFILL_FILES_MAX } from "../shared/limits.ts";
import { orNull } from "../shared/check.ts";
import { samplingProperties, stopProperties, streamProperties } from "../shared/sampling.ts";

const OPEN = { additionalProperties: true } as const;

const InfillFile = Type.Object(
  {
    filename: orNull(Type.String({ description: "Default `file`." })),
    text: Type.String(),
  },
  { $id: "InfillFile", description: "A piece of another file, for context.", ...OPEN },
);

const unused = () => Type.Optional(Type.Unknown({ description: "Accepted, without effect." }));

const { temperature, top_p, top_k, min_p, ...otherSampling } = samplingProperties;

export const InfillRequest = Type.Object(
  {
    model: orNull(Type.String({ description: "Model id; `default` or absent takes the default model." })),
    input_prefix: Type.String({ description: "Text before the gap, up to the beginning of its line." }),
    input_suffix: Type.String({ description: "Text after the gap." }),
    prompt: orNull(Type.String({ description: "The gap's line up to the cursor. Follows `input_prefix`." })),
    input_extra: orNull(Type.Array(InfillFile, { maxItems: INFILL_FILES_MAX })),
    n_predict: orNull(
      Type.Integer({
        minimum: -1,
        description: "Most tokens; 0 only fills the cache; -1, the default, no cap.",
      }),
    ),
    n_indent: orNull(
      Type.Integer({ minimum: 0, description: "The answer ends before a line with less indentation." }),
    ),
    t_max_predict_ms: orNull(
      Type.Integer({
        minimum: 0,
        description: "The answer ends with its line when it has taken so long; 0: never.",
      }),
    ),
    temperature,
    top_p,
    top_k,
    min_p,
    ...otherSampling,
    repeat_penalty: samplingProperties.repetition_penalty,
    ...stopProperties,
    stream: streamProperties.stream,
    response_fields: orNull(
      Type.Array(Type.String(), { description: "Fields of the answer, as `content` or `timings/prompt_n`." }),
    ),
    samplers: unused(),
    cache_prompt: unused(),
    id_slot: unused(),
    t_max_prompt_ms: unused(),
  },
  {
    $id: "InfillRequest",
    description: "Body of an infill request.",
    ...OPEN,
    examples: [
      {
        input_prefix: "def add(a, b):\n",
        prompt: "    return ",
        input_suffix: "\n\nprint(add(1, 2))\n",
        n_predict: 16,
        t_max_predict_ms: 500,
      },
    ],
  },
);
export type InfillRequest = Static<typeof InfillRequest>;

const count = (description: string) => Type.Integer({ minimum: 0, description });
const time = (description: string) => Type.Number({ minimum: 0, description });

const InfillTimings = Type.Object(
  {
    cache_n: count("Prompt tokens taken from the cache."),
    prompt_n: count("Prompt tokens computed."),
    prompt_ms: time("From arrival to the end of the prompt."),
    prompt_per_token_ms: Type.Number(),
    prompt_per_second: Type.Number(),
    predicted_n: count("Generated tokens."),
    predicted_ms: time("From there to the last token."),
    predicted_per_token_ms: Type.Number(),
    predicted_per_second: Type.Number(),
  },
  { $id: "InfillTimings" },
);
export type InfillTimings = Static<typeof InfillTimings>;

export const InfillResponse = Type.Object(
  {
    index: Type.Literal(0),
    content: Type.String({ description: "What fills the gap." }),
    stop: Type.Literal(true),
    model: Type.String({ description: "Id of the model that answered." }),
    tokens_predicted: count("Generated tokens."),
    tokens_evaluated: count("Tokens of the prompt."),
    tokens_cached: count("Tokens of prompt and answer, which the next request may find in the cache."),
    has_new_line: Type.Boolean(),
    stop_type: Type.Union([Type.Literal("eos"), Type.Literal("word"), Type.Literal("limit")]),
    stopping_word: Type.String({ description: "The stop string that ended the answer, or nothing." }),
    timings: InfillTimings,
  },
  {
    $id: "InfillResponse",
    description: "The filled gap; only `response_fields` of it where they are named.",
  },
);
export type InfillResponse = Static<typeof InfillResponse>;

export const InfillChunk = Type.Union(
  [
    Type.Object({
      index: Type.Literal(0),
      content: Type.String({ description: "The next piece." }),
      stop: Type.Literal(false),
    }),
    InfillResponse,
  ],
  {
    $id: "InfillChunk",
    description: "One `data:` line of a streamed answer; the last one has `stop: true`.",
  },
);
