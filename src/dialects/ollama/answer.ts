// Wire schemas of Ollama answers: bodies and lines. Durations are nanoseconds.

import { type Static, Type } from "@sinclair/typebox";
import { defined } from "../../core/defined.ts";
import { count } from "../../core/schema-fields.ts";
import { rfc3339 } from "../../core/time.ts";
import { agentAnswerProperties } from "../shared/agent-events.ts";
import type { AnswerReducer } from "../shared/answer-reducer.ts";
import { TokenLogprobBody } from "../shared/logprobs.ts";
import { fingerprintProperties } from "../shared/sampling.ts";
import { jsonObject } from "../shared/json-object.ts";

const nanoseconds = (description: string) => Type.Integer({ minimum: 0, description: `${description}, ns.` });

const modelName = Type.String({ description: "Model name as sent in the request." });
const createdAt = Type.String({ description: "ISO 8601." });

const { cut_files, context_management } = agentAnswerProperties;
const lineProperties = {
  model: modelName,
  created_at: createdAt,
  done: Type.Boolean({ description: "Whether this is the last line." }),
  logprobs: Type.Optional(Type.Array(TokenLogprobBody)),
  done_reason: Type.Optional(
    Type.Union(
      [
        Type.Literal("stop"),
        Type.Literal("length"),
        Type.Literal("content_filter"),
        Type.Literal("load"),
        Type.Literal("unload"),
      ],
      { description: "Why the answer ended; in the last line." },
    ),
  ),
  total_duration: Type.Optional(nanoseconds("Load, prefill and generation")),
  load_duration: Type.Optional(nanoseconds("Loading of the model")),
  prompt_eval_count: Type.Optional(count("Tokens of the prompt.")),
  prompt_eval_duration: Type.Optional(nanoseconds("From arrival to the end of prefill")),
  eval_count: Type.Optional(count("Generated tokens.")),
  eval_duration: Type.Optional(nanoseconds("From the end of prefill to the last token")),
  ...fingerprintProperties,
  cut_files,
  context_management,
};

const OllamaAnswerCall = Type.Object(
  {
    id: Type.String({ description: "Id of the call." }),
    function: Type.Object(
      {
        index: count("Position of the call in the answer."),
        name: Type.String({ description: "Name of the function." }),
        arguments: jsonObject("The arguments."),
      },
      { description: "The function to call." },
    ),
  },
  { $id: "OllamaAnswerCall", description: "A tool call requested by the model." },
);
export type OllamaAnswerCall = Static<typeof OllamaAnswerCall>;

export const OllamaChatResponse = Type.Object(
  {
    ...lineProperties,
    message: Type.Object(
      {
        role: Type.Literal("assistant"),
        content: Type.String({ description: "Text of the answer." }),
        thinking: Type.Optional(Type.String({ description: "The reasoning before the text." })),
        tool_calls: Type.Optional(Type.Array(OllamaAnswerCall)),
      },
      { description: "The answer, or its next part." },
    ),
  },
  { $id: "OllamaChatResponse", description: "An answer, or one line of a stream." },
);
export type OllamaChatResponse = Static<typeof OllamaChatResponse>;

export const OllamaGenerateResponse = Type.Object(
  {
    ...lineProperties,
    response: Type.String({ description: "The generated text, or its next part." }),
    thinking: Type.Optional(Type.String({ description: "The reasoning before the text." })),
  },
  { $id: "OllamaGenerateResponse", description: "An answer, or one line of a stream." },
);
export type OllamaGenerateResponse = Static<typeof OllamaGenerateResponse>;

export const OllamaEmbedResponse = Type.Object(
  {
    model: modelName,
    embeddings: Type.Array(Type.Array(Type.Number()), { description: "One vector per input, of length 1." }),
    total_duration: nanoseconds("Load and computation"),
    load_duration: nanoseconds("Loading of the model"),
    prompt_eval_count: count("Tokens of the inputs."),
  },
  { $id: "OllamaEmbedResponse", description: "The vectors of texts." },
);
export type OllamaEmbedResponse = Static<typeof OllamaEmbedResponse>;

export const OllamaEmbeddingsResponse = Type.Object(
  { embedding: Type.Array(Type.Number(), { description: "The vector." }) },
  { $id: "OllamaEmbeddingsResponse", description: "The vector of a text." },
);

/** Model and start of an answer. */
export interface OllamaMeta {
  readonly model: string;
  /** Unix seconds. */
  readonly created: number;
  /** Time that this request waited for the model to load, seconds; 0 if it was loaded. */
  readonly loadSecs: number;
}

const NS_PER_SEC = 1e9;

/** Converts seconds to nanoseconds. */
export function nanosecondsOf(secs: number): number {
  return Math.round(secs * NS_PER_SEC);
}

/** First fields of every line and body. */
export function headOf({ model, created }: OllamaMeta): {
  readonly model: string;
  readonly created_at: string;
} {
  return { model, created_at: rfc3339(created) };
}

/** Final fields of an answer, with what the model did not get of the conversation. Tool calls are reported as `stop`. */
export function endingOf({ loadSecs }: OllamaMeta, { answer, agent, cost }: AnswerReducer) {
  const { reason, fingerprint } = answer.ending ?? { reason: "stop" as const };
  const { usage, timings } = cost;
  return {
    done: true,
    done_reason: reason === "tool_calls" ? ("stop" as const) : reason,
    total_duration: nanosecondsOf(loadSecs + timings.promptSecs + timings.completionSecs),
    load_duration: nanosecondsOf(loadSecs),
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: nanosecondsOf(timings.promptSecs),
    eval_count: usage.completionTokens,
    eval_duration: nanosecondsOf(timings.completionSecs),
    ...defined({ fingerprint }),
    ...agent.cut(),
  };
}

/** The answer to a request that only loads or unloads a model. */
export function loadedBody(
  meta: OllamaMeta,
  shape: OllamaShape,
  reason: "load" | "unload",
): OllamaChatResponse | OllamaGenerateResponse {
  const ending = { done: true, done_reason: reason };
  if (shape === "generate") return { ...headOf(meta), response: "", ...ending };
  return { ...headOf(meta), message: { role: "assistant", content: "" }, ...ending };
}

/** The generation route, /api/chat or /api/generate. */
export type OllamaShape = "chat" | "generate";
