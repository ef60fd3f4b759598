// Wire schemas of completions: request, response and chunk. Fields of other endpoints (sessions, files, search, thinking)
// are not in the schema and, like all unknown fields, accepted without effect.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { orNull } from "../../core/schema-fields.ts";
import {
  CHOICES_MAX,
  COMPLETION_PROMPTS_MAX,
  COMPLETION_TOP_LOGPROBS_MAX,
  TOKEN_ID_MAX,
} from "../shared/limits.ts";
import { adapterProperties } from "../shared/adapter.ts";
import { answerProperties } from "../shared/answer.ts";
import { grammarProperties, responseFormatProperties } from "../shared/constraint.ts";
import { keepAliveProperties } from "../shared/keep-alive.ts";
import {
  choiceEndProperties,
  choicesProperties,
  orUnlimited,
  samplingProperties,
  endProperties,
  samenessProperties,
  stopProperties,
  streamProperties,
  truncateProperties,
} from "../shared/sampling.ts";
import { CompletionUsageResponse } from "../shared/usage.ts";

const TokenId = Type.Integer({ minimum: 0, maximum: TOKEN_ID_MAX });
const prompts = <T extends TSchema>(prompt: T) =>
  Type.Array(prompt, { minItems: 1, maxItems: COMPLETION_PROMPTS_MAX });

const CompletionPrompt = Type.Union(
  [
    Type.String(),
    prompts(Type.String()),
    Type.Array(TokenId, { minItems: 1 }),
    prompts(Type.Array(TokenId, { minItems: 1 })),
  ],
  { $id: "CompletionPrompt", description: "Text or token ids to continue, or an array of either." },
);

export const CompletionRequest = Type.Object(
  {
    model: orNull(Type.String({ description: "Model id; `default` or absent selects the default model." })),
    prompt: CompletionPrompt,
    suffix: orNull(
      Type.String({
        description:
          "Text after the gap to fill, for fill-in-the-middle models; requires a single string prompt.",
      }),
    ),
    max_tokens: orNull(
      orUnlimited(0, "Cap on generated tokens per choice. 0 requires `echo`; -1: no cap. Default 16."),
    ),
    echo: orNull(Type.Boolean({ description: "Start the answer with the prompt." })),
    logprobs: orNull(
      Type.Integer({
        minimum: 0,
        maximum: COMPLETION_TOP_LOGPROBS_MAX,
        description: "Return the log probability of each token, and this number of most likely alternatives.",
      }),
    ),
    ...choicesProperties,
    best_of: orNull(
      Type.Integer({
        minimum: 1,
        maximum: CHOICES_MAX,
        description:
          "Number of choices to generate; the `n` with the highest mean log probability are returned.",
      }),
    ),
    ...samplingProperties,
    ...stopProperties,
    ...grammarProperties,
    ...responseFormatProperties,
    ...adapterProperties,
    ...streamProperties,
    ...truncateProperties,
    ...keepAliveProperties,
    ...samenessProperties,
    ...endProperties,
    user: Type.Optional(Type.Unknown({ description: "Accepted without effect." })),
  },
  {
    $id: "CompletionRequest",
    description: "Body of a completion request.",
    additionalProperties: true,
    examples: [{ model: "default", prompt: "The capital of France is", max_tokens: 4, temperature: 0 }],
  },
);
export type CompletionRequest = Static<typeof CompletionRequest>;

const FinishReasonWord = Type.Union(
  [Type.Literal("stop"), Type.Literal("length"), Type.Literal("content_filter")],
  { description: "Why the text ended." },
);

const list = <T extends TSchema>(item: T, description: string) => Type.Array(item, { description });

export const CompletionLogprobs = Type.Object(
  {
    tokens: list(Type.String(), "Text of each token; `bytes:\\x…` for a partial character."),
    token_logprobs: list(
      Type.Union([Type.Number(), Type.Null()]),
      "Natural logarithm of each token's probability; null for the first token of an echoed prompt.",
    ),
    top_logprobs: list(
      Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()]),
      "The most likely tokens at each position, and the token itself.",
    ),
    text_offset: list(Type.Integer({ minimum: 0 }), "Offset of each token in the text, in characters."),
  },
  {
    $id: "CompletionLogprobs",
    description: "Log probabilities of the tokens of a choice, as parallel lists.",
  },
);
export type CompletionLogprobs = Static<typeof CompletionLogprobs>;

const OptionalLogprobs = Type.Union([CompletionLogprobs, Type.Null()]);

export const CompletionResponseChoice = Type.Object(
  {
    index: Type.Integer({
      minimum: 0,
      description: "Index of the prompt times `n`, plus the index of the answer.",
    }),
    text: Type.String({ description: "The generated text." }),
    logprobs: OptionalLogprobs,
    finish_reason: FinishReasonWord,
    ...choiceEndProperties,
  },
  { $id: "CompletionResponseChoice", description: "One of the generated texts." },
);
export type CompletionResponseChoice = Static<typeof CompletionResponseChoice>;

export const CompletionResponse = Type.Object(
  {
    ...answerProperties,
    object: Type.Literal("text_completion"),
    choices: Type.Array(CompletionResponseChoice),
    usage: CompletionUsageResponse,
  },
  { $id: "CompletionResponse", description: "A complete answer." },
);
export type CompletionResponse = Static<typeof CompletionResponse>;

const CompletionChunkChoice = Type.Object(
  {
    index: Type.Integer({ description: "Position of the choice.", minimum: 0 }),
    text: Type.String({ description: "Next characters of the text." }),
    logprobs: OptionalLogprobs,
    finish_reason: Type.Union([FinishReasonWord, Type.Null()], {
      description: "Why the text ended; null until it has.",
    }),
    ...choiceEndProperties,
  },
  { $id: "CompletionChunkChoice", description: "Next part of one of the texts." },
);

export const CompletionChunkResponse = Type.Object(
  {
    ...answerProperties,
    object: Type.Literal("text_completion"),
    choices: Type.Array(CompletionChunkChoice),
    usage: Type.Optional(Type.Union([CompletionUsageResponse, Type.Null()])),
  },
  { $id: "CompletionChunkResponse", description: "One `data:` line of a stream." },
);
export type CompletionChunkResponse = Static<typeof CompletionChunkResponse>;
