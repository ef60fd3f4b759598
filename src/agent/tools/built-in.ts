// What the built-in tools have in common: arguments held against a TypeBox schema, and how much a model is told.

import type { Static, TObject } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { RequestedFile, ToolProgress } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { BRIEF_CONTEXT_TOKENS, TOOL_TEXT_CHARS_MAX } from "../limits.ts";
import type { OutputFile } from "../../exec/types.ts";
import type { CallContext, ServerTool, ToolAction, ToolAsk, ToolOutcome } from "../tool.ts";

export interface BuiltIn<T extends TObject> {
  readonly name: string;
  readonly description: string;
  readonly parameters: T;
  readonly action: Omit<ToolAction, "source">;
  readonly makesFiles?: true;
  readonly isHelper?: true;
  /** `args` is undefined where they have a fault. */
  calling(args: Static<T> | undefined, text: string): ToolProgress;
  run(args: Static<T>, context: CallContext, signal: AbortSignal): Promise<ToolOutcome>;
}

/** A tool whose arguments are checked, by grammar while they are generated and by schema before it runs. */
export function builtIn<T extends TObject>(tool: BuiltIn<T>): ServerTool {
  const { name, description, parameters, action, makesFiles, isHelper } = tool;
  const holds = (args: unknown): args is Static<T> => Value.Check(parameters, args);
  return {
    spec: { name, description, parameters: JSON.parse(JSON.stringify(parameters)), strict: true },
    action: { source: "built_in", ...action },
    ...defined({ makesFiles, isHelper }),
    calling: (args) => tool.calling(holds(args) ? args : undefined, asText(args)),
    fault: (args) =>
      typeof args === "string" ? "the arguments are not valid JSON" : faultOf(parameters, args),
    // The loop runs nothing with a fault, so the arguments hold.
    run: (args, context, signal) => tool.run(args as Static<T>, context, signal),
  };
}

function faultOf(schema: TObject, args: unknown): string | undefined {
  const first = Value.Errors(schema, args).First();
  if (first === undefined) return undefined;
  const where = first.path === "" ? "the arguments" : `argument ${first.path.slice(1).replaceAll("/", ".")}`;
  return `${where}: ${first.message}`;
}

function asText(args: unknown): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

const CLOSED = { additionalProperties: false } as const;

export const NO_ARGUMENTS = Type.Object({}, CLOSED);

const OutputArgument = Type.Object({ name: Type.String(), format: Type.Optional(Type.String()) }, CLOSED);

/** The argument by which the model names files that a call is to leave behind. */
export const Outputs = Type.Array(OutputArgument, {
  description: "Files that this call makes: paths relative to the working directory.",
});

/** The files that a call must report: those the model named and those the answer still lacks. */
export function outputsOf(
  named: Static<typeof Outputs> | undefined,
  required: readonly RequestedFile[],
): readonly OutputFile[] {
  const outputs = named ?? [];
  const missing = required.filter(({ name }) => !outputs.some((output) => output.name === name));
  return [...outputs, ...missing.map(({ name, format }) => ({ name, ...defined({ format }) }))];
}

/** Short descriptions are for models whose context a full one would use up. */
export function isBrief({ contextTokens }: ToolAsk): boolean {
  return contextTokens !== undefined && contextTokens <= BRIEF_CONTEXT_TOKENS;
}

/** Characters that one text of a result may have for the model: about a quarter of its context. */
export function textCharsMax({ contextTokens = TOOL_TEXT_CHARS_MAX }: ToolAsk): number {
  return Math.min(TOOL_TEXT_CHARS_MAX, contextTokens);
}

/** The paragraph on files that the request asks for; "" where it asks for none. */
export function requiredFiles({ agent }: ToolAsk): string {
  if (agent.files.length === 0) return "";
  const lines = agent.files.map(({ name, format, description }) => {
    const kind = format === undefined ? "" : ` (${format})`;
    return `- ${name}${kind}${description === undefined ? "" : `: ${description}`}`;
  });
  return [
    "\nThe user expects these files. Write each into the working directory under exactly this name, and name it in outputs:",
    ...lines,
  ].join("\n");
}
