// Progress of a load and of a prompt in streams, under the names of llama.cpp's server. Each dialect has a place for it that its
// clients ignore.

import { type Static, Type } from "@sinclair/typebox";
import { defined } from "../../core/defined.ts";
import type { RunEvent } from "../../core/run.ts";
import { orNull } from "../../core/schema-fields.ts";

export const progressProperties = {
  return_progress: orNull(
    Type.Boolean({
      description: "With `stream`: tells how much of the model is loaded and of the prompt computed.",
    }),
  ),
};

const LoadProgress = Type.Object(
  {
    model: Type.String({ description: "Id of the model that is loaded." }),
    progress: Type.Number({ minimum: 0, maximum: 1, description: "Part of it that is loaded." }),
  },
  { $id: "LoadProgress", description: "With `return_progress`, while the request waits for its model." },
);

export const PromptProgress = Type.Object(
  {
    total: Type.Integer({ minimum: 0, description: "Tokens of the prompt." }),
    cache: Type.Integer({ minimum: 0, description: "Tokens taken from the cache." }),
    processed: Type.Integer({ minimum: 0, description: "Tokens computed or taken from the cache." }),
    time_ms: Type.Integer({ minimum: 0, description: "Milliseconds since the prompt was begun." }),
    queued_before: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "Requests that wait before this one, which waits as well. Absent once it is computed.",
      }),
    ),
  },
  { $id: "PromptProgress", description: "With `return_progress`, while the prompt is computed." },
);

/** Fields of events with progress. */
export const progressEventProperties = {
  load_progress: Type.Optional(LoadProgress),
  prompt_progress: Type.Optional(PromptProgress),
};

/** An event with progress. */
export type ProgressEvent = Extract<RunEvent, { type: "load_progress" | "prompt_progress" }>;

/** Whether a run tells its progress. */
export function progressOf(
  { return_progress: isWanted }: { readonly return_progress?: boolean | null },
  stream: boolean,
): { readonly progress?: true } {
  return stream && isWanted === true ? { progress: true } : {};
}

/** The field with the progress of an event. */
export function progressBody(
  event: ProgressEvent,
  model: string,
): { load_progress: Static<typeof LoadProgress> } | { prompt_progress: Static<typeof PromptProgress> } {
  if (event.type === "load_progress") return { load_progress: { model, progress: event.permille / 1000 } };
  return { prompt_progress: promptProgress(event) };
}

export function promptProgress({
  total,
  cached,
  processed,
  ms,
  ahead,
}: Extract<ProgressEvent, { type: "prompt_progress" }>): Static<typeof PromptProgress> {
  return {
    total,
    cache: cached,
    processed,
    time_ms: Math.round(ms),
    ...defined({ queued_before: ahead }),
  };
}
