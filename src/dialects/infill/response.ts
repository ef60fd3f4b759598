// The body of an answer, which is also the last frame of a stream.

import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { isObject } from "../../core/json.ts";
import { type AnswerChanges, AnswerReducer, joined } from "../shared/answer-reducer.ts";
import type { RunCost } from "../shared/usage.ts";
import { IndentCut } from "./indent.ts";
import type { InfillLayout } from "./request.ts";
import type { InfillResponse, InfillTimings } from "./schema.ts";

/** The answer of one run. */
export function infillAnswer({ indent }: InfillLayout, changes?: AnswerChanges): AnswerReducer {
  const filter = indent === 0 ? undefined : new IndentCut(indent);
  return new AnswerReducer(defined({ filter, changes }));
}

/** The body; requires that the run's `finish` was added. `content`: the whole text, or "" after a stream. */
export function infillBody(
  answer: AnswerReducer,
  model: string,
  { fields }: InfillLayout,
  content?: string,
): Readonly<Record<string, unknown>> {
  const body = whole(answer, model, content);
  return fields === undefined ? body : Object.fromEntries(fields.flatMap((path) => pick(body, path)));
}

function whole({ cost, answer }: AnswerReducer, model: string, content?: string): InfillResponse {
  const { blocks, ending } = answer;
  assert(ending !== undefined, "run finished before its choice ended");
  assert(
    blocks.every(({ type }) => type !== "call"),
    "tool call in an infill run",
  );
  const { usage } = cost;
  const { reason, stop } = ending;
  const ended = stop === undefined ? "eos" : "word";
  return {
    index: 0,
    content: content ?? joined(blocks),
    stop: true,
    model,
    tokens_predicted: usage.completionTokens,
    tokens_evaluated: usage.promptTokens,
    tokens_cached: usage.promptTokens + usage.completionTokens,
    has_new_line: blocks.some(({ pieces }) => pieces.some((piece) => piece.includes("\n"))),
    stop_type: reason === "length" ? "limit" : ended,
    stopping_word: stop ?? "",
    timings: timingsOf(cost),
  };
}

function timingsOf({ usage, timings }: RunCost): InfillTimings {
  const promptTokens = usage.promptTokens - usage.cachedTokens;
  const promptMs = timings.promptSecs * 1000;
  const predictedMs = timings.completionSecs * 1000;
  return {
    cache_n: usage.cachedTokens,
    prompt_n: promptTokens,
    prompt_ms: promptMs,
    prompt_per_token_ms: ratio(promptMs, promptTokens),
    prompt_per_second: ratio(promptTokens, timings.promptSecs),
    predicted_n: usage.completionTokens,
    predicted_ms: predictedMs,
    predicted_per_token_ms: ratio(predictedMs, usage.completionTokens),
    predicted_per_second: ratio(usage.completionTokens, timings.completionSecs),
  };
}

/** A quotient; 0 if the divisor is 0, because JSON has no infinity. */
function ratio(a: number, b: number): number {
  return b > 0 ? a / b : 0;
}

/** The field at a path such as `timings/prompt_n`, keyed by the path; empty if it does not exist. */
function pick(body: unknown, path: string): readonly (readonly [string, unknown])[] {
  let value = body;
  for (const key of path.split("/")) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return [];
    value = value[key];
  }
  return [[path, value]];
}
