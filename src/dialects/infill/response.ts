// RunEvents folded into one body: the whole answer, and the last frame of a streamed one.

import { assert, unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import type { RunEvent } from "../../core/run.ts";
import { isRecord } from "../shared/check.ts";
import type { RunCost } from "../shared/usage.ts";
import { IndentCut } from "./indent.ts";
import type { InfillLayout } from "./request.ts";
import type { InfillResponse, InfillTimings } from "./schema.ts";

type Ending = Extract<RunEvent, { type: "choice_end" }>;

/** Collects the events of one run. */
export class InfillFold {
  private readonly layout: InfillLayout;
  private readonly cut: IndentCut;
  private readonly text: string[] = [];
  private ending: Ending | undefined;
  private spent: RunCost | undefined;

  constructor(layout: InfillLayout) {
    this.layout = layout;
    this.cut = new IndentCut(layout.indent);
  }

  /** Takes the next event and returns the text that it adds; throws the ServiceError of an `error` event. */
  add(event: RunEvent): string {
    switch (event.type) {
      case "accepted":
        return "";
      case "text":
      case "reasoning":
        return this.show(this.cut.push(event.text));
      case "tool_call_start":
      case "tool_call_args":
        assert(false, "a gap is not filled by calling a tool");
        return "";
      case "choice_end":
        this.ending = event;
        return this.show(this.cut.end());
      case "finish":
        this.spent = { usage: event.usage, timings: event.timings };
        return "";
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        return unreachable(event);
    }
  }

  /** The body; only after the run's `finish`. `content` is all of the text, or what a stream has not said. */
  body(model: string, content = this.text.join("")): Readonly<Record<string, unknown>> {
    const body = this.whole(model, content);
    const { fields } = this.layout;
    if (fields === undefined) return body;
    return Object.fromEntries(fields.flatMap((path) => pick(body, path)));
  }

  private whole(model: string, content: string): InfillResponse {
    assert(
      this.spent !== undefined && this.ending !== undefined,
      "a body is asked for before the run finished",
    );
    const { usage } = this.spent;
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
      timings: timingsOf(this.spent),
    };
  }

  private show(text: string): string {
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

/** 0 where there is nothing to divide by, because JSON has no infinity. */
function ratio(a: number, b: number): number {
  return b > 0 ? a / b : 0;
}

/** The field at a path such as `timings/prompt_n`, under the path as its name; nothing where there is none. */
function pick(body: unknown, path: string): readonly (readonly [string, unknown])[] {
  let value = body;
  for (const key of path.split("/")) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return [];
    value = value[key];
  }
  return [[path, value]];
}
