// Plans the constraint of a rendered prompt's answer, and where it starts. See answer-grammar.ts.

import { ServiceError } from "../../src/core/error.ts";
import { isSingleCall, mustCall, type Prompt } from "../../src/core/run.ts";
import type { AnswerPlan, JsonSchemaConstraint } from "../../src/worker/text/backend.ts";
import type { AnswerConstraint, AnswerSource } from "../../src/worker/text/constraint-backend.ts";
import { answerGrammar, callGrammar } from "../../src/grammar/answer-grammar.ts";
import { isCertain } from "../../src/grammar/certain-schemas.ts";
import type { Markup } from "../../src/grammar/lark.ts";
import { framesContent, readPeg } from "../../src/grammar/peg.ts";
import type { Recent } from "../../src/core/recent.ts";
import { offeredTools, toolsText } from "./render-request.ts";

type ChatPrompt = Extract<Prompt, { type: "chat" }>;

/** svc_render_info */
export interface RenderInfo {
  readonly thinking_start: string;
  readonly thinking_ends: readonly string[];
  readonly supports_thinking: boolean;
  readonly generation_prompt: string;
  readonly additional_stops: readonly string[];
  readonly preserved_tokens: readonly string[];
  /** Inputs of the template. */
  readonly thinks: boolean;
  /** Tools are offered. */
  readonly calls: boolean;
  /** Number of the parser of the answer; of one template, equal numbers mean equal parsers. 0: none. */
  readonly parser: number;
  /** The parser recognizes calls. */
  readonly writes_calls: boolean;
  readonly has_grammar: boolean;
  readonly grammar_triggers: readonly {
    readonly type: number;
    readonly value: string;
    readonly token: number;
  }[];
}

/** Whether the template's beginning of the answer ends within a reasoning block. */
export function opensReasoning({
  thinking_start: start,
  thinking_ends: ends,
  generation_prompt: text,
}: RenderInfo): boolean {
  const opened = start === "" ? -1 : text.lastIndexOf(start);
  return opened >= 0 && ends.every((end) => text.lastIndexOf(end) < opened);
}

/** See RenderedPrompt.plan. */
export type AnswerPlanner = (content: JsonSchemaConstraint | undefined) => AnswerPlan | undefined;

/** Whether tools are offered and the template has no format for calls. */
export function lacksCalls({ calls, writes_calls: writes }: RenderInfo): boolean {
  return calls && !writes;
}

function contentSource({ schema, strict }: JsonSchemaConstraint): AnswerSource {
  const isObject = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  const whole = isObject ? (schema as AnswerSource["schema"]) : { allOf: [schema] };
  return { schema: whole, strict: strict !== false, at: "response_format" };
}

/** Rejects strict tools whose schemas the format cannot express. */
function checked(constraint: AnswerConstraint): AnswerConstraint {
  const { sources, unenforced } = constraint;
  const strict = sources.filter((source) => source.strict).map(({ at }) => at);
  const place = unenforced.find((one) => strict.some((at) => one === at || one.startsWith(`${at}/`)));
  if (place === undefined) return constraint;
  const message = `${place} cannot be enforced in the form in which this model writes tool calls; leave it out, or leave out strict`;
  throw new ServiceError("invalid_request", message, { param: "tools" });
}

/** What planners read of a model and a rendered prompt. */
export interface PlanSource {
  /** llama.cpp's parser of the answer, as JSON. */
  peg(): string;
  markup(): Markup;
  /** Plans of recent prompts of the template, by all that they are made from: with 1,000 tools one takes 100 ms, its key 3 ms. */
  readonly plans: Recent<AnswerPlan>;
}

/**
 * The planner of a prompt without tools: a schema applies where content begins, which may be after markup. `framed`: the answer is
 * messages with headers (gpt-oss), of which a wrong one would make all that follows text.
 */
export function contentPlanner(info: RenderInfo, source: PlanSource, framed: boolean): AnswerPlanner {
  const { parser, generation_prompt: prefix } = info;
  return (content) => {
    if (parser === 0 || (content === undefined && !framed)) return undefined;
    const peg = source.peg();
    if (content !== undefined && !framesContent(readPeg(peg), prefix)) return undefined;
    const rules = { tools: [], required: false, single: false, reasons: reasonsFirst(info) };
    const held = content === undefined ? rules : { ...rules, content: contentSource(content) };
    return planned("start", answerGrammar({ peg, prefix, markup: source.markup() }, held));
  };
}

function planned(from: AnswerPlan["from"], constraint: AnswerConstraint): AnswerPlan {
  return { from, constraint, certain: isCertain(constraint) };
}

function reasonsFirst({ thinks, thinking_start: start, generation_prompt: written }: RenderInfo): boolean {
  return thinks || (start !== "" && written.includes(start.trim()));
}

/** The planner of a prompt that offers tools. */
export function answerPlanner(
  prompt: ChatPrompt,
  info: RenderInfo,
  toolMarkers: readonly string[],
  source: PlanSource,
): AnswerPlanner {
  const { parser, generation_prompt: prefix } = info;
  const reasons = reasonsFirst(info);
  const rules = { tools: offeredTools(prompt), single: isSingleCall(prompt), reasons };
  const required = mustCall(prompt);
  const marked = info.grammar_triggers.length > 0 && toolMarkers.length > 0;
  const plan = (content: JsonSchemaConstraint | undefined): AnswerPlan => {
    const format = { peg: source.peg(), prefix, markup: source.markup() };
    if (required || content !== undefined || (info.has_grammar && !marked)) {
      const held = content === undefined ? {} : { content: contentSource(content) };
      return planned("start", checked(answerGrammar(format, { ...rules, required, ...held })));
    }
    return planned("call", checked(callGrammar(format, rules)));
  };
  return (content) => {
    const { tools, ...others } = rules;
    const key = JSON.stringify([parser, prefix, required, marked, info.has_grammar, others, content]);
    return source.plans.get(key + toolsText(tools), () => plan(content));
  };
}
