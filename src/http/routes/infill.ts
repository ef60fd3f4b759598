// POST /infill: body → run → body or stream. Each step is a function of another module.

import { Elysia } from "elysia";
import { KEEP_ALIVE_MS } from "../limits.ts";
import { parseInfillRequest } from "../../dialects/infill/request.ts";
import { infillAnswer, infillBody } from "../../dialects/infill/response.ts";
import { InfillChunk, InfillRequest, InfillResponse } from "../../dialects/infill/schema.ts";
import { infillStream } from "../../dialects/infill/stream.ts";
import { answeringModel } from "../answer.ts";
import { readGeneration } from "../model-body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";
import { clientOf, foldRun, framesOf, refuseWhileDraining, startRun } from "../run.ts";
import { sseResponse } from "../sse.ts";
import { requestCompat } from "../compat.ts";

/** Infill routes. */
export function infillRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post("/infill", ({ request }) => answerInfill(deps, request), {
    parse: "none", // body.ts reads it
    detail: {
      operationId: "create_infill",
      description:
        "For editor plugins (llama.vim, llama.vscode): the text between `input_prefix` and `input_suffix`.",
      tags: ["Editor plugins"],
      summary: "Fill in the middle of a text",
      requestBody: components.body(InfillRequest),
      responses: components.generationAnswers(InfillResponse, InfillChunk),
    },
  });
}

async function answerInfill(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { run, layout, stream } = parseInfillRequest(
    await readGeneration(deps, request),
    requestCompat(deps),
  );
  const started = await startRun(deps.generate, run, clientOf(request));
  const model = answeringModel(deps, run.model);
  if (stream) {
    const frames = framesOf(started, infillStream(model, layout), deps.log);
    return sseResponse(frames, { abort: started.abort, keepAliveMs: deps.keepAliveMs ?? KEEP_ALIVE_MS });
  }
  const answer = infillAnswer(layout);
  await foldRun(started, answer);
  return Response.json(infillBody(answer, model, layout));
}
