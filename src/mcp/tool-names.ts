// Names of MCP tools for models. OpenAI's and Azure's interfaces refuse a whole request for one other name, and chat templates
// write names without quotes. Pure.

import { hash } from "node:crypto";
import type { ListedTool } from "./connection.ts";

/** What the strictest servers of models accept: letters, digits, _ and -, at most this many. */
const NAME_CHARS_MAX = 64;
const HASH_CHARS = 8;

/** Prefix of svc's built-in tools. */
const OWN_PREFIX = "svc_";

export interface ToolNames {
  readonly names: ReadonlyMap<ListedTool, string>;
  /** Tools that get no name, and why. */
  readonly faults: readonly string[];
}

/**
 * Names of a server's tools, `prefix_name`. Of its own tools with one cleaned name the later ones get a number; a name that
 * another server's tool has is not used again.
 */
export function toolNames(
  prefix: string | undefined,
  tools: readonly ListedTool[],
  taken: { has(name: string): boolean },
): ToolNames {
  const names = new Map<ListedTool, string>();
  const own = new Set<string>();
  const faults: string[] = [];
  // A name that needs no change goes to the tool that has it.
  const plainFirst = tools.toSorted((a, b) => Number(isChanged(prefix, a)) - Number(isChanged(prefix, b)));
  for (const tool of plainFirst) {
    const cleaned = cleanName(prefix, tool.name);
    const fault = faultOf(cleaned, taken);
    if (fault !== undefined) {
      faults.push(`tool ${wholeName(prefix, tool.name).slice(0, 100)} is ignored: ${fault}`);
      continue;
    }
    let name = cleaned;
    for (let n = 2; own.has(name) || taken.has(name); n++) name = numbered(cleaned, n);
    own.add(name);
    names.set(tool, name);
  }
  return { names: new Map(tools.flatMap((tool) => entryOf(names, tool))), faults };
}

function entryOf(
  names: ReadonlyMap<ListedTool, string>,
  tool: ListedTool,
): (readonly [ListedTool, string])[] {
  const name = names.get(tool);
  return name === undefined ? [] : [[tool, name]];
}

function isChanged(prefix: string | undefined, { name }: ListedTool): boolean {
  return cleanName(prefix, name) !== wholeName(prefix, name);
}

function wholeName(prefix: string | undefined, name: string): string {
  return prefix === undefined ? name : `${prefix}_${name}`;
}

/** The whole name in the strict alphabet; a long one keeps its beginning and gets a hash of the rest. */
function cleanName(prefix: string | undefined, name: string): string {
  const whole = wholeName(prefix, name);
  const cleaned = whole.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  if (cleaned.length <= NAME_CHARS_MAX) return cleaned;
  const digest = hash("sha256", whole).slice(0, HASH_CHARS);
  return `${cleaned.slice(0, NAME_CHARS_MAX - HASH_CHARS - 1)}_${digest}`;
}

function numbered(name: string, n: number): string {
  const suffix = `_${n}`;
  return name.slice(0, NAME_CHARS_MAX - suffix.length) + suffix;
}

function faultOf(name: string, taken: { has(name: string): boolean }): string | undefined {
  if (name.startsWith(OWN_PREFIX))
    return `the prefix ${OWN_PREFIX} is reserved for built-in tools; set tool_prefix`;
  return taken.has(name) ? "another server has a tool of this name; set tool_prefix" : undefined;
}
