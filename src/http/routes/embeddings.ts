// POST /v1/embeddings: body → vectors → body.

import { Elysia } from "elysia";
import { assert } from "../../core/assert.ts";
import { EMBEDDING_TERMS, withErrorTerms } from "../../dialects/shared/error-terms.ts";
import { parseEmbeddingRequest } from "../../dialects/embeddings/request.ts";
import { embeddingBody } from "../../dialects/embeddings/response.ts";
import { EmbeddingRequest, EmbeddingResponse } from "../../dialects/embeddings/schema.ts";
import { answeringModel } from "../answer.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { readModelRequest } from "../model-body.ts";
import type { ApiComponents } from "../openapi.ts";
import { clientOf, refuseWhileDraining, untilClientLeaves } from "../run.ts";

/** Embedding routes. */
export function embeddingRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post("/v1/embeddings", ({ request }) => answerEmbedding(deps, request), {
    parse: "none", // body.ts reads it
    detail: {
      operationId: "create_embedding",
      description: "Vectors of one or several inputs, as text or token ids, by an embedding model.",
      tags: ["Embeddings"],
      summary: "Embed texts",
      requestBody: components.body(EmbeddingRequest),
      responses: components.answers("One vector per input.", EmbeddingResponse),
    },
  });
}

async function answerEmbedding(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const call = parseEmbeddingRequest(await readModelRequest(deps, request), requestCompat(deps));
  const work = untilClientLeaves(
    (signal, caller) => deps.embed(call.request, signal, caller),
    clientOf(request),
  );
  const result = await withErrorTerms(EMBEDDING_TERMS, work);
  assert(result.vectors.length === call.request.inputs.length, "there is one vector per input");
  const model = answeringModel(deps, call.request.model, "embeds");
  return Response.json(embeddingBody(result, model, call));
}
