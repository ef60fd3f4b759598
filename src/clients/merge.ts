// Puts a client's entries into the text of its configuration file and takes them out again. What else the file holds stays,
// comments included. Knows no files.
//
// JSON is edited by jsonc-parser, which changes the text of a member only; YAML as a document of `yaml`, which keeps comments.
// TOML has no such editor: svc's tables stand between two comments at the end.

import { type Static, Type } from "@sinclair/typebox";
import {
  applyEdits,
  type FormattingOptions,
  modify,
  parse,
  type ParseError,
  stripComments,
} from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { parseDocument, type Tags } from "yaml";
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../core/json.ts";
import { reasonOf } from "../core/reason.ts";
import type { ClientFile, Entry } from "./client.ts";
import { fileText } from "./text.ts";

/** What an entry has replaced, so that it can come back. */
export const Replaced = Type.Object({
  path: Type.Array(Type.String()),
  /** What svc wrote. */
  wrote: Type.Unknown(),
  /** What was there; absent: nothing. */
  before: Type.Optional(Type.Unknown()),
});
export type Replaced = Readonly<Static<typeof Replaced>>;

interface Merged {
  readonly text: string;
  readonly replaced: readonly Replaced[];
}

const JSON_FORM: FormattingOptions = { insertSpaces: true, tabSize: 2 };
const TOML_BEGIN = "# svc launch: begin";
const TOML_END = "# svc launch: end";

/**
 * The text with the entries. `earlier`: what was replaced when svc wrote it before. Throws for a text that is not of its format, or
 * that already has a table of the same name.
 */
export function merged(file: ClientFile, text: string, earlier: readonly Replaced[]): Merged {
  if (file.format === "toml") return { text: withTables(file, text), replaced: [] };
  const present = read(file, text);
  const wanted = file.entries.filter(({ isForm }) => isForm !== true || present === undefined);
  const replaced = wanted.flatMap(({ path, value, isItem, isForm }) => {
    if (isForm === true) return [];
    const now = isItem === true ? itemOf(at(present, path), value) : at(present, path);
    const known = earlier.find((one) => isDeepStrictEqual(one.path, path));
    const before = known !== undefined && isDeepStrictEqual(known.wrote, now) ? known.before : now;
    return [{ path: [...path], wrote: value, ...(before === undefined ? {} : { before }) }];
  });
  const done = wanted.reduce((result, entry) => put(file, result, entry), text);
  return { text: done, replaced };
}

/** A text without svc's entries. */
interface Unmerged {
  readonly text: string;
  /** Nothing but the file's form is left, and no comment. */
  readonly isBare: boolean;
}

/** The text without the entries, with what they had replaced. */
export function unmerged(file: ClientFile, text: string, replaced: readonly Replaced[]): Unmerged {
  if (file.format === "toml") {
    const rest = withoutTables(text);
    return { text: rest, isBare: rest.trim() === "" };
  }
  const done = file.entries
    .filter(({ isForm }) => isForm !== true)
    .reduce((result, entry) => takeOut(file, result, entry, replaced), text);
  const left = read(file, done);
  const forms = new Set(file.entries.filter(({ isForm }) => isForm === true).map(({ path }) => path[0]));
  const others = Object.keys(left ?? {}).filter((name) => !forms.has(name));
  return { text: done, isBare: others.length === 0 && !hasComments(file, done) };
}

function hasComments({ format }: ClientFile, text: string): boolean {
  return format === "json" ? stripComments(text) !== text : /^\s*#/m.test(text);
}

function read({ format, names }: ClientFile, text: string): unknown {
  if (text.trim() === "") return undefined;
  if (format === "yaml") {
    const document = parseDocument(text);
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`${names[0]} is not YAML: ${problem.message.split("\n")[0]}`);
    return document.contents === null ? undefined : (document.toJS() as unknown); // null: comments alone
  }
  const problems: ParseError[] = [];
  const value: unknown = parse(text, problems, { allowTrailingComma: true });
  if (problems.length > 0)
    throw new Error(`${names[0]} is not JSON: offset ${problems[0]?.offset ?? 0} is not understood`);
  return value;
}

function at(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    tree,
  );
}

/** Whether members can be added to a value, or it is missing. */
function isTable(value: unknown): boolean {
  return value === undefined || isObject(value);
}

/** The item of a list that has the name of svc's. */
function itemOf(list: unknown, value: unknown): unknown {
  return Array.isArray(list) ? (list[itemIndex(list, value)] as unknown) : undefined;
}

/** Where svc's item is in a list, or would be. */
function itemIndex(list: unknown, value: unknown): number {
  if (!Array.isArray(list)) return 0;
  const name = at(value, ["name"]);
  const found = list.findIndex((item) => at(item, ["name"]) === name);
  return found < 0 ? list.length : found;
}

function put(file: ClientFile, text: string, { path, value, isItem }: Entry): string {
  const present = read(file, text);
  const list = isItem === true ? at(present, path) : undefined;
  const closed =
    present === undefined ? -1 : path.findIndex((_, depth) => !isTable(at(present, path.slice(0, depth))));
  if (closed >= 0) {
    const what =
      closed === 0
        ? `the whole of ${file.names[0]}`
        : `${path.slice(0, closed).join(".")} of ${file.names[0]}`;
    throw new Error(`${what} is no object that svc could add to`);
  }
  if (isItem === true && list !== undefined && list !== null && !Array.isArray(list))
    throw new Error(`${path.length === 0 ? "the whole" : path.join(".")} of ${file.names[0]} is not a list`);
  if (isItem !== true) return withValue(file, text, path, value);
  return Array.isArray(list)
    ? withValue(file, text, [...path, itemIndex(list, value)], value)
    : withValue(file, text, path, [value]);
}

/** Tags by which numbers stay as they are written: 012 or 12345678901234567890, written again, is another one. */
function numbersAsWritten(tags: Tags): Tags {
  return tags.map((tag): Tags[number] => {
    if (typeof tag !== "object" || tag.collection !== undefined || !/:(?:int|float)$/.test(tag.tag))
      return tag;
    const write = tag.stringify?.bind(tag);
    return { ...tag, stringify: (node, ...rest) => node.source ?? write?.(node, ...rest) ?? "" };
  });
}

/** The text with a value at a path; without one, where it is undefined. */
function withValue(
  { format }: ClientFile,
  text: string,
  path: readonly (string | number)[],
  value: unknown,
): string {
  if (format === "yaml") {
    const document = parseDocument(text, { customTags: numbersAsWritten });
    if (value === undefined) document.deleteIn(path);
    else if (path.length === 0) document.contents = document.createNode(value) as typeof document.contents;
    else document.setIn(path, document.createNode(value));
    return document.toString({ lineWidth: 0, indentSeq: !/^( *)[^\s#-].*:\n\1- /m.test(text) });
  }
  const edits = modify(text, [...path], value, { formattingOptions: JSON_FORM });
  const result = applyEdits(text, edits);
  return result.endsWith("\n") ? result : `${result}\n`;
}

function takeOut(
  file: ClientFile,
  text: string,
  { path, value, isItem }: Entry,
  replaced: readonly Replaced[],
): string {
  const present = read(file, text);
  const known = replaced.find((one) => isDeepStrictEqual(one.path, path));
  if (isItem === true) {
    const list = at(present, path);
    const index = itemIndex(list, value);
    if (!Array.isArray(list) || index === list.length) return text;
    return pruned(file, withValue(file, text, [...path, index], known?.before), path);
  }
  const now = at(present, path);
  const isOwn = path.at(-1) === "svc" || (known !== undefined && isDeepStrictEqual(known.wrote, now));
  if (now === undefined || !isOwn) return text; // the user has changed it since
  return pruned(file, withValue(file, text, path, known?.before), path.slice(0, -1));
}

/** Without the objects and lists on a path that are empty now. */
function pruned(file: ClientFile, text: string, path: readonly string[]): string {
  const value = at(read(file, text), path);
  const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
  if (!isEmpty || path.length === 0) return text;
  return pruned(file, withValue(file, text, path, undefined), path.slice(0, -1));
}

function withTables(file: ClientFile, text: string): string {
  const others = withoutTables(text);
  const own = `${TOML_BEGIN}\n${fileText(file)}${TOML_END}\n`;
  const result = others.trim() === "" ? own : `${others.trimEnd()}\n\n${own}`;
  const present = tomlOf(file, others);
  try {
    parseToml(result);
  } catch (error) {
    const taken = file.entries.filter(({ path }) => at(present, path) !== undefined);
    const names = taken.map(({ path }) => path.join(".")).join(", ");
    const what =
      names === ""
        ? "holds a table between braces, to which nothing can be added; write it in brackets"
        : `has ${names} already; rename or delete that table`;
    throw new Error(`${file.names[0]} ${what}`, { cause: error });
  }
  return result;
}

function tomlOf(file: ClientFile, text: string): unknown {
  try {
    return parseToml(text);
  } catch (error) {
    throw new Error(`${file.names[0]} is not TOML: ${reasonOf(error).split("\n")[0]}`, { cause: error });
  }
}

function withoutTables(text: string): string {
  const from = text.search(new RegExp(`^${TOML_BEGIN}\\r?$`, "m"));
  const to = text.indexOf(TOML_END, from);
  if (from < 0 || to < 0) return text;
  const before = text.slice(0, from).trimEnd();
  const after = text.slice(to + TOML_END.length).replace(/^\r?\n/, "");
  return `${before === "" ? "" : `${before}\n`}${after}`;
}
