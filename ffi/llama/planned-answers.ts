// Cache of answer plans per chat template: a plan of 1,000 tools takes 100 ms. See answer-plan.ts.

import { Recent } from "../../src/core/recent.ts";
import { mustCall, type Prompt } from "../../src/core/run.ts";
import type { AnswerPlan, CallStarts } from "../../src/worker/text/backend.ts";
import {
  type AnswerPlanner,
  answerPlanner,
  contentPlanner,
  opensReasoning,
  type RenderInfo,
} from "./answer-plan.ts";
import { callStarts } from "../../src/grammar/call-starts.ts";
import type { Native } from "../library.ts";
import { parseAnswer } from "./prompt.ts";
import type { Markup } from "../../src/grammar/lark.ts";
import { readMarkup } from "./markup.ts";
import { readPeg } from "../../src/grammar/peg.ts";
import { offeredTools } from "./render-request.ts";
import { type Handle, takeText } from "../text.ts";

type ChatPrompt = Extract<Prompt, { type: "chat" }>;

/** A rendered prompt with the parse info of its answer. */
type Rendered = readonly [Handle, ChatPrompt, RenderInfo];

/** common.h: COMMON_GRAMMAR_TRIGGER_TYPE_WORD, a literal trigger string. */
const TRIGGER_WORD = 1;

/** Whether an end of reasoning is its closing tag. Others begin calls. */
export function closesReasoning({ thinking_ends: ends }: RenderInfo, end: string): boolean {
  return end.trim() === ends[0]?.trim();
}

/** Parse info of the answer to a rendered prompt. */
export function renderInfo(native: Native, handle: Handle): RenderInfo {
  return JSON.parse(takeText(native, native.svc_render_info(handle)));
}

export class PlannedAnswers {
  private readonly native: Native;
  private readonly model: Handle;
  private readonly plans: Recent<AnswerPlan>;
  private readonly starts: Recent<CallStarts>;
  private markup: Markup | undefined; // read for the first grammar that names control tokens

  /** `max`: kept plans. */
  constructor(native: Native, model: Handle, max: number) {
    this.native = native;
    this.model = model;
    this.plans = new Recent(max);
    this.starts = new Recent(max);
  }

  /** Texts with which calls begin. */
  toolMarkers(...[handle, prompt, info]: Rendered): readonly string[] {
    const words = info.grammar_triggers.filter(({ type }) => type === TRIGGER_WORD);
    if (info.has_grammar || words.length > 0 || opensReasoning(info)) return words.map(({ value }) => value);
    return this.bareCalls(handle, prompt) ? ["{"] : [];
  }

  /** Where calls begin and reasoning ends. */
  callStarts(
    ...[handle, prompt, info, toolMarkers]: [...Rendered, readonly string[]]
  ): CallStarts | undefined {
    if (info.parser === 0) return undefined;
    const { parser, calls, thinking_ends: ends } = info;
    const required = mustCall(prompt);
    const key = JSON.stringify([parser, calls, toolMarkers, required]);
    return this.starts.get(key, () => {
      const peg = takeText(this.native, this.native.svc_render_parser(handle));
      const alien = calls ? [] : ends.filter((end) => !closesReasoning(info, end));
      return callStarts(readPeg(peg), [...toolMarkers, ...alien], { required, end: ends[0] ?? "" });
    });
  }

  /** Whether calls are JSON without a marker, so that each brace may begin one. */
  private bareCalls(handle: Handle, prompt: ChatPrompt): boolean {
    if (offeredTools(prompt).length === 0) return false;
    const brace = parseAnswer(this.native, handle, "{");
    return brace !== undefined && brace.content === "" && brace.reasoning === "";
  }

  /** The planner of a rendered prompt. `toolMarkers`: as above. */
  planner(...[handle, prompt, info, toolMarkers]: [...Rendered, readonly string[]]): AnswerPlanner {
    const source = {
      peg: () => takeText(this.native, this.native.svc_render_parser(handle)),
      markup: () => this.controls(),
      plans: this.plans,
    };
    if (info.calls) return answerPlanner(prompt, info, toolMarkers, source);
    return contentPlanner(info, source, this.callStarts(handle, prompt, info, toolMarkers)?.framed === true);
  }

  private controls(): Markup {
    return (this.markup ??= readMarkup(this.native, this.model));
  }
}
