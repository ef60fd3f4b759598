// Folds RunEvents into the body of an answer, which is also the last frame of a stream.

import { assert, unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import type { RunEvent } from "../../core/run.ts";
import { isRecord } from "../shared/check.ts";
import type { RunCost } from "../shared/usage.ts";
import { IndentCut } from "./indent.ts";
import type { InfillLayout } from "./request.ts";
import type { InfillResponse, InfillTimings } from "./schema.ts";

type Ending = Extract<RunEvent, { type: "choice_end" }>;

/** Folds the events of one run. */
export class InfillFold {
  private readonly layout: InfillLayout;
  private readonly cut: IndentCut;
  private readonly text: string[] = [];
  private ending: Ending | undefined;
  private runCost: RunCost | undefined;

  constructor(layout: InfillLayout) {
    this.layout = layout;
    this.cut = new IndentCut(layout.indent);
  }

  /** Adds an event and returns the text that it adds; throws the ServiceError of an `error` event. */
  add(event: RunEvent): string {
    switch (event.type) {
      case "accepted":
      case "load_progress":
      case "prompt_progress":
        return "";
      case "text":
      case "reasoning":
        return this.append(this.cut.push(event.text));
      case "tool_call_start":
      case "tool_call_args":
        assert(false, "tool call in an infill run");
        return "";
      case "choice_end":
        this.ending = event;
        return this.append(this.cut.end());
      case "finish":
        this.runCost = { usage: event.usage, timings: event.timings };
        return "";
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        return unreachable(event);
    }
  }

  /** The body; requires that the run's `finish` was added. `content`: the whole text, or "" after a stream. */
  body(model: string, content = this.text.join("")): Readonly<Record<string, unknown>> {
    const body = this.whole(model, content);
    const { fields } = this.layout;
    if (fields === undefined) return body;
    return Object.fromEntries(fields.flatMap((path) => pick(body, path)));
  }

  private whole(model: string, content: string): InfillResponse {
    assert(this.runCost !== undefined && this.ending !== undefined, "body requested before the run finished");
    const { usage } = this.runCost;
    const { reason, stop } = this.ending;
    const ended = stop === undefined ? "eos" : "word";
    return {
      index: 0,
      content,
      stop: true,
      model,
      tokens_predicted: usage.completionTokens,
      tokens_evaluated: usage.promptTokens,
      tokens_cached: usage.promptTokens + usage.completionTokens,
      has_new_line: this.text.some((piece) => piece.includes("\n")),
      stop_type: reason === "length" ? "limit" : ended,
      stopping_word: stop ?? "",
      timings: timingsOf(this.runCost),
    };
  }

  private append(text: string): string {
    if (text !== "") this.text.push(text);
    return text;
  }
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
    if (!isRecord(value) || !Object.hasOwn(value, key)) return [];
    value = value[key];
  }
  return [[path, value]];
}
