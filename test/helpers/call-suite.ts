// What calls of every chat template have to keep to, whatever a model writes: rows of the template and format suite.
// The built-in model lends its vocabulary.

import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import { LlamaTemplates } from "../../ffi/llama/chat.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { ToolSpec } from "../../src/core/message.ts";
import type { ChatPrompt, Prompt } from "../../src/core/run.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { RenderedPrompt } from "../../src/worker/text/backend.ts";
import type { Constraint } from "../../src/core/constraint.ts";
import { validator } from "./ajv.ts";
import { walkAnswer } from "./answer-walk.ts";
import { compile, randomBelow, type TestVocabulary } from "./grammar.ts";
import { native } from "./native.ts";
import { parseInPieces } from "./parse-output.ts";

/** How calls are asked for; "format": not at all, the content has to follow a schema. */
export const CALL_ROWS = ["auto", "required", "named", "strict", "single", "schema", "format"] as const;
export type CallRow = (typeof CALL_ROWS)[number];

/** "" if all is well; "cut": the random answer did not come to an end; else what is wrong. */
export type Verdict = string;

/** What a suite needs of the machine. */
export interface SuiteTools {
  readonly backend: LlamaBackend;
  readonly grammars: GrammarEngine;
  readonly vocabulary: TestVocabulary;
}

const ANSWER_SCHEMA = {
  type: "object",
  properties: { answer: { type: "string", maxLength: 20 }, sure: { type: "boolean" } },
  required: ["answer", "sure"],
  additionalProperties: false,
};

/** One chat template. */
export class TemplateUnderTest {
  private readonly tools: SuiteTools;
  private readonly templates: LlamaTemplates;

  constructor(tools: SuiteTools, source: string) {
    this.tools = tools;
    const { backend } = tools;
    const options = { vocabulary: backend.vocabulary, contextTokens: 4096, source, media: undefined };
    this.templates = new LlamaTemplates(native(), backend.modelHandle, options);
  }

  close(): void {
    this.templates.close();
  }

  private render(tools: readonly ToolSpec[], row: CallRow): RenderedPrompt {
    const names = [tools[0]?.name ?? ""];
    const prompt: ChatPrompt = {
      type: "chat",
      messages: [{ role: "user", content: [{ type: "text", text: "How is it outside?" }] }],
      tools: row === "strict" ? tools.map((tool) => ({ ...tool, strict: true })) : tools,
      toolChoice:
        row === "named"
          ? { type: "named", names, required: true }
          : { type: ["auto", "schema", "format"].includes(row) ? "auto" : "required" },
      singleCall: row === "single",
      thinking: { enabled: false },
    };
    const pending = this.templates.render(prompt satisfies Prompt);
    for (;;) {
      const rendered = pending.take(1000);
      if (rendered !== undefined) return rendered;
    }
  }

  /** A random answer, and what is wrong with it. Strict rows leave a tool out that the format cannot hold to its schema. */
  verdict(offered: readonly ToolSpec[], row: CallRow, seed: number): Verdict {
    const tools = row === "format" ? [] : offered;
    let prompt: RenderedPrompt;
    try {
      prompt = this.render(tools, row);
    } catch (error) {
      return error instanceof ServiceError ? `refused: ${error.message}` : String(error);
    }
    try {
      return this.judged(prompt, tools, row, seed);
    } catch (error) {
      if (error instanceof ServiceError && row === "strict") return `refused: ${error.message}`;
      return `thrown: ${String(error)}`;
    } finally {
      prompt.free();
    }
  }

  private judged(prompt: RenderedPrompt, tools: readonly ToolSpec[], row: CallRow, seed: number): Verdict {
    const { grammars, vocabulary } = this.tools;
    const content: Extract<Constraint, { type: "json_schema" }> = {
      type: "json_schema",
      schema: ANSWER_SCHEMA,
    };
    const plan = prompt.plan(row === "schema" || row === "format" ? content : undefined);
    // Content is all that follows the reasoning: the engine holds it to the schema from there on.
    if (plan === undefined) return row === "format" ? "" : "no plan";
    const matcher = compile(grammars, plan.constraint);
    const left = new Set(
      [...plan.constraint.unenforced, ...matcher.unenforced].map((at) => at.split("/")[0]),
    );
    const walked = walkAnswer(matcher, vocabulary, randomBelow(seed));
    if (walked === undefined) return "cut";
    const text = withoutStop(walked, prompt.format.stops);
    const [close = ""] = prompt.format.thinkingEnds;
    const raw = plan.from !== "start" && prompt.format.startsInReasoning ? `${close}${text}` : text;
    const { text: said, calls } = parseInPieces(prompt, raw, 5).answer;
    if ((row === "schema" || row === "format") && calls.length === 0) {
      const wrong = isJson(said) ? validator("", ANSWER_SCHEMA)(JSON.parse(said)) : "no JSON";
      return wrong === "" ? "" : `content ${said}: ${wrong}`;
    }
    if (calls.length === 0) return plan.from === "start" && row === "auto" ? "" : `no call: ${raw}`;
    if (row === "single" && calls.length > 1) return `${calls.length} calls: ${raw}`;
    for (const { name, args } of calls) {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined || (row === "named" && tool !== tools[0])) return `calls ${name}: ${raw}`;
      if (!isJson(args)) return `arguments ${args}: ${raw}`;
      const wrong = left.has(`tools.${name}`) ? "" : validator("", tool.parameters)(JSON.parse(args));
      if (wrong !== "") return `${args}: ${wrong}`;
    }
    return "";
  }
}

/** The engine ends a complete answer at a stop string and leaves it out. */
function withoutStop(text: string, stops: readonly string[]): string {
  const stop = stops.find((one) => text.endsWith(one));
  return stop === undefined ? text : text.slice(0, -stop.length);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
