// POST /v1/rerank: body → scores → body.

import { Elysia } from "elysia";
import { assert } from "../../core/assert.ts";
import { newId } from "../../core/id.ts";
import { parseRerankRequest } from "../../dialects/rerank/request.ts";
import { rerankBody } from "../../dialects/rerank/response.ts";
import { RerankRequest, RerankResponse } from "../../dialects/rerank/schema.ts";
import { answeringModel } from "../answer.ts";
import { readModelRequest } from "../model-body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";
import { clientOf, refuseWhileDraining, untilClientLeaves } from "../run.ts";
import { requestCompat } from "../compat.ts";

/** Rerank routes. */
export function rerankRoutes(deps: HttpDeps, components: ApiComponents) {
  const answer = ({ request }: { readonly request: Request }): Promise<Response> =>
    answerRerank(deps, request);
  const detailOf = (operationId: string, summary: string) => ({
    parse: "none" as const, // body.ts reads it
    detail: {
      operationId,
      tags: ["Reranking"],
      summary,
      description:
        "Scores every document by a reranking model, in the format of Cohere's and Jina's clients.",
      requestBody: components.body(RerankRequest),
      responses: components.answers("The documents, most relevant first.", RerankResponse),
    },
  });
  return new Elysia()
    .post("/v1/rerank", answer, detailOf("create_rerank", "Rerank documents by relevance to a query"))
    .post(
      "/rerank",
      answer,
      detailOf("create_rerank_bare", "The same, where clients of vLLM and infinity ask"),
    )
    .post("/v2/rerank", answer, detailOf("create_rerank_v2", "The same, where Cohere's newer clients ask"));
}

async function answerRerank(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const call = parseRerankRequest(await readModelRequest(deps, request), requestCompat(deps));
  const result = await untilClientLeaves(
    (signal, caller) => deps.rank(call.request, signal, caller),
    clientOf(request),
  );
  assert(result.scores.length === call.request.documents.length, "there is one score per document");
  const model = answeringModel(deps, call.request.model, "ranks");
  return Response.json(rerankBody(result, call, { id: newId("rerank-"), model }));
}
