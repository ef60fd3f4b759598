// Wire schemas of infill, as used by editor plugins for llama.cpp's server (llama.vim, llama.vscode). Times are
// milliseconds.

import { type Static, Type } from "@sinclair/typebox";
import { count, OPEN, orNull } from "../../core/schema-fields.ts";
import { INFILL_FILES_MAX } from "../shared/limits.ts";
import {
  llamaSamplingProperties,
  samplingProperties,
  stopProperties,
  streamProperties,
} from "../shared/sampling.ts";

const InfillFile = Type.Object(
  {
    filename: orNull(Type.String({ description: "Default `file`." })),
    text: Type.String({ description: "Its text." }),
  },
  { $id: "InfillFile", description: "A part of another file, as context.", ...OPEN },
);

const unused = () => Type.Optional(Type.Unknown({ description: "Accepted without effect." }));

export const InfillRequest = Type.Object(
  {
    model: orNull(Type.String({ description: "Model id; `default` or absent selects the default model." })),
    input_prefix: Type.String({ description: "Text before the gap, up to the start of its line." }),
    input_suffix: Type.String({ description: "Text after the gap." }),
    prompt: orNull(
      Type.String({ description: "The current line up to the cursor. Follows `input_prefix`." }),
    ),
    input_extra: orNull(Type.Array(InfillFile, { maxItems: INFILL_FILES_MAX })),
    n_predict: orNull(
      Type.Integer({
        minimum: -1,
        description: "Cap on generated tokens; 0 only fills the prefix cache; -1 (default) means no cap.",
      }),
    ),
    n_indent: orNull(
      Type.Integer({
        minimum: 0,
        description: "The answer ends before a line with less indentation than this.",
      }),
    ),
    t_max_predict_ms: orNull(
      Type.Integer({
        minimum: 0,
        description: "After this time the answer ends with its current line; 0 means no limit.",
      }),
    ),
    ...samplingProperties,
    ...llamaSamplingProperties,
    ...stopProperties,
    stream: streamProperties.stream,
    response_fields: orNull(
      Type.Array(Type.String(), {
        description: "Fields to return, such as `content` or `timings/prompt_n`.",
      }),
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

const time = (description: string) => Type.Number({ minimum: 0, description });

const InfillTimings = Type.Object(
  {
    cache_n: count("Prompt tokens taken from the prefix cache."),
    prompt_n: count("Prompt tokens computed."),
    prompt_ms: time("Time from arrival to the end of prefill."),
    prompt_per_token_ms: Type.Number({ description: "Milliseconds for a token of the prompt." }),
    prompt_per_second: Type.Number({ description: "Tokens of the prompt per second." }),
    predicted_n: count("Generated tokens."),
    predicted_ms: time("Time from the end of prefill to the last token."),
    predicted_per_token_ms: Type.Number({ description: "Milliseconds for a generated token." }),
    predicted_per_second: Type.Number({ description: "Generated tokens per second." }),
  },
  { $id: "InfillTimings", description: "Time that the request took." },
);
export type InfillTimings = Static<typeof InfillTimings>;

export const InfillResponse = Type.Object(
  {
    index: Type.Literal(0),
    content: Type.String({ description: "Text that fills the gap." }),
    stop: Type.Literal(true),
    model: Type.String({ description: "Id of the model that answered." }),
    tokens_predicted: count("Generated tokens."),
    tokens_evaluated: count("Tokens of the prompt."),
    tokens_cached: count("Tokens of prompt and answer, which the next request may find in the prefix cache."),
    has_new_line: Type.Boolean({ description: "Whether the text has a line break." }),
    stop_type: Type.Union([Type.Literal("eos"), Type.Literal("word"), Type.Literal("limit")], {
      description: "Why the text ended: its end, a stop string, a limit.",
    }),
    stopping_word: Type.String({ description: "The stop string that ended the answer, or an empty string." }),
    timings: InfillTimings,
  },
  {
    $id: "InfillResponse",
    description: "The filled gap; only the fields of `response_fields`, if the request has it.",
  },
);
export type InfillResponse = Static<typeof InfillResponse>;

export const InfillChunk = Type.Union(
  [
    Type.Object({
      index: Type.Literal(0),
      content: Type.String({ description: "The next text delta." }),
      stop: Type.Literal(false),
    }),
    InfillResponse,
  ],
  {
    $id: "InfillChunk",
    description: "One `data:` line of a stream; the last one has `stop: true`.",
  },
);
