// What requests and operators are told of an engine process that has ended.

import type { ErrorData } from "../core/error.ts";

export const ENGINE_DIED: ErrorData = {
  code: "engine_failed",
  message:
    "The model's engine process ended unexpectedly while it worked on this request. It is being restarted.",
};

export const ENGINE_HUNG: ErrorData = {
  code: "engine_failed",
  message:
    "The model's engine process stopped answering while it worked on this request. It is being replaced.",
};

export const HUNG_LOADING: ErrorData = {
  code: "model_unavailable",
  message:
    "The engine process stopped answering while loading. The model's file may be broken, or hang_timeout too short.",
};

export const TEMPLATE_LOOPS: ErrorData = {
  code: "model_unavailable",
  message:
    "The chat template did not come to an end when it was tried out: it probably loops. Mend it, or replace the model's own with chat_template.",
};

export const STOPPED: ErrorData = {
  code: "shutting_down",
  message: "The server was stopped before this request was finished.",
};

/** Says what is likely, as the process itself has said nothing. `description`: how it ended, as host.ts tells it. */
export function deathWhileLoading(description: string): ErrorData {
  const message = `The engine process ended while loading (${description}).${likely(description)}`;
  return { code: "model_unavailable", message };
}

function likely(description: string): string {
  if (!description.startsWith("signal ")) return "";
  return description === "signal SIGKILL"
    ? " It was killed, probably because memory ran out: choose a smaller model or cache."
    : " The model's file is probably broken, or of a kind that svc cannot load: copy or download it again. The lines before this one may say more.";
}
