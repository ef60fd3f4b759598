// Errors of prompts that a template or a vocabulary cannot render.

import { ServiceError } from "../../src/core/error.ts";
import type { NativePrompt } from "./render-request.ts";

/** The shim's error about one media file: its kind and its number. */
const MEDIA_ERROR = /^(?:(audio clip)|image) (\d+): ([^]*)/;

/** A template that cannot be used, or failed with a conversation; `reason`: the shim's, with the place. */
export function templateFault(template: string, reason: string): ServiceError {
  const said = /(?:Template fault|Jinja Exception): ([^]*)/.exec(reason)?.[1] ?? reason;
  return new ServiceError(
    "template_failed",
    `the chat template of ${template} failed: ${said.trim()}; fix the template, or set chat_template to replace it`,
  );
}

/** The error of a prompt; `reason`: the shim's. */
export function refusal(prompt: NativePrompt, reason: string, template: string): ServiceError {
  if (prompt.type !== "chat") {
    const message = `the model cannot take this prompt: ${reason}`;
    const param = prompt.type === "gap" ? "input_suffix" : "suffix";
    return new ServiceError("unsupported_capability", message, { param });
  }
  const file = MEDIA_ERROR.exec(reason);
  if (file !== null) {
    const [, audio, number, what] = file;
    const kind = audio === undefined ? "image" : "audio clip";
    const message = `the ${kind} number ${number} of messages cannot be used: ${what}`;
    return new ServiceError("invalid_request", message, { param: "messages" });
  }
  if (reason.includes("Template fault: ")) return templateFault(template, reason);
  // The template's own message, without the words around it.
  const said = /Jinja Exception: ([^]*)/.exec(reason)?.[1] ?? reason;
  const message = `the model's chat template rejects this conversation: ${said.trim()}`;
  return new ServiceError("invalid_request", message, { param: "messages" });
}
