// Texts of a connection, for people: its part of the configuration file, and the lines of a shell that start the client.

import { isObject } from "../core/json.ts";
import type { Client, ClientFile, Connection, Entry } from "./client.ts";

/** The file as it is where it has nothing else. */
export function fileText({ format, entries }: Pick<ClientFile, "format" | "entries">): string {
  const tree = treeOf(entries);
  switch (format) {
    case "json":
      return `${JSON.stringify(tree, null, 2)}\n`;
    case "yaml":
      return `${yamlLines(tree).join("\n")}\n`;
    case "toml":
      return tomlText(tree as Tree, []);
  }
}

/** Lines for a shell: variables, and the command. */
export function startText({ programs }: Client, { variables, args }: Connection): string {
  const exported = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}`);
  return [...exported, [programs[0], ...args.map(shellWord)].join(" "), ""].join("\n");
}

type Tree = Readonly<Record<string, unknown>>;

function treeOf(entries: readonly Entry[]): unknown {
  return entries.reduce<unknown>(
    (tree, { path, value, isItem }) => withMember(tree, path, isItem === true ? [value] : value),
    undefined,
  );
}

function withMember(tree: unknown, [name, ...deeper]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  const members = isObject(tree) ? tree : {};
  return { ...members, [name]: withMember(members[name], deeper, value) };
}

/** Strings of JSON are valid in YAML and TOML. Words that YAML reads as nothing else stay bare. */
function yamlScalar(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(yamlScalar).join(", ")}]`;
  const isWord = typeof value === "string" && /^[a-z][\w./:-]*[\w/]$/i.test(value);
  return isWord && !/^(?:true|false|null|yes|no|on|off)$/i.test(value) ? value : JSON.stringify(value);
}

function yamlLines(value: unknown): readonly string[] {
  if (!isObject(value)) return [yamlScalar(value)];
  return Object.entries(value).flatMap(([name, member]) => {
    if (isObject(member)) return [`${name}:`, ...yamlLines(member).map((line) => `  ${line}`)];
    if (!Array.isArray(member) || !member.some(isObject)) return [`${name}: ${yamlScalar(member)}`];
    const items = member.flatMap((item) => {
      const [first = "", ...others] = yamlLines(item);
      return [`  - ${first}`, ...others.map((line) => `    ${line}`)];
    });
    return [`${name}:`, ...items];
  });
}

/** Tables of TOML: members that are values first, as its form requires. */
function tomlText(tree: Tree, path: readonly string[]): string {
  const members = Object.entries(tree);
  const values = members.filter(([, value]) => !isObject(value));
  const tables = members.flatMap(([name, value]) =>
    isObject(value) ? [tomlText(value, [...path, name])] : [],
  );
  const head = path.length === 0 || values.length === 0 ? "" : `[${path.join(".")}]\n`;
  const own = values.map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`).join("");
  return [`${head}${own}`, ...tables].filter((text) => text !== "").join("\n");
}

/** A word as a shell reads it back. */
function shellWord(text: string): string {
  return /^[\w./:=@%+,~-]*$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
