// What a template does with reasoning, found out by rendering short conversations: its tags, where llama.cpp's analysis names none, and
// how answers go on after it.

import { readPeg } from "../../src/grammar/peg.ts";
import type { Native } from "../library.ts";
import { type Handle, takeText } from "../text.ts";
import { opensReasoning, type RenderInfo } from "./answer-plan.ts";
import { renderInfo } from "./planned-answers.ts";
import { parseAnswer } from "./prompt.ts";
import { type AnswerForm, answerForm, NO_ANSWER_FORM, reasoningForm, SAID } from "./reasoning-form.ts";

const QUESTION = { role: "user", content: "Hi" };

export interface ThinkingFacts {
  /** The template supports thinking. */
  readonly isSupported: boolean;
  readonly answer: AnswerForm;
  /** The parse info of a prompt, with the tags of reasoning. */
  named(info: RenderInfo): RenderInfo;
}

/** What is read of a model and its template. */
export interface ThinkingSource {
  tokenize(text: string): Int32Array;
  /** What is read of a rendered conversation that thinks; undefined if it cannot be rendered. */
  probed<T>(messages: readonly object[], read: (handle: Handle) => T): T | undefined;
}

export function thinkingFacts(native: Native, source: ThinkingSource): ThinkingFacts {
  const text = (handle: Handle): string => takeText(native, native.svc_render_prompt(handle));
  const history = source.probed([QUESTION, { role: "assistant", content: SAID }, QUESTION], text) ?? "";
  const facts = source.probed([QUESTION], (handle): ThinkingFacts => {
    const info = renderInfo(native, handle);
    const form = isNamed(info)
      ? undefined
      : reasoningForm({
          prompt: text(handle),
          parser: info.parser === 0 ? undefined : readPeg(takeText(native, native.svc_render_parser(handle))),
          isToken: (mark) => source.tokenize(mark).length === 1,
        });
    const tags = form?.tags;
    const named = (one: RenderInfo): RenderInfo =>
      tags === undefined || isNamed(one)
        ? one
        : { ...one, thinking_start: tags.start, thinking_ends: [tags.end] };
    const { thinking_start: start, thinking_ends: ends, generation_prompt: written } = named(info);
    const [end = ""] = ends;
    const parse = (answer: string): ReturnType<typeof parseAnswer> => parseAnswer(native, handle, answer);
    const sample = { parse, isOpen: opensReasoning(named(info)), written, prompt: text(handle), history };
    return {
      isSupported: info.supports_thinking || form?.isAsked === true,
      answer: answerForm({ start, end: end.trim() }, sample),
      named,
    };
  });
  return facts ?? { isSupported: false, answer: NO_ANSWER_FORM, named: (info) => info };
}

function isNamed({ thinking_start: start, thinking_ends: ends }: RenderInfo): boolean {
  return start !== "" || ends.length > 0;
}
