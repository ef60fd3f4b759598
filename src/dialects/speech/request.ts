// Converts a speech body to a SpeakRequest and an audio format. Pure.

import { type Compat, STRICT } from "../../core/compat.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { ServiceError } from "../../core/error.ts";
import type { SpeakRequest } from "../../core/speech.ts";
import { describeValue } from "../shared/check.ts";
import { SpeechGenerationRequest } from "./schema.ts";

/** A WAV file, or raw samples. */
export type SpeechFormat = "wav" | "pcm";

/** A parsed speech request. */
export interface SpeechCall {
  readonly request: SpeakRequest;
  readonly format: SpeechFormat;
}

const checkBody = bodyChecker(SpeechGenerationRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseSpeechRequest(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): SpeechCall {
  const format = formatOf(json["response_format"]);
  const { input, model, voice, speed, instructions } = checkBody(json, compat);
  if (input.trim() === "") {
    throw new ServiceError("invalid_request", "input must not be empty; it has only white space", {
      param: "input",
    });
  }
  const request = {
    model: model ?? "default",
    text: input,
    ...(typeof voice === "string" ? { voice } : {}),
    ...(typeof speed === "number" ? { speed } : {}),
    ...(typeof instructions === "string" ? { instructions } : {}),
  };
  return { request, format };
}

/** Runs before the schema check, whose error would also list the unsupported formats. */
function formatOf(format: unknown): SpeechFormat {
  if (format === undefined || format === null) return "wav";
  if (format === "wav" || format === "pcm") return format;
  const message = `response_format must be "wav" or "pcm"; got ${describeValue(format)}`;
  throw new ServiceError("unsupported_value", message, { param: "response_format" });
}
