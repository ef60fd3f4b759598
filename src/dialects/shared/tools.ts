// Function tools and `tool_choice`: wire schemas and conversion to core types. The nested and the flat form are
// equivalent. Hosted tools have been handled before.

import { type Static, Type } from "@sinclair/typebox";
import { unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { TOOL_NAME_CHARS_MAX, TOOLS_MAX } from "../../core/limits.ts";
import type { ToolSpec } from "../../core/message.ts";
import type { ToolChoice as CoreToolChoice } from "../../core/run.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { isPresent, describeValue } from "./check.ts";
import { jsonObject } from "./json-object.ts";
import { describedBy, exampleProperties } from "./tool-examples.ts";
import { checkToolSchema } from "./tool-schemas.ts";

/** Property of tools that the model finds on demand. */
export const deferProperties = {
  defer_loading: orNull(
    Type.Boolean({
      description: "Leave the tool out of the prompt: the model finds it with a search of the server.",
    }),
  ),
};

const functionProperties = {
  name: Type.String({ description: "Name of the function.", minLength: 1, maxLength: TOOL_NAME_CHARS_MAX }),
  description: orNull(Type.String({ description: "What the function does and when to call it." })),
  parameters: orNull(
    jsonObject("JSON Schema of the arguments, of type `object`. Absent means no arguments."),
  ),
  strict: orNull(Type.Boolean({ description: "Constrain generated arguments to `parameters`." })),
  ...deferProperties,
  ...exampleProperties,
};
const FunctionTool = Type.Object(functionProperties, {
  $id: "Function",
  description: "A function of the client.",
  ...OPEN,
});

const FUNCTION = Type.Literal("function");
/** Of a tool, whose clients leave it out; `withToolTypes` adds it. */
const TOOL_TYPE = Type.Optional(FUNCTION);
/** Distinguishes the flat form from the nested one: the field of the nested form must be absent. */
const NOT_NESTED = Type.Optional(Type.Null({ description: "Absent in this form." }));

const Tool = Type.Object(
  { type: TOOL_TYPE, function: FunctionTool, ...deferProperties },
  { $id: "Tool", description: "A function that the model may call.", ...OPEN },
);
export const FlatTool = Type.Object(
  { type: TOOL_TYPE, ...functionProperties, function: NOT_NESTED },
  { $id: "FlatTool", description: "The flat form of `Tool`.", ...OPEN },
);

const Name = Type.String({ description: "Name of a declared function." });
const NestedName = Type.Object(
  {
    type: FUNCTION,
    function: Type.Object({ name: Name }, { description: "The function to call.", ...OPEN }),
  },
  { $id: "NestedFunctionToolChoice", description: "The model must call this function.", ...OPEN },
);
const FlatName = Type.Object(
  {
    type: FUNCTION,
    name: Name,
    namespace: orNull(Type.String({ description: "Responses only: the namespace of the function." })),
    function: NOT_NESTED,
  },
  { $id: "NamedFunctionToolChoice", description: "The flat form of the same.", ...OPEN },
);

const AllowedToolChoice = Type.Union([NestedName, FlatName], {
  $id: "AllowedToolChoice",
  description: "A declared function.",
});
const allowedProperties = {
  mode: Type.Union([Type.Literal("auto"), Type.Literal("required")], {
    description: "`required` forces a call of one of them.",
  }),
  tools: Type.Array(AllowedToolChoice, { minItems: 1, maxItems: TOOLS_MAX }),
};
const ALLOWED_TOOLS = Type.Literal("allowed_tools");
const FlatAllowed = Type.Object(
  { type: ALLOWED_TOOLS, ...allowedProperties, allowed_tools: NOT_NESTED },
  { $id: "AllowedToolsToolChoice", description: "Only some of the declared functions.", ...OPEN },
);
const NestedAllowed = Type.Object(
  {
    type: ALLOWED_TOOLS,
    allowed_tools: Type.Object(allowedProperties, {
      description: "The functions, and whether one must be called.",
      ...OPEN,
    }),
  },
  { $id: "NestedAllowedToolsToolChoice", description: "Only some of the declared functions.", ...OPEN },
);

const ToolChoice = Type.Union(
  [
    Type.Literal("none"),
    Type.Literal("auto"),
    Type.Literal("required"),
    NestedName,
    FlatName,
    FlatAllowed,
    NestedAllowed,
  ],
  {
    $id: "ToolChoice",
    description:
      "Whether the model may or must call a function, and which. Default: `auto` if tools are declared.",
  },
);
type ToolChoice = Static<typeof ToolChoice>;

/** The two forms of a function tool. */
export const FUNCTION_TOOLS = [Tool, FlatTool] as const;
const FunctionToolForm = Type.Union([...FUNCTION_TOOLS]);
export type WireTool = Static<typeof FunctionToolForm>;

/** Properties to spread into a dialect's request schema; the dialect adds `tools`. */
export const toolChoiceProperties = { tool_choice: orNull(ToolChoice) };

/** A function tool of a body. */
export interface SentTool {
  readonly tool: WireTool;
  /** Path in the body: `tools[3]`. */
  readonly path: string;
  /** The name that the model sees. */
  readonly name: string;
}

/** The name of a function in a request body. */
export interface QualifiedName {
  readonly name: string;
  readonly namespace?: string | null | undefined;
}

/** Maps a function's name in the body to the name that the model sees. */
export type ModelName = (qualified: QualifiedName) => string;

export interface ToolUse {
  readonly tools: readonly ToolSpec[];
  readonly choice: CoreToolChoice;
}

/** Tools with the type that clients leave out of functions. Runs before the schema check. */
export function withToolTypes(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools;
  return tools.map((tool: unknown) => {
    const isUntyped =
      isObject(tool) && !isPresent(tool["type"]) && (isObject(tool["function"]) || "name" in tool);
    return isUntyped ? { ...tool, type: "function" } : tool;
  });
}

/** The tools of a body with another in place of foreign ones, so that the paths of later ones stay valid. */
export function replacedTools(
  tools: unknown,
  leftOut: object,
  isForeign: (tool: Readonly<Record<string, unknown>>, path: string) => boolean,
): unknown {
  if (!Array.isArray(tools)) return tools;
  return tools.map((tool: unknown, index) =>
    isObject(tool) && isForeign(tool, `tools[${index}]`) ? leftOut : tool,
  );
}

/** The function tools of a checked body, for dialects whose function names the model sees unchanged. */
export function sentTools(
  tools: readonly (WireTool | { readonly type: string })[] | null | undefined,
): readonly SentTool[] {
  return (tools ?? []).flatMap((tool, index) =>
    isFunction(tool) ? [{ tool, path: `tools[${index}]`, name: functionOf(tool).name }] : [],
  );
}

export function isFunction(tool: WireTool | { readonly type: string }): tool is WireTool {
  return tool.type === "function";
}

/** The properties of a function, in either form. */
export function functionOf(tool: WireTool) {
  return tool.function ?? tool;
}

/**
 * Function specifications and tool choice of a body. With `none`, tools are dropped. `required` is accepted without
 * declared tools, because it may refer to tools of the server. Throws `invalid_request` for duplicate names, parameters
 * that are not an object schema, and a choice of an undeclared tool.
 */
export function toolUseOf(
  sent: readonly SentTool[],
  wanted: ToolChoice | null | undefined,
  modelName: ModelName = ({ name }) => name,
): ToolUse {
  refuseDuplicates(sent);
  const tools = sent.map(toolSpec);
  const choice = wanted ?? "auto";
  if (choice === "none") return { tools: [], choice: { type: "none" } };
  if (choice === "auto") return { tools, choice: { type: "auto" } }; // also applies to the server's tools
  if (choice === "required") return { tools, choice: { type: "required" } };
  if (tools.length > 0) return { tools, choice: named(choice, tools, modelName) };
  throw invalid(`tool_choice names a tool, and tools declares no function; ${DECLARE}`, "tool_choice");
}

function toolSpec(sent: SentTool): ToolSpec {
  const {
    description,
    parameters,
    strict,
    defer_loading: deferred,
    input_examples: examples,
  } = functionOf(sent.tool);
  return {
    name: sent.name,
    ...describedBy(description, examples),
    parameters: objectSchema(parameters ?? {}, `${functionPath(sent)}.parameters`),
    strict: strict ?? false,
    ...deferredOf(deferred ?? sent.tool.defer_loading),
  };
}

/** The field of a tool that is left out of the prompt. */
export function deferredOf(isDeferred: boolean | null | undefined): Pick<ToolSpec, "deferred"> {
  return isDeferred === true ? { deferred: true } : {};
}

/** Path of a function's properties in the body. */
function functionPath({ tool, path }: SentTool): string {
  return isPresent(tool.function) ? `${path}.function` : path;
}

/**
 * The schema of a tool's arguments; `path` is its path in the body. Chat templates read `type` and `properties`, so an
 * empty schema is given both. Throws `invalid_request` for a schema whose type is not "object", that is too large, or
 * that has an unresolvable reference.
 */
export function objectSchema(
  schema: Readonly<Record<string, unknown>>,
  path: string,
): Readonly<Record<string, unknown>> {
  checkToolSchema(schema, path);
  if (Object.keys(schema).length === 0) return { type: "object", properties: {} };
  const type = schema["type"] ?? "object";
  if (type === "object") return { ...schema, type };
  const message = `${path}.type must be "object", because arguments are a JSON object; got ${describeValue(type)}`;
  throw invalid(message, `${path}.type`);
}

function refuseDuplicates(tools: readonly SentTool[]): void {
  const seen = new Set<string>();
  for (const sent of tools) {
    const param = `${functionPath(sent)}.name`;
    if (seen.has(sent.name)) {
      throw invalid(
        `${param} ${describeValue(functionOf(sent.tool).name)} is the name of an earlier tool`,
        param,
      );
    }
    seen.add(sent.name);
  }
}

/** A choice names functions of the request. */
const DECLARE =
  'declare the function there, or use "required" for tools of the server, which cannot be named';

/** Resolves a tool choice in object form. */
function named(
  choice: Exclude<ToolChoice, string>,
  tools: readonly ToolSpec[],
  modelName: ModelName,
): CoreToolChoice {
  const declaredName = (one: NamedTool, path: string) => declared(one, path, { tools, modelName });
  switch (choice.type) {
    case "function":
      return { type: "named", names: [declaredName(choice, "tool_choice")], required: true, once: true };
    case "allowed_tools": {
      const { mode, tools: allowed } = choice.allowed_tools ?? choice;
      const path = isPresent(choice.allowed_tools) ? "tool_choice.allowed_tools.tools" : "tool_choice.tools";
      const names = allowed.map((one, index) => declaredName(one, `${path}[${index}]`));
      return { type: "named", names: [...new Set(names)], required: mode === "required" };
    }
    default:
      return unreachable(choice);
  }
}

type NamedTool = Static<typeof AllowedToolChoice>;

interface Declared {
  readonly tools: readonly ToolSpec[];
  readonly modelName: ModelName;
}

/** The model-visible name of the chosen tool; throws if no such tool is declared. */
function declared(choice: NamedTool, path: string, { tools, modelName }: Declared): string {
  const qualified: QualifiedName = choice.function ?? choice;
  const { name } = qualified;
  const seen = modelName(qualified);
  if (tools.some((tool) => tool.name === seen)) return seen;
  const param = isPresent(choice.function) ? `${path}.function.name` : `${path}.name`;
  throw invalid(`${param} ${describeValue(name)} is not declared in tools; ${DECLARE}`, param);
}

function invalid(message: string, param: string): ServiceError {
  return new ServiceError("invalid_request", message, { param });
}
