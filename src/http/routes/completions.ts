// POST /v1/completions: body → one run per prompt → body or stream. Each step is a function of another module.

import { Elysia } from "elysia";
import { KEEP_ALIVE_MS } from "../limits.ts";
import { parseCompletionRequest } from "../../dialects/completions/request.ts";
import { completionBody } from "../../dialects/completions/response.ts";
import {
  CompletionChunkResponse,
  CompletionRequest,
  CompletionResponse,
} from "../../dialects/completions/schema.ts";
import { completionStream } from "../../dialects/completions/stream.ts";
import { AnswerReducer } from "../../dialects/shared/answer-reducer.ts";
import { withCompletionPreset } from "../../dialects/shared/preset.ts";
import { answerMeta, fingerprintHeader } from "../answer.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { CHAT_TERMS, withErrorTerms } from "../../dialects/shared/error-terms.ts";
import { foldRuns, mergeRuns, startRuns } from "../merge.ts";
import { readGeneration } from "../model-body.ts";
import type { ApiComponents } from "../openapi.ts";
import { clientOf, framesOf, refuseWhileDraining } from "../run.ts";
import { sseResponse } from "../sse.ts";

/** Completion routes. */
export function completionRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post("/v1/completions", ({ request }) => answerCompletion(deps, request), {
    parse: "none", // body.ts reads it
    detail: {
      operationId: "create_completion",
      description: "Continues text or token ids, without a chat template.",
      tags: ["Generation"],
      summary: "Complete a text",
      requestBody: components.body(CompletionRequest),
      responses: components.generationAnswers(CompletionResponse, CompletionChunkResponse),
    },
  });
}

async function answerCompletion(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { runs, layout, stream, includeUsage } = parseCompletionRequest(
    await readGeneration(deps, request, withCompletionPreset),
    requestCompat(deps),
  );
  const started = await withErrorTerms(CHAT_TERMS, startRuns(deps.generate, runs, clientOf(request)));
  const meta = answerMeta(deps, runs[0]?.model ?? "default", "cmpl-", started.runs[0]?.accepted);
  if (stream) {
    const encoder = completionStream(meta, { layout, choices: runs.length * layout.n, includeUsage });
    const merged = mergeRuns(started, layout.n);
    const keepAliveMs = deps.keepAliveMs ?? KEEP_ALIVE_MS;
    return sseResponse(framesOf(merged, encoder, deps.log), { abort: started.abort, keepAliveMs });
  }
  const answers = runs.map(({ choices }) => new AnswerReducer({ choices }));
  await foldRuns(started, answers);
  const body = completionBody(answers, meta, layout);
  return Response.json(body, { headers: fingerprintHeader(body.choices) });
}
