// POST /v1/audio/speech: body → speech → audio, streamed while it is synthesized.

import { Elysia } from "elysia";
import { mayUseModel } from "../../core/account.ts";
import { parseSpeechRequest } from "../../dialects/speech/request.ts";
import { SpeechGenerationRequest, VoiceList, voicesBody } from "../../dialects/speech/schema.ts";
import { audioResponse } from "../audio.ts";
import type { HttpDeps } from "../deps.ts";
import { readModelRequest, type StandIn, withStandIn } from "../model-body.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";
import { endWith, refuseWhileDraining } from "../run.ts";
import { requestCompat } from "../compat.ts";

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
    .get("/v1/audio/voices", ({ request }) => Response.json(voicesBody(voicesFor(deps, request))), {
      detail: {
        operationId: "list_voices",
        description: "Their ids are values of `model` in requests for speech.",
        tags: ["Generation"],
        summary: "List the voices: the models that speak",
        responses: components.answers("The voices.", VoiceList),
      },
    });
}

const STAND_IN: StandIn = {
  names: new Set(["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "kokoro"]),
  kind: "speech",
  note: "speech_model",
};

/** Those that the caller's key may use. */
function voicesFor(deps: HttpDeps, request: Request): readonly string[] {
  const { account } = callerOf(request);
  return deps
    .models()
    .filter((model) => model.kind === "speech" && mayUseModel(account, model))
    .map(({ id }) => id);
}

async function answerSpeech(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { request: speech, format } = parseSpeechRequest(
    withStandIn(deps, await readModelRequest(deps, request), STAND_IN),
    requestCompat(deps),
  );
  const abort = endWith(new AbortController(), request.signal);
  const events = deps.speak(speech, abort.signal, callerOf(request))[Symbol.asyncIterator]();
  return audioResponse(events, { format, abort, log: deps.log });
}
