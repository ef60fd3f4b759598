// Wire schemas of embeddings: request and response.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { orNull } from "../../core/schema-fields.ts";
import { EMBED_INPUTS_MAX, TOKEN_ID_MAX } from "../shared/limits.ts";
import { keepAliveProperties } from "../shared/keep-alive.ts";
import { truncateProperties } from "../shared/sampling.ts";

const text = Type.String({ minLength: 1 });
const tokens = Type.Array(Type.Integer({ minimum: 0, maximum: TOKEN_ID_MAX }), { minItems: 1 });
const inputs = <T extends TSchema>(input: T) =>
  Type.Array(input, { minItems: 1, maxItems: EMBED_INPUTS_MAX });

const EmbeddingInput = Type.Union([text, inputs(text), tokens, inputs(tokens)], {
  $id: "EmbeddingInput",
  description: "A text or token ids, or an array of either.",
});

const EmbeddingEncodingFormat = Type.Union([Type.Literal("float"), Type.Literal("base64")], {
  $id: "EmbeddingEncodingFormat",
  description: "Numbers, or 32-bit little-endian floats in base64. Default `float`.",
});

export const EmbeddingRequest = Type.Object(
  {
    input: EmbeddingInput,
    model: orNull(Type.String({ description: "Model id; `default` or absent selects the default model." })),
    encoding_format: orNull(EmbeddingEncodingFormat),
    dimensions: orNull(
      Type.Integer({
        description:
          "Length of the vectors, at most that of the model's. Refused unless the server has `compat = clients`.",
      }),
    ),
    ...truncateProperties,
    ...keepAliveProperties,
    user: Type.Optional(Type.Unknown({ description: "Accepted without effect." })),
  },
  {
    $id: "EmbeddingRequest",
    description: "Body of an embeddings request.",
    additionalProperties: true,
    examples: [{ model: "default", input: ["A first text.", "A second one."] }],
  },
);
export type EmbeddingRequest = Static<typeof EmbeddingRequest>;

const EmbeddingVector = Type.Union([Type.Array(Type.Number()), Type.String()], {
  $id: "EmbeddingVector",
  description: "The vector in the requested encoding, normalized to length 1.",
});
export type EmbeddingVector = Static<typeof EmbeddingVector>;

const EmbeddingData = Type.Object(
  {
    object: Type.Literal("embedding"),
    index: Type.Integer({ minimum: 0, description: "Index of the input." }),
    embedding: EmbeddingVector,
  },
  { $id: "EmbeddingData", description: "The vector of an input." },
);

const EmbeddingUsage = Type.Object(
  {
    prompt_tokens: Type.Integer({ description: "Tokens of all inputs.", minimum: 0 }),
    total_tokens: Type.Integer({ description: "The same number.", minimum: 0 }),
  },
  { $id: "EmbeddingUsage", description: "Tokens of the request." },
);

export const EmbeddingResponse = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(EmbeddingData),
    model: Type.String({ description: "Id of the model that answered." }),
    usage: EmbeddingUsage,
  },
  { $id: "EmbeddingResponse", description: "One vector per input, in order." },
);
export type EmbeddingResponse = Static<typeof EmbeddingResponse>;
