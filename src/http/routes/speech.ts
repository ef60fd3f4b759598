// POST /v1/audio/speech: body → speech → audio, streamed while it is synthesized.

import { Elysia } from "elysia";
import { parseSpeechRequest } from "../../dialects/speech/request.ts";
import { SpeechGenerationRequest } from "../../dialects/speech/schema.ts";
import { audioResponse } from "../audio.ts";
import type { HttpDeps } from "../deps.ts";
import { readModelRequest } from "../model-body.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";

/** Speech routes. */
export function speechRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post("/v1/audio/speech", ({ request }) => answerSpeech(deps, request), {
    parse: "none", // body.ts reads it
    detail: {
      operationId: "create_speech",
      tags: ["Generation"],
      summary: "Synthesize speech",
      requestBody: components.body(SpeechGenerationRequest),
      responses: components.audio("The audio, streamed while it is synthesized."),
    },
  });
}

async function answerSpeech(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { request: speech, format } = parseSpeechRequest(await readModelRequest(deps, request));
  const abort = new AbortController();
  if (request.signal.aborted) abort.abort();
  else request.signal.addEventListener("abort", () => abort.abort(), { once: true });
  const events = deps.speak(speech, abort.signal)[Symbol.asyncIterator]();
  return audioResponse(events, { format, abort, log: deps.log });
}
