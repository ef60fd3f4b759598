// Cache of answer plans per chat template. With 1,000 tools a plan takes as long as the rendering of the prompt, so that it is made
// meanwhile. See answer-plan.ts.

import { ServiceError } from "../../src/core/error.ts";
import { mustCall, type Prompt } from "../../src/core/run.ts";
import type { AnswerPlan, CallStarts, PlannedContent } from "../../src/worker/text/backend.ts";
import {
  type AnswerPlanner,
  answerPlanner,
  contentPlanner,
  type ExpectedCalls,
  expectedCalls,
  lacksCalls,
  opensReasoning,
  type RenderInfo,
} from "./answer-plan.ts";
import { callStarts } from "../../src/grammar/call-starts.ts";
import type { Native } from "../library.ts";
import { parseAnswer } from "./prompt.ts";
import type { Markup } from "../../src/grammar/lark.ts";
import { readMarkup } from "./markup.ts";
import { readPeg } from "../../src/grammar/peg.ts";
import { Recent } from "./recent.ts";
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
  planner(
    ...[handle, prompt, info, toolMarkers, expected]: [...Rendered, readonly string[], ExpectedCalls?]
  ): AnswerPlanner {
    const source = {
      peg: () => takeText(this.native, this.native.svc_render_parser(handle)),
      markup: () => this.controls(),
      plans: this.plans,
      expected,
    };
    if (info.calls) return answerPlanner(prompt, info, toolMarkers, source);
    return contentPlanner(info, source, this.callStarts(handle, prompt, info, toolMarkers)?.framed === true);
  }

  /** The grammar of calls for the parser that a prompt is expected to have; undefined if that is not known yet, or not needed. */
  expected(handle: Handle, prompt: ChatPrompt, { content }: PlannedContent): ExpectedCalls | undefined {
    const peg = this.native.svc_render_expected_parser(handle);
    if (peg === null) return undefined;
    const text = takeText(this.native, peg);
    return expectedCalls(prompt, content, { peg: () => text, markup: () => this.controls() });
  }

  /** Plans the answer to a prompt of which the tokens may be missing. The plan is kept until it is asked for. Returns what the prompt says of its answer. */
  plan(
    handle: Handle,
    prompt: ChatPrompt,
    { content }: PlannedContent,
    expected: ExpectedCalls | undefined,
  ): RenderInfo {
    const info = renderInfo(this.native, handle);
    if (!info.calls || lacksCalls(info)) return info;
    try {
      this.planner(handle, prompt, info, this.toolMarkers(handle, prompt, info), expected)(content);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error; // a refusal: thrown again when the plan is asked for
    }
    return info;
  }

  private controls(): Markup {
    return (this.markup ??= readMarkup(this.native, this.model));
  }
}

/** What is done for one prompt while that is rendered. */
export interface Ahead {
  readonly prompt: ChatPrompt;
  readonly planned: PlannedContent;
  /** Called when the tokens of the prompt at most are missing. */
  readonly formatted: (handle: Handle, info: RenderInfo) => void;
}

/** Plans the answer to one prompt while that is rendered. */
export class PlanAhead {
  private readonly answers: PlannedAnswers;
  private readonly native: Native;
  private readonly ahead: Ahead;
  private calls: ExpectedCalls | undefined;
  private isDone = false;

  constructor(answers: PlannedAnswers, native: Native, ahead: Ahead) {
    this.answers = answers;
    this.native = native;
    this.ahead = ahead;
  }

  /** Does what can be done now. `isReady`: the prompt is rendered and tokenized. */
  advance(handle: Handle, isReady: boolean): void {
    const { answers, calls } = this;
    const { prompt, planned, formatted } = this.ahead;
    if (this.isDone) return;
    if (!isReady) this.calls = calls ?? answers.expected(handle, prompt, planned);
    const isTime = isReady ? this.calls !== undefined : this.native.svc_render_formatted(handle) === 1;
    if (!isTime) return;
    this.isDone = true;
    const info = answers.plan(handle, prompt, planned, this.calls);
    if (!isReady && !lacksCalls(info)) formatted(handle, info);
  }
}
