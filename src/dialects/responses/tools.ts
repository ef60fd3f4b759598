// Tools of this dialect: functions, namespaces of functions, and hosted (server-executed) tools.

import { type Static, Type } from "@sinclair/typebox";
import type { AgentRequest, SkillReference, ToolSearch, WebSearch } from "../../core/agent.ts";
import { unreachable } from "../../core/assert.ts";
import type { Compat, HostedTool as HostedToolName } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { TOOL_NAME_CHARS_MAX, TOOLS_MAX } from "../../core/limits.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { CodeInterpreterTool } from "../shared/agent.ts";
import { TOOL_SEARCH_NAME } from "./tool-search.ts";
import { isPresent, describeValue } from "../shared/check.ts";
import { customFunction, CustomTool } from "../shared/custom-tools.ts";
import { isOmitted, serveOrRefuse } from "../shared/compat.ts";
import { jsonObject } from "../shared/json-object.ts";
import {
  FlatTool,
  FUNCTION_TOOLS,
  functionOf,
  isFunction,
  type QualifiedName,
  replacedTools,
  type WireTool,
} from "../shared/tools.ts";
import { placeOf, placeProperties, webSearchOf, webSearchProperties } from "../shared/web-search.ts";

const WebSearchTool = Type.Object(
  {
    type: Type.Union([Type.Literal("web_search"), Type.Literal("web_search_preview")], {
      description: "Both mean the same.",
    }),
    ...webSearchProperties,
    user_location: orNull(
      Type.Object(
        { type: Type.Literal("approximate"), ...placeProperties },
        { $id: "HostedWebSearchUserLocation", description: "Place that searches are made for.", ...OPEN },
      ),
    ),
  },
  { $id: "HostedWebSearchTool", description: "Lets the model search the web.", ...OPEN },
);

const ShellSkill = Type.Object(
  {
    type: Type.Literal("skill_reference"),
    skill_id: Type.String({ description: "Id of an uploaded skill.", minLength: 1 }),
    version: orNull(
      Type.Union([Type.Integer({ minimum: 1 }), Type.String()], { description: "A number, or `latest`." }),
    ),
  },
  { $id: "HostedShellSkill", description: "An uploaded skill.", ...OPEN },
);

const ShellEnvironment = Type.Object(
  { type: Type.Literal("container_auto"), skills: orNull(Type.Array(ShellSkill, { maxItems: TOOLS_MAX })) },
  { $id: "HostedShellEnvironment", description: "Where commands run.", ...OPEN },
);

const ShellTool = Type.Object(
  { type: Type.Literal("shell"), environment: orNull(ShellEnvironment) },
  { $id: "HostedShellTool", description: "Lets the model run commands on the server.", ...OPEN },
);

const NamespaceTool = Type.Object(
  {
    type: Type.Literal("namespace"),
    name: Type.String({
      description: "Name of the namespace.",
      minLength: 1,
      maxLength: TOOL_NAME_CHARS_MAX,
    }),
    description: orNull(Type.String({ description: "Description of the functions as a group." })),
    tools: orNull(
      Type.Array(FlatTool, { maxItems: TOOLS_MAX, description: "Tools other than functions are ignored." }),
    ),
  },
  {
    $id: "HostedNamespaceTool",
    description: "Functions under a common name; calls of the functions have it as `namespace`.",
    ...OPEN,
  },
);

const ToolSearchTool = Type.Object(
  {
    type: Type.Literal("tool_search"),
    execution: orNull(
      Type.Union([Type.Literal("server"), Type.Literal("client")], {
        description: "`client`: the client searches, and answers with a `tool_search_output`.",
      }),
    ),
    description: orNull(Type.String({ description: "With `client`: what can be searched." })),
    parameters: orNull(jsonObject("With `client`: JSON Schema of the arguments of a search.")),
  },
  {
    $id: "HostedToolSearchTool",
    description: "Lets the model search for tools with `defer_loading`.",
    ...OPEN,
  },
);

const HostedTool = Type.Union(
  [
    ...FUNCTION_TOOLS,
    CustomTool,
    NamespaceTool,
    WebSearchTool,
    CodeInterpreterTool,
    ShellTool,
    ToolSearchTool,
  ],
  { $id: "HostedTool", description: "A function that the model may call, or a server-executed tool." },
);
export type HostedTool = Static<typeof HostedTool>;

export const toolsProperties = { tools: orNull(Type.Array(HostedTool, { maxItems: TOOLS_MAX })) };

/** A declared function. */
export interface DeclaredFunction {
  readonly tool: WireTool;
  readonly path: string;
  readonly qualified: QualifiedName;
}

/** The functions of a checked body, those in namespaces included. Throws `invalid_request` for too many. */
export function declaredFunctions(tools: readonly HostedTool[], compat: Compat): readonly DeclaredFunction[] {
  const functions = tools.flatMap((tool, index) =>
    functionsOf(tool.type === "custom" ? customFunction(tool, compat) : tool, `tools[${index}]`),
  );
  if (functions.length <= TOOLS_MAX) return functions;
  const message = `tools has ${functions.length} functions, those in namespaces included; at most ${TOOLS_MAX} are allowed`;
  throw new ServiceError("invalid_request", message, { param: "tools" });
}

function functionsOf(
  tool: Exclude<HostedTool, { type: "custom" }>,
  path: string,
): readonly DeclaredFunction[] {
  if (isFunction(tool)) return [{ tool, path, qualified: { name: functionOf(tool).name } }];
  if (tool.type === "tool_search")
    return tool.execution === "client"
      ? [{ tool: clientSearch(tool), path, qualified: { name: TOOL_SEARCH_NAME } }]
      : [];
  if (tool.type !== "namespace") return [];
  const { name: namespace, description } = tool;
  return (tool.tools ?? []).map((child, index) => ({
    // Models have no namespaces, so a namespace's description is prepended to that of its first function.
    tool: index === 0 && isPresent(description) ? described(child, description) : child,
    path: `${path}.tools[${index}]`,
    qualified: { name: child.name, namespace },
  }));
}

function described(tool: Static<typeof FlatTool>, text: string): Static<typeof FlatTool> {
  return { ...tool, description: isPresent(tool.description) ? `${text}\n\n${tool.description}` : text };
}

/** The agent fields of the hosted tools of a checked body. */
export function hostedToolsOf(
  tools: readonly HostedTool[],
  compat: Compat,
): Pick<AgentRequest, "python" | "shell" | "webSearch" | "fields" | "toolSearch"> {
  const fields: Partial<Record<HostedToolName, string>> = {};
  const searches: (WebSearch | undefined)[] = [];
  const shells: (readonly SkillReference[])[] = [];
  for (const [index, tool] of tools.entries()) {
    const name = hostedName(tool);
    if (name === undefined || isOmitted(compat, name)) continue;
    const path = `tools[${index}]`;
    fields[name] ??= path;
    if (isWebSearch(tool)) searches.push(searchOf(tool, path, compat));
    if (tool.type === "shell") shells.push(skillsOf(tool, index));
  }
  if (searches.length > 1) {
    const message = "tools has more than one web search; send only one";
    throw new ServiceError("contradictory_fields", message, { param: "tools" });
  }
  const [webSearch] = searches;
  return {
    ...(Object.keys(fields).length === 0 ? {} : { fields }),
    python: fields.code_execution !== undefined,
    ...(shells.length === 0 ? {} : { shell: { skills: shells.flat() } }),
    ...defined({ webSearch, toolSearch: toolSearchOf(tools) }),
  };
}

function toolSearchOf(tools: readonly HostedTool[]): ToolSearch | undefined {
  const search = tools.find((tool) => tool.type === "tool_search");
  if (search === undefined) return undefined;
  const client = search.execution === "client" ? { isClients: true as const } : {};
  return { name: TOOL_SEARCH_NAME, form: "words", ...client };
}

/** A search that the client executes, as a function for the model. */
function clientSearch(tool: Static<typeof ToolSearchTool>): WireTool {
  const { description, parameters } = tool;
  return {
    type: "function",
    name: TOOL_SEARCH_NAME,
    description: description ?? "Searches for tools that are not listed here.",
    parameters: parameters ?? SEARCH_PARAMETERS,
  };
}

const SEARCH_PARAMETERS = {
  type: "object",
  properties: { query: { type: "string" } },
  required: ["query"],
};

function hostedName(tool: HostedTool): HostedToolName | undefined {
  switch (tool.type) {
    case undefined:
    case "function":
    case "custom":
    case "namespace":
    case "tool_search":
      return undefined;
    case "code_interpreter":
      return "code_execution";
    case "shell":
      return "shell";
    case "web_search":
    case "web_search_preview":
      return "web_search";
    default:
      return unreachable(tool);
  }
}

/** Tool types that exist only in OpenAI's cloud or in its clients. */
const FOREIGN_TYPES = new Set<unknown>([
  "apply_patch",
  "computer",
  "computer_use_preview",
  "file_search",
  "image_generation",
  "local_shell",
  "mcp",
  "programmatic_tool_calling",
  "web_search_2025_08_26",
  "web_search_preview_2025_03_11",
]);

/**
 * The tools of a body without tools of foreign types, for the schema check. Strict mode refuses them; otherwise each is
 * replaced by an empty namespace, so that the paths of later tools stay valid. Inside a namespace the API accepts any
 * tool, so non-functions are dropped in both modes.
 */
export function withoutForeignTools(tools: unknown, compat: Compat): unknown {
  const kept = replacedTools(tools, LEFT_OUT, (tool, path) => isForeign(tool, path, compat));
  if (!Array.isArray(kept)) return kept;
  return kept.map((tool: unknown) => {
    if (!isObject(tool) || tool["type"] !== "namespace" || !Array.isArray(tool["tools"])) return tool;
    const children: readonly unknown[] = tool["tools"];
    return { ...tool, tools: children.filter((child) => isObject(child) && child["type"] === "function") };
  });
}

/** The tools of a body, and those that a search in its history has found and that it does not declare. */
export function withFoundTools(tools: unknown, input: unknown): unknown {
  if (!Array.isArray(input) || (isPresent(tools) && !Array.isArray(tools))) return tools;
  const declared: readonly unknown[] = Array.isArray(tools) ? tools : [];
  const seen = new Set(declared.map(nameOf));
  const found = input.flatMap((item): readonly unknown[] =>
    isObject(item) && item["type"] === "tool_search_output" && Array.isArray(item["tools"])
      ? item["tools"]
      : [],
  );
  const added = found.flatMap((tool) => {
    const isTool = isObject(tool) && (tool["type"] === "function" || tool["type"] === "namespace");
    if (!isTool || seen.has(nameOf(tool))) return [];
    seen.add(nameOf(tool));
    return [{ ...tool, defer_loading: true }];
  });
  return added.length === 0 ? tools : [...declared, ...added];
}

function nameOf(tool: unknown): string {
  if (!isObject(tool)) return "";
  const { type, name, function: nested } = tool;
  const own = isObject(nested) ? nested["name"] : name;
  return JSON.stringify([type === "namespace", own]);
}

const LEFT_OUT = { type: "namespace", name: "left_out" };

function isForeign(tool: Readonly<Record<string, unknown>>, path: string, compat: Compat): boolean {
  if (!FOREIGN_TYPES.has(tool["type"])) return false;
  const problem = `must be "function", "custom", "namespace", "web_search", "web_search_preview", "code_interpreter" or "shell"; got ${describeValue(tool["type"])}`;
  serveOrRefuse(compat, "hosted_tool", unsupported(`${path}.type`, problem));
  return true;
}

type WebSearchTool = Static<typeof WebSearchTool>;

function isWebSearch(tool: HostedTool): tool is WebSearchTool {
  return tool.type === "web_search" || tool.type === "web_search_preview";
}

function searchOf(tool: WebSearchTool, path: string, compat: Compat): WebSearch | undefined {
  const isPreview = tool.type === "web_search_preview";
  if (isPreview) refuseOfPreview(tool, path);
  const location = placeOf(tool.user_location ?? {});
  // The preview's `external_web_access` is ignored. Spec: Responses, Restrictions.
  const options = isPreview ? { ...tool, external_web_access: null } : tool;
  const search = webSearchOf(options, path, compat);
  return search && { ...search, ...defined({ location }) };
}

function refuseOfPreview(tool: WebSearchTool, path: string): void {
  const key = (["filters", "return_token_budget"] as const).find((name) => isPresent(tool[name]));
  if (key === undefined) return;
  const param = `${path}.${key}`;
  const message = `${param} is not supported with web_search_preview; use the tool "web_search"`;
  throw new ServiceError("unsupported_value", message, { param });
}

function skillsOf(tool: Static<typeof ShellTool>, index: number): readonly SkillReference[] {
  return (tool.environment?.skills ?? []).map(({ skill_id: skillId, version }, position) => {
    const path = `tools[${index}].environment.skills[${position}].version`;
    return { skillId, version: versionOf(version ?? "latest", path) };
  });
}

function versionOf(version: number | string, param: string): number | "latest" {
  if (typeof version === "number" || version === "latest") return version;
  if (/^[1-9][0-9]{0,8}$/.test(version)) return Number(version);
  const message = `${param} must be "latest" or an integer, at least 1; got ${describeValue(version)}`;
  throw new ServiceError("invalid_request", message, { param });
}

/**
 * Throws `unsupported_value` for shells that do not run on the server, and for fields of OpenAI's containers. Runs before
 * the schema check, whose error would be less specific.
 */
export function refuseForeignShells(tools: unknown): void {
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    if (!isObject(tool) || tool["type"] !== "shell" || !isObject(tool["environment"])) continue;
    refuseForeignShell(tool["environment"], `tools[${index}].environment`);
  }
}

function refuseForeignShell(environment: Readonly<Record<string, unknown>>, path: string): void {
  const { type, skills } = environment;
  if (type === "local" || type === "container_reference") {
    throw unsupported(`${path}.type`, `must be "container_auto"; ${describeValue(type)} is not supported`);
  }
  const key = ["file_ids", "memory_limit", "network_policy"].find((name) => isPresent(environment[name]));
  if (key !== undefined) throw unsupported(`${path}.${key}`, "is not supported; omit it");
  if (!Array.isArray(skills)) return;
  for (const [index, skill] of skills.entries()) {
    if (!isObject(skill) || skill["type"] === "skill_reference" || skill["type"] === undefined) continue;
    const problem = `must be "skill_reference" (an uploaded skill); got ${describeValue(skill["type"])}`;
    throw unsupported(`${path}.skills[${index}].type`, problem);
  }
}

const HOSTED_TYPES = new Set<unknown>(["code_interpreter", "shell", "web_search", "web_search_preview"]);

/** Throws `unsupported_value` for a tool choice that names hosted tools. Runs before the schema check. */
export function refuseHostedChoice(choice: unknown): void {
  if (!isObject(choice)) return;
  if (HOSTED_TYPES.has(choice["type"])) {
    throw unsupported("tool_choice.type", 'cannot be a server-executed tool; send "auto"');
  }
  const allowed = choice["tools"];
  if (choice["type"] !== "allowed_tools" || !Array.isArray(allowed)) return;
  const index = allowed.findIndex((tool) => isObject(tool) && HOSTED_TYPES.has(tool["type"]));
  if (index < 0) return;
  throw unsupported(
    `tool_choice.tools[${index}].type`,
    'must be "function"; server-executed tools cannot be filtered',
  );
}

function unsupported(param: string, problem: string): ServiceError {
  return new ServiceError("unsupported_value", `${param} ${problem}`, { param });
}
