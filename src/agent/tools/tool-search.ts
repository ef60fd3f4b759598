// The search for tools that the prompt does not show: by words of their names and descriptions (BM25), or by a regular expression, which
// RE2 runs in linear time.

import { Type } from "@sinclair/typebox";
import { RE2JS } from "re2js";
import type { FoundTool, ToolSearch } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import type { ToolSpec } from "../../core/message.ts";
import { shorten } from "../../core/shorten.ts";
import { rankPassages } from "../../reader/ranking.ts";
import { TOOL_GROUPS_MAX, TOOL_SEARCH_PATTERN_CHARS, TOOLS_FOUND_MAX } from "../limits.ts";
import { type ServerTool, ToolFailure } from "../tool.ts";
import { builtIn } from "./built-in.ts";

/** Characters of a tool's text that are searched. */
const SEARCHED_CHARS = 4_000;

export interface ToolSearchTool extends ServerTool {
  /** Arguments of a search that finds these tools. */
  argumentsFor(names: readonly string[]): Readonly<Record<string, string>>;
}

export interface ToolSearchOptions extends Pick<ToolSearch, "form"> {
  readonly name: string;
  /** Tools to be found. */
  readonly tools: readonly ToolSpec[];
  readonly onFound?: (found: number) => void;
}

const CLOSED = { additionalProperties: false } as const;
const Words = Type.Object(
  { query: Type.String({ description: "What the tool should do, in a few words, or its name." }) },
  CLOSED,
);
const Pattern = Type.Object(
  {
    pattern: Type.String({
      description: "Regular expression for names and descriptions, such as (?i)weather|forecast.",
      maxLength: TOOL_SEARCH_PATTERN_CHARS,
    }),
  },
  CLOSED,
);

/** The server's search for tools. */
export function searchTool({ name, form, tools, onFound }: ToolSearchOptions): ToolSearchTool {
  const description = descriptionOf(tools);
  const common = {
    name,
    description,
    action: {
      kind: "custom",
      label: "Search for tools",
      reach: { files: "none", network: "none" },
      isHarmless: true,
    },
    isIndependent: true,
    calling: (_args: unknown, text: string) => ({ tool_type: "custom" as const, arguments: text }),
  } as const;
  const answer = (found: readonly ToolSpec[]) => {
    const best = found.slice(0, TOOLS_FOUND_MAX);
    onFound?.(best.length);
    const text = best.length === 0 ? nothingFound(tools) : foundText(best);
    const content = best.map((tool) => tool.name).join(", ");
    const data = { tool_type: "custom" as const, content, tools: best.map(foundTool) };
    return Promise.resolve({ text, data });
  };
  if (form === "regex") {
    const tool = builtIn({
      ...common,
      parameters: Pattern,
      run: ({ pattern }) => answer(matching(pattern, tools)),
    });
    return { ...tool, argumentsFor: (names) => ({ pattern: names.join("|") }) };
  }
  const tool = builtIn({ ...common, parameters: Words, run: ({ query }) => answer(ranked(query, tools)) });
  return { ...tool, argumentsFor: (names) => ({ query: names.join(" ") }) };
}

/** Stays the same while the tools do, since it stands at the beginning of the prompt. */
function descriptionOf(tools: readonly ToolSpec[]): string {
  const groups = [...new Set(tools.map(({ name }) => groupOf(name)))];
  const more = groups.length > TOOL_GROUPS_MAX ? ", …" : "";
  return `Searches ${tools.length} more tools that are not listed here and returns their definitions; then call them like any other tool. Search before you say that you cannot do something. They begin with: ${groups.slice(0, TOOL_GROUPS_MAX).join(", ")}${more}.`;
}

/** The beginning of a name, which tools of one server share. */
function groupOf(name: string): string {
  const [first = name] = /^[^_.-]*/.exec(name) ?? [];
  return first === "" ? name : first;
}

function searchedText({ description = "", parameters }: ToolSpec): string {
  const properties = parameters["properties"];
  const names =
    typeof properties === "object" && properties !== null ? Object.keys(properties).join(" ") : "";
  return shorten(`${description}\n${names}`, SEARCHED_CHARS);
}

/** Words within a name: readFile, read_file. */
function wordsOf(name: string): string {
  return `${name} ${name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")}`;
}

function ranked(query: string, tools: readonly ToolSpec[]): readonly ToolSpec[] {
  const named = tools.filter(({ name }) => query.split(/[\s,]+/).includes(name));
  const hits = tools.map((tool) => ({
    title: wordsOf(tool.name),
    url: "",
    description: "",
    text: `${wordsOf(tool.name)}. ${searchedText(tool)}`,
  }));
  const found = rankPassages(query, hits, { hasOthers: false }).flatMap(({ hit }) => tools[hit] ?? []);
  return [...new Set([...named, ...found])];
}

function matching(pattern: string, tools: readonly ToolSpec[]): readonly ToolSpec[] {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ToolFailure(`pattern is no regular expression: ${reason}`, { cause: error });
  }
  return tools.filter((tool) => compiled.matcher(`${tool.name}\n${searchedText(tool)}`).find());
}

function foundTool({ name, description, parameters }: ToolSpec): FoundTool {
  return { name, ...defined({ description }), parameters };
}

/** The definition of a found tool, for the model. */
export function definitionText(tool: ToolSpec): string {
  return JSON.stringify(foundTool(tool));
}

function foundText(found: readonly ToolSpec[]): string {
  return ["Found these tools; you can call them now:", ...found.map(definitionText)].join("\n");
}

function nothingFound(tools: readonly ToolSpec[]): string {
  const names = tools.slice(0, TOOL_GROUPS_MAX).map(({ name }) => name);
  return `No tool has these words. Search with other words; some names are: ${names.join(", ")}.`;
}
