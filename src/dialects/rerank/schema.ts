// Wire schemas of rerank, compatible with Cohere's and Jina's clients: request and response.

import { type Static, Type } from "@sinclair/typebox";
import { orNull } from "../../core/schema-fields.ts";
import { RANK_DOCUMENTS_MAX } from "../shared/limits.ts";
import { keepAliveProperties } from "../shared/keep-alive.ts";
import { truncateProperties } from "../shared/sampling.ts";

const text = Type.String({ minLength: 1, description: "Text of the document." });

const RerankDocument = Type.Union([text, Type.Object({ text }, { additionalProperties: true })], {
  $id: "RerankDocument",
  description: "A text, or an object with the field `text`.",
});

export const RerankRequest = Type.Object(
  {
    model: orNull(
      Type.String({ description: "Reranking model; `default` or absent selects the default model." }),
    ),
    query: Type.String({ minLength: 1, description: "Query to rank the documents for." }),
    documents: Type.Array(RerankDocument, { minItems: 1, maxItems: RANK_DOCUMENTS_MAX }),
    top_n: orNull(Type.Integer({ minimum: 1, description: "Cap on results. Default: all documents." })),
    return_documents: orNull(
      Type.Boolean({ description: "Include the texts of the documents in the results. Default false." }),
    ),
    max_tokens_per_doc: orNull(
      Type.Integer({ minimum: 1, description: "Cap on tokens read per document. Default: all." }),
    ),
    ...truncateProperties,
    ...keepAliveProperties,
  },
  {
    $id: "RerankRequest",
    description: "Body of a rerank request.",
    additionalProperties: true,
    examples: [
      {
        model: "default",
        query: "What is the capital of France?",
        documents: ["Paris is the capital of France.", "Bread is baked."],
        top_n: 1,
      },
    ],
  },
);
export type RerankRequest = Static<typeof RerankRequest>;

const RerankResult = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: "Index of the document in the request." }),
    relevance_score: Type.Number({ minimum: 0, maximum: 1, description: "1 is most relevant." }),
    document: Type.Optional(
      Type.Object(
        { text: Type.String({ description: "Its text." }) },
        { description: "The document, if requested." },
      ),
    ),
  },
  { $id: "RerankResult", description: "Score of a document." },
);

export const RerankResponse = Type.Object(
  {
    id: Type.String({ description: "Unique id of this answer." }),
    object: Type.Literal("list"),
    model: Type.String({ description: "Id of the model that answered." }),
    results: Type.Array(RerankResult, { description: "Most relevant first." }),
    usage: Type.Object(
      {
        prompt_tokens: Type.Integer({ description: "Tokens of query and documents.", minimum: 0 }),
        total_tokens: Type.Integer({ description: "The same number.", minimum: 0 }),
      },
      { $id: "RerankUsage", description: "Tokens of the request." },
    ),
  },
  { $id: "RerankResponse", description: "Documents ranked by relevance." },
);
export type RerankResponse = Static<typeof RerankResponse>;
