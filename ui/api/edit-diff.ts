// Replacements of text, as tools that edit files take them in their arguments, as a diff for display. Pure.

import { t } from "../texts/texts.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Names of the old and the new text, of the file and of a list of replacements, in the tools of common MCP servers. */
const PAIRS = [
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["oldText", "newText"],
  ["old_text", "new_text"],
] as const;
const PATHS = ["path", "file_path", "filename", "file"] as const;
const LISTS = ["edits", "replacements"] as const;

/** The replacements in a tool's arguments, then its other arguments, so that nothing is hidden; undefined if there are none. */
export function diffOf(args: unknown): string | undefined {
  if (!isFields(args)) return undefined;
  const list = LISTS.find((name) => Array.isArray(args[name]));
  const edits = list === undefined ? [args] : (args[list] as readonly unknown[]);
  const hunks = edits.map((edit) => hunkOf(edit, list !== undefined));
  if (hunks.length === 0 || hunks.some((hunk) => hunk === undefined)) return undefined;
  const path = PATHS.find((name) => typeof args[name] === "string");
  const shown = new Set<string | undefined>([path, ...(list === undefined ? (pairOf(args) ?? []) : [list])]);
  const others = Object.fromEntries(Object.entries(args).filter(([name]) => !shown.has(name)));
  const rest = Object.keys(others).length === 0 ? [] : ["", JSON.stringify(others, null, 2)];
  const name = path === undefined ? t.files.theFile : JSON.stringify(args[path]).slice(1, -1); // on one line
  return [`--- ${name}`, `+++ ${name}`, ...hunks, ...rest].join("\n");
}

/** One replacement; undefined for anything else. One of a list has no other fields. */
function hunkOf(edit: unknown, isAlone: boolean): string | undefined {
  const pair = isFields(edit) ? pairOf(edit) : undefined;
  if (!isFields(edit) || pair === undefined) return undefined;
  if (isAlone && Object.keys(edit).length > pair.length) return undefined;
  const [before, after] = pair.map((name) => String(edit[name]));
  return ["@@", ...marked("-", before), ...marked("+", after)].join("\n");
}

function pairOf(edit: Fields) {
  return PAIRS.find(([before, after]) => typeof edit[before] === "string" && typeof edit[after] === "string");
}

function marked(mark: string, text = ""): readonly string[] {
  return text === "" ? [] : text.split("\n").map((line) => mark + line);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
