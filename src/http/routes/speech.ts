// POST /v1/audio/speech: body → speech → audio, streamed while it is synthesized.

import { Elysia } from "elysia";
import { parseSpeechRequest } from "../../dialects/speech/request.ts";
import { SpeechGenerationRequest, VoiceList, voicesBody } from "../../dialects/speech/schema.ts";
import { audioResponse } from "../audio.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { readModelRequest } from "../model-body.ts";
import { isServed } from "../model-name.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";

/** Speech routes. */
export function speechRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .post("/v1/audio/speech", ({ request }) => answerSpeech(deps, request), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "create_speech",
        description: "Speech of a voice, as WAV or PCM, sent while it is synthesized.",
        tags: ["Generation"],
        summary: "Synthesize speech",
        requestBody: components.body(SpeechGenerationRequest),
        responses: components.audio("The audio, streamed while it is synthesized."),
      },
    })
    .get("/v1/audio/voices", () => Response.json(voicesBody(speechModels(deps))), {
      detail: {
        operationId: "list_voices",
        description: "Their ids are values of `model` in requests for speech.",
        tags: ["Generation"],
        summary: "List the voices: the models that speak",
        responses: components.answers("The voices.", VoiceList),
      },
    });
}

/** Models that OpenAI's clients name where they have no setting for another. */
const OPENAI_MODELS: ReadonlySet<unknown> = new Set(["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "kokoro"]);

function speechModels(deps: HttpDeps): readonly string[] {
  return deps
    .models()
    .filter(({ kind }) => kind === "speech")
    .map(({ id }) => id);
}

/** The first voice answers for OpenAI's models, unless one of that name is served. */
function withServedModel(deps: HttpDeps, body: Readonly<Record<string, unknown>>) {
  const { model } = body;
  if (!OPENAI_MODELS.has(model)) return body;
  if (isServed(deps.models(), String(model))) return body;
  requestCompat(deps).note("speech_model");
  return { ...body, model: "default" };
}

async function answerSpeech(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { request: speech, format } = parseSpeechRequest(
    withServedModel(deps, await readModelRequest(deps, request)),
  );
  const abort = new AbortController();
  if (request.signal.aborted) abort.abort();
  else request.signal.addEventListener("abort", () => abort.abort(), { once: true });
  const events = deps.speak(speech, abort.signal)[Symbol.asyncIterator]();
  return audioResponse(events, { format, abort, log: deps.log });
}
