// The Ollama wire: bodies and lines of answers. Durations are nanoseconds.

import { type Static, Type } from "@sinclair/typebox";
import { rfc3339 } from "../../core/time.ts";
import type { FinishReason } from "../../core/run.ts";
import { TokenLogprobBody } from "../shared/logprobs.ts";
import { jsonObject } from "../shared/json-object.ts";
import type { RunCost } from "../shared/usage.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });
const nanoseconds = (description: string) => Type.Integer({ minimum: 0, description: `${description}, ns.` });

const modelName = Type.String({ description: "The model as the request named it." });
const createdAt = Type.String({ description: "ISO 8601." });

const lineProperties = {
  model: modelName,
  created_at: createdAt,
  done: Type.Boolean({ description: "Whether this is the last line." }),
  logprobs: Type.Optional(Type.Array(TokenLogprobBody)),
  done_reason: Type.Optional(
    Type.Union([Type.Literal("stop"), Type.Literal("length"), Type.Literal("load"), Type.Literal("unload")]),
  ),
  total_duration: Type.Optional(nanoseconds("Load, prompt and answer together")),
  load_duration: Type.Optional(nanoseconds("Until the model was loaded")),
  prompt_eval_count: Type.Optional(count("Tokens of the prompt.")),
  prompt_eval_duration: Type.Optional(nanoseconds("Until the prompt was processed")),
  eval_count: Type.Optional(count("Generated tokens.")),
  eval_duration: Type.Optional(nanoseconds("From there to the last token")),
};

const OllamaAnswerCall = Type.Object(
  {
    id: Type.String(),
    function: Type.Object({
      index: count("Which call of the answer."),
      name: Type.String(),
      arguments: jsonObject("The arguments."),
    }),
  },
  { $id: "OllamaAnswerCall", description: "A call that the model wants made." },
);
export type OllamaAnswerCall = Static<typeof OllamaAnswerCall>;

export const OllamaChatResponse = Type.Object(
  {
    ...lineProperties,
    message: Type.Object({
      role: Type.Literal("assistant"),
      content: Type.String(),
      thinking: Type.Optional(Type.String()),
      tool_calls: Type.Optional(Type.Array(OllamaAnswerCall)),
    }),
  },
  { $id: "OllamaChatResponse", description: "An answer, or one line of it." },
);
export type OllamaChatResponse = Static<typeof OllamaChatResponse>;

export const OllamaGenerateResponse = Type.Object(
  { ...lineProperties, response: Type.String(), thinking: Type.Optional(Type.String()) },
  { $id: "OllamaGenerateResponse", description: "An answer, or one line of it." },
);
export type OllamaGenerateResponse = Static<typeof OllamaGenerateResponse>;

export const OllamaEmbedResponse = Type.Object(
  {
    model: modelName,
    embeddings: Type.Array(Type.Array(Type.Number()), { description: "One an input, of length 1." }),
    total_duration: nanoseconds("Load and work together"),
    load_duration: nanoseconds("Until the model was loaded"),
    prompt_eval_count: count("Tokens of the inputs."),
  },
  { $id: "OllamaEmbedResponse" },
);
export type OllamaEmbedResponse = Static<typeof OllamaEmbedResponse>;

export const OllamaEmbeddingsResponse = Type.Object(
  { embedding: Type.Array(Type.Number()) },
  { $id: "OllamaEmbeddingsResponse" },
);

/** Whose answer it is, and what came before it. */
export interface OllamaMeta {
  readonly model: string;
  /** Unix seconds. */
  readonly created: number;
  /** Time that the model took to load for this request, seconds; 0 if it was loaded. */
  readonly loadSecs: number;
}

const NS_PER_SEC = 1e9;

/** Seconds in the wire's unit. */
export function nanosecondsOf(secs: number): number {
  return Math.round(secs * NS_PER_SEC);
}

/** What all lines and bodies begin with. */
export function headOf({ model, created }: OllamaMeta): {
  readonly model: string;
  readonly created_at: string;
} {
  return { model, created_at: rfc3339(created) };
}

/** What a finished answer says of itself. Calls end an answer as a stop does. */
export function endingOf({ loadSecs }: OllamaMeta, reason: FinishReason, { usage, timings }: RunCost) {
  return {
    done: true,
    done_reason: reason === "length" ? ("length" as const) : ("stop" as const),
    total_duration: nanosecondsOf(loadSecs + timings.promptSecs + timings.completionSecs),
    load_duration: nanosecondsOf(loadSecs),
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: nanosecondsOf(timings.promptSecs),
    eval_count: usage.completionTokens,
    eval_duration: nanosecondsOf(timings.completionSecs),
  };
}

/** The whole answer to a request that only loads or unloads a model. */
export function loadedBody(
  meta: OllamaMeta,
  shape: OllamaShape,
  reason: "load" | "unload",
): OllamaChatResponse | OllamaGenerateResponse {
  const ending = { done: true, done_reason: reason };
  if (shape === "generate") return { ...headOf(meta), response: "", ...ending };
  return { ...headOf(meta), message: { role: "assistant", content: "" }, ...ending };
}

/** Which of the two generation routes answers. */
export type OllamaShape = "chat" | "generate";
