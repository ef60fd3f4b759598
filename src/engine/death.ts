// Errors of engine processes that ended, for requests and for operators.

import { type ErrorData, ServiceError } from "../core/error.ts";
import { FAILED_LOAD_MS } from "./limits.ts";
import type { EngineEvent } from "./protocol.ts";

export const ENGINE_DIED: ErrorData = {
  code: "engine_failed",
  message:
    "the model's engine process ended unexpectedly during this request; it is being restarted; send the request again",
};

export const ENGINE_HUNG: ErrorData = {
  code: "engine_failed",
  message:
    "the model's engine process hung during this request; it is being restarted; send the request again",
};

export const HUNG_LOADING: ErrorData = {
  code: "model_unavailable",
  message:
    "the engine process hung while it loaded the model; check the model's file, or increase --hang-timeout",
};

export const TEMPLATE_LOOPS: ErrorData = {
  code: "model_unavailable",
  message:
    "the chat template did not finish when it was tried: it probably loops; fix it, or set --chat-template to replace it",
};

export const STOPPED: ErrorData = {
  code: "shutting_down",
  message: "the server was stopped before this request was finished",
};

/** A load that has failed. The reason is for the operator's log only, since it may name files of the server, but for that of a template. */
export function failed(reason: unknown): ServiceError {
  const retryAfterSecs = FAILED_LOAD_MS / 1000;
  if (reason instanceof ServiceError && reason.code === "template_failed")
    return new ServiceError("template_failed", reason.message, { retryAfterSecs });
  const message = "the model could not be loaded; the server's log says why; it is tried again";
  return new ServiceError("model_unavailable", message, { retryAfterSecs });
}

export type Failed = Extract<EngineEvent, { type: "error" }>;

/** The only event of a run that could not begin. Rethrows what is not for its client. */
export function failedRun(error: unknown): Failed {
  if (!(error instanceof ServiceError)) throw error;
  return { type: "error", error: error.toData() };
}

/** The likely cause when the process sent none. `description`: how it ended, from host.ts. */
export function deathWhileLoading(description: string): ErrorData {
  const message = `the engine process ended while loading (${description})${likely(description)}`;
  return { code: "model_unavailable", message };
}

function likely(description: string): string {
  if (!description.startsWith("signal ")) return "";
  return description === "signal SIGKILL"
    ? "; it was killed, probably for lack of memory; use a smaller model or cache"
    : "; the model's file is probably damaged or not supported; copy or download it again; earlier log lines may have details";
}

/** The error of a request that an engine cannot take now. */
export function unavailable(message: string): ServiceError {
  return new ServiceError("model_unavailable", message, { retryAfterSecs: 5 });
}
