// Converts scores to the response body.

import { itemAt } from "../../core/assert.ts";
import type { RankResult } from "../../core/run.ts";
import type { RerankCall } from "./request.ts";
import type { RerankResponse } from "./schema.ts";

/** The body: the `top` most relevant documents, best first, ties in request order. `model`: id of the answering model. */
export function rerankBody(
  { scores, promptTokens }: RankResult,
  { request, top, withDocuments }: RerankCall,
  { id, model }: { readonly id: string; readonly model: string },
): RerankResponse {
  const results = scores
    .map((relevance_score, index) => ({ index, relevance_score }))
    .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, top)
    .map((result) =>
      withDocuments ? { ...result, document: { text: itemAt(request.documents, result.index) } } : result,
    );
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  return { id, object: "list", model, results, usage };
}
