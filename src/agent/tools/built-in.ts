// Base of the built-in tools: arguments validated by a TypeBox schema, and length limits of descriptions and results.
// Up to 4,096 tokens of context each tool has one line and one argument: with full descriptions the built-in model made the right call
// in 2 of 16 requests, with one-line ones in 13.

import type { Static, TObject } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { RequestedFile, ToolProgress } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { BRIEF_CONTEXT_TOKENS, TOOL_TEXT_CHARS_MAX } from "../limits.ts";
import type { LeftOut, OutputFile, Renewal } from "../../exec/types.ts";
import type { CallContext, ServerTool, ToolAction, ToolRequest, ToolOutcome } from "../tool.ts";

export interface BuiltIn<T extends TObject> {
  readonly name: string;
  readonly description: string;
  readonly parameters: T;
  readonly action: Omit<ToolAction, "source">;
  readonly makesFiles?: true;
  readonly folderOf?: readonly string[];
  readonly isIndependent?: true;
  readonly isHelper?: true;
  /** `args` is undefined if invalid. */
  calling(args: Static<T> | undefined, text: string): ToolProgress;
  run(args: Static<T>, context: CallContext, signal: AbortSignal): Promise<ToolOutcome>;
}

/** A tool whose arguments a grammar constrains during generation and a schema validates before the call. */
export function builtIn<T extends TObject>(tool: BuiltIn<T>): ServerTool {
  const { name, description, parameters, action, makesFiles, folderOf, isIndependent, isHelper } = tool;
  const isValid = (args: unknown): args is Static<T> => Value.Check(parameters, args);
  return {
    spec: { name, description, parameters: JSON.parse(JSON.stringify(parameters)), strict: true },
    action: { source: "built_in", ...action },
    ...defined({ makesFiles, folderOf, isIndependent, isHelper }),
    calling: (args) => tool.calling(isValid(args) ? args : undefined, asText(args)),
    fault: (args) =>
      typeof args === "string" ? "the arguments are not valid JSON" : faultOf(parameters, args),
    // The loop calls `fault` first, so the arguments are valid.
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

/** Argument with the files that a call must produce. */
export const Outputs = Type.Array(OutputArgument, {
  description: "Files that this call produces: paths relative to the working directory.",
});

/** Files that a call must report: those named by the model and those still missing from the answer. */
export function outputsOf(
  named: Static<typeof Outputs> | undefined,
  required: readonly RequestedFile[],
): readonly OutputFile[] {
  const outputs = named ?? [];
  const missing = required.filter(({ name }) => !outputs.some((output) => output.name === name));
  return [...outputs, ...missing.map(({ name, format }) => ({ name, ...defined({ format }) }))];
}

/** Whether the model's context is too small for full descriptions. */
export function isBrief({ contextTokens }: ToolRequest): boolean {
  return contextTokens !== undefined && contextTokens <= BRIEF_CONTEXT_TOKENS;
}

/** Characters of one text of a result: about a quarter of the model's context. */
export function textCharsMax({ contextTokens = TOOL_TEXT_CHARS_MAX }: ToolRequest): number {
  return Math.min(TOOL_TEXT_CHARS_MAX, contextTokens);
}

/** Paragraph on the files that the request requires; "" if none. */
export function requiredFiles({ agent }: ToolRequest): string {
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

/** Session and files of a call, for the executors. */
export function placeOf({ sessionId, client, isBrief, earlier, inputs }: CallContext) {
  return { sessionId, client, isBrief, earlier, inputs };
}

/** One sentence for a model that counts on what earlier calls left; undefined where nothing was lost. */
export function renewalNote(
  what: "interpreter" | "folder",
  { ranBefore }: Pick<CallContext, "ranBefore">,
  renewal: Renewal | undefined,
): string | undefined {
  if (renewal === undefined || !ranBefore) return undefined;
  const { restored } = renewal;
  if (restored === undefined)
    return "This is a new interpreter: variables and imports of earlier calls are gone; the files are still there.";
  const lost =
    what === "interpreter"
      ? "This is a new interpreter in a new working directory: variables and imports of earlier calls are gone"
      : "This is a new working directory: background processes of earlier calls are gone";
  const names = restored.slice(0, NAMES_TOLD_MAX).join(", ");
  const more = restored.length > NAMES_TOLD_MAX ? ` and ${restored.length - NAMES_TOLD_MAX} more` : "";
  const files =
    restored.length === 0 ? "there are no earlier files" : `earlier files put back: ${names}${more}`;
  return `${lost}; ${files}.`;
}

/** What a call left behind that is not stored: fields of its event, and sentences for the model. */
export function leftOutOf({ filesLeftOut = 0, folders = [] }: LeftOut) {
  const names = folders.slice(0, NAMES_TOLD_MAX);
  return {
    fields: {
      ...(filesLeftOut === 0 ? {} : { files_not_stored: filesLeftOut }),
      ...(folders.length === 0 ? {} : { folders_not_stored: names }),
    },
    notes: [
      ...(filesLeftOut === 0
        ? []
        : [
            `${filesLeftOut} more files were not stored; name those that the user needs in outputs, or pack them.`,
          ]),
      ...(folders.length === 0
        ? []
        : [
            `Files in these folders were not stored: ${names.join(", ")}${folders.length > names.length ? ", …" : ""}.`,
          ]),
    ],
  };
}

/** Names of files in one sentence. */
const NAMES_TOLD_MAX = 20;
