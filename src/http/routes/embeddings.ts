// POST /v1/embeddings: body → vectors → body.

import { Elysia } from "elysia";
import { assert } from "../../core/assert.ts";
import type { EmbedResult } from "../../core/run.ts";
import { type EmbeddingCall, parseEmbeddingRequest } from "../../dialects/embeddings/request.ts";
import { embeddingBody } from "../../dialects/embeddings/response.ts";
import { EmbeddingRequest, EmbeddingResponse } from "../../dialects/embeddings/schema.ts";
import { answeringModel } from "../answer.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";
import { cancelled, refuseWhileDraining } from "../run.ts";

/** Embedding routes. */
export function embeddingRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post("/v1/embeddings", ({ request }) => answerEmbedding(deps, request), {
    parse: "none", // body.ts reads it
    detail: {
      operationId: "create_embedding",
      tags: ["Embeddings"],
      summary: "Turn texts into vectors",
      requestBody: components.body(EmbeddingRequest),
      responses: components.answers("One vector an input.", EmbeddingResponse),
    },
  });
}

async function answerEmbedding(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const call = parseEmbeddingRequest(await readJsonObject(request));
  const result = await embedded(deps, call, request.signal);
  const model = answeringModel(deps, call.request.model);
  return Response.json(embeddingBody(result, model, call.format));
}

async function embedded(deps: HttpDeps, call: EmbeddingCall, client: AbortSignal): Promise<EmbedResult> {
  try {
    const result = await deps.embed(call.request, client);
    assert(result.vectors.length === call.request.inputs.length, "there is one vector an input");
    return result;
  } catch (thrown) {
    throw client.aborted ? cancelled() : thrown;
  }
}
