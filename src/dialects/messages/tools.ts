// Tools and tool choice of a body: client-executed (custom) and server-executed (hosted) tools.

import type { AgentRequest, SkillReference as CoreSkill, ToolSearch, WebSearch } from "../../core/agent.ts";
import type { Compat } from "../../core/compat.ts";
import { describedBy } from "../shared/tool-examples.ts";
import { unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { ToolSpec } from "../../core/message.ts";
import type { ToolChoice } from "../../core/run.ts";
import { agentOf } from "../shared/agent.ts";
import { isPresent, describeValue } from "../shared/check.ts";
import { isOmitted, serveOrRefuse } from "../shared/compat.ts";
import { deferredOf, objectSchema } from "../shared/tools.ts";
import { placeOf, webSearchOf, webSearchOptionsOf } from "../shared/web-search.ts";
import type { MessagesRequest, SkillReference, Tool } from "./schema.ts";

export interface ToolUse {
  readonly tools: readonly ToolSpec[];
  readonly choice: ToolChoice;
  readonly agent: AgentRequest;
}

/** A tool, its path in the body, and its kind. */
interface SentTool {
  readonly tool: Tool;
  readonly path: string;
  readonly kind: Kind;
}

/**
 * Client tools, tool choice and agent request of a checked body. `tool_choice` `none` disables all tools. Throws for
 * unknown tool types, duplicate names, a choice of an undeclared tool, and a second web search.
 */
export function toolUseOf(body: MessagesRequest, interactive: boolean, compat: Compat): ToolUse {
  const sent = (body.tools ?? [])
    .map((tool, index) => classified(tool, `tools[${index}]`, compat))
    .filter((one) => one !== undefined);
  const custom = sent.filter(({ kind }) => kind === "custom");
  const tools = custom.map(toolSpec);
  refuseDuplicates(custom); // all have names, as toolSpec checks
  const agent = { ...agentOf(body, interactive), ...hostedOf(body, sent, compat) };
  const choice = choiceOf(body, tools);
  if (body.tool_choice?.type !== "none") return { tools, choice, agent };
  return { tools: [], choice, agent: { ...agentOf(body, interactive), maxToolRounds: 0 } };
}

type Kind = "custom" | "web_search" | "code_execution" | "tool_search_tool";

/** The tool and its kind; undefined for a tool that `--compat clients` omits. */
function classified(tool: Tool, path: string, compat: Compat): SentTool | undefined {
  const kind = kindOf(tool);
  if (kind === undefined) {
    const param = `${path}.type`;
    const message = `${param} must be "custom", "web_search_…", "code_execution_…", "tool_search_tool_bm25_…" or "tool_search_tool_regex_…"; got ${describeValue(tool.type)}`;
    serveOrRefuse(compat, "hosted_tool", new ServiceError("unsupported_value", message, { param }));
    return undefined;
  }
  const isHosted = kind === "web_search" || kind === "code_execution";
  return isHosted && isOmitted(compat, kind) ? undefined : { tool, path, kind };
}

const TOOL_SEARCH = /^tool_search_tool_(?:bm25|regex)(?:_|$)/;

/** The kind of a tool; undefined for an unknown type. The date in the type of hosted tools is ignored. */
function kindOf({ type, name, input_schema }: Tool): Kind | undefined {
  if (!isPresent(type)) {
    return name === "code_execution" && !isPresent(input_schema) ? "code_execution" : "custom";
  }
  if (type === "custom") return "custom";
  if (TOOL_SEARCH.test(type)) return "tool_search_tool";
  return (["web_search", "code_execution"] as const).find((kind) => type.startsWith(`${kind}_`));
}

function toolSpec({ tool, path }: SentTool): ToolSpec {
  const { name, description, input_schema, strict, defer_loading: deferred, input_examples: examples } = tool;
  if (!isPresent(name)) {
    throw new ServiceError("missing_field", `${path}.name is required`, { param: `${path}.name` });
  }
  return {
    name,
    ...describedBy(description, examples),
    parameters: objectSchema(input_schema ?? {}, `${path}.input_schema`),
    strict: strict ?? false,
    ...deferredOf(deferred),
  };
}

function refuseDuplicates(custom: readonly SentTool[]): void {
  const seen = new Set<Tool["name"]>();
  for (const { tool, path } of custom) {
    const { name } = tool;
    if (seen.has(name))
      throw invalid(`${path}.name ${describeValue(name)} is the name of an earlier tool`, `${path}.name`);
    seen.add(name);
  }
}

/** The hosted tools of the agent request. */
function hostedOf(
  body: MessagesRequest,
  sent: readonly SentTool[],
  compat: Compat,
): Pick<AgentRequest, "python" | "webSearch" | "shell" | "fields" | "toolSearch"> {
  const webSearch = searchOf(body, sent, compat);
  refuseContainer(body);
  const skills = body.container?.skills ?? [];
  const pathOf = (kind: Kind) => sent.find((one) => one.kind === kind)?.path;
  const python = pathOf("code_execution");
  const search = pathOf("web_search");
  const fields = {
    ...defined({ code_execution: python, web_search: search }),
  };
  return {
    ...(Object.keys(fields).length === 0 ? {} : { fields }),
    python: python !== undefined || body.enable_code_execution === true,
    ...defined({ webSearch, toolSearch: toolSearchOf(sent) }),
    ...(skills.length === 0 ? {} : { shell: { skills: skills.map(skillOf) } }),
  };
}

/** The first search for tools; a second one would find the same. */
function toolSearchOf(sent: readonly SentTool[]): ToolSearch | undefined {
  const search = sent.find(({ kind }) => kind === "tool_search_tool")?.tool;
  if (search === undefined) return undefined;
  const isRegex = search.type?.startsWith("tool_search_tool_regex") === true;
  const form = isRegex ? "regex" : "words";
  return { name: search.name ?? `tool_search_tool_${isRegex ? "regex" : "bm25"}`, form };
}

/** Refuses container ids, which exist only in Anthropic's cloud; svc's containers belong to sessions. */
function refuseContainer({ container }: MessagesRequest): void {
  if (!isPresent(container?.id)) return;
  const param = "container.id";
  throw new ServiceError(
    "unsupported_value",
    `${param} is not supported; send session_id to continue a session`,
    {
      param,
    },
  );
}

function searchOf(body: MessagesRequest, sent: readonly SentTool[], compat: Compat): WebSearch | undefined {
  const [first, second] = sent.filter(({ kind }) => kind === "web_search");
  const options = webSearchOptionsOf(body.web_search_options, compat);
  const other = options === undefined ? second?.path : "web_search_options";
  if (first === undefined) return options;
  if (other === undefined) return hostedSearch(first, compat);
  const message = `${other} and ${first.path} both configure web search; send only one of them`;
  throw new ServiceError("contradictory_fields", message, { param: other });
}

function hostedSearch({ tool, path }: SentTool, compat: Compat): WebSearch | undefined {
  const { allowed_domains, blocked_domains, max_uses, user_location } = tool;
  const filters = { allowed_domains: allowed_domains ?? null, blocked_domains: blocked_domains ?? null };
  const location = placeOf(user_location ?? {});
  const search = webSearchOf({ filters }, path, compat);
  return (
    search && {
      ...search,
      ...defined({ location }),
      ...(isPresent(max_uses) ? { usesMax: max_uses } : {}),
    }
  );
}

/** A version with few enough digits to be an exact number. */
const VERSION = /^[1-9]\d{0,14}$/;

function skillOf({ skill_id: skillId, version }: SkillReference, index: number): CoreSkill {
  const text = String(version ?? "latest");
  if (text === "latest") return { skillId, version: "latest" };
  if (VERSION.test(text)) return { skillId, version: Number(text) };
  const param = `container.skills[${index}].version`;
  throw invalid(`${param} must be "latest" or an integer, at least 1; got ${describeValue(version)}`, param);
}

function choiceOf(body: MessagesRequest, tools: readonly ToolSpec[]): ToolChoice {
  const { type, name } = body.tool_choice ?? { type: "auto" };
  switch (type) {
    case "none":
      return { type: "none" };
    case "auto":
      return { type: "auto" }; // also applies to the server's tools
    case "any":
      return { type: "required" }; // likewise
    case "tool":
      return { type: "named", names: [declared(name, tools)], required: true, once: true };
    default:
      return unreachable(type);
  }
}

function declared(name: string | null | undefined, tools: readonly ToolSpec[]): string {
  const param = "tool_choice.name";
  if (!isPresent(name)) {
    throw new ServiceError("missing_field", `${param} is required with type "tool"`, { param });
  }
  if (tools.some((tool) => tool.name === name)) return name;
  throw invalid(`${param} ${describeValue(name)} is not the name of a client-executed tool in tools`, param);
}

function invalid(message: string, param: string): ServiceError {
  return new ServiceError("invalid_request", message, { param });
}
