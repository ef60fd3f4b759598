// A speech body → what is to be spoken, and how the sound is packed. Pure.

import { ServiceError } from "../../core/error.ts";
import type { SpeakRequest } from "../../core/speech.ts";
import { checker, describeValue } from "../shared/check.ts";
import { SpeechGenerationRequest } from "./schema.ts";

/** A WAV file, or its samples alone. */
export type SpeechFormat = "wav" | "pcm";

/** What a body asks for. */
export interface SpeechCall {
  readonly request: SpeakRequest;
  readonly format: SpeechFormat;
}

const checkBody = checker(SpeechGenerationRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseSpeechRequest(json: Readonly<Record<string, unknown>>): SpeechCall {
  const format = formatOf(json["response_format"]);
  const { input, model } = checkBody(json);
  if (input.trim() === "") {
    throw new ServiceError("invalid_request", "input must not be empty; it has white space alone", {
      param: "input",
    });
  }
  return { request: { model: model ?? "default", text: input }, format };
}

/** Before the schema, which would name the formats that are known but not supported. */
function formatOf(format: unknown): SpeechFormat {
  if (format === undefined || format === null) return "wav";
  if (format === "wav" || format === "pcm") return format;
  const message = `response_format must be "wav" or "pcm"; got ${describeValue(format)}`;
  throw new ServiceError("unsupported_value", message, { param: "response_format" });
}
