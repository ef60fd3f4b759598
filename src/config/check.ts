// Judges raw values: each by its row of the table, then all together by the start-up rules. Returns every problem, not
// the first. Touches no file; what needs the disk is in resolve.ts.

import { Value } from "@sinclair/typebox/value";
import { isObject } from "../core/json.ts";
import { entryProblem } from "./entry-problem.ts";
import { ownKeyOf } from "./foreign-names.ts";
import { nearest } from "./nearest.ts";
import type { Problem } from "./problem.ts";
import { checkTogether } from "./rules.ts";
import type { RawValue } from "./sources.ts";
import { header, join, rowAt, ROWS, sectionAt, SECTIONS, usableValues, type Row } from "./table.ts";

/** All problems of a merged configuration; none means that it can be completed into Settings. */
export function check(values: readonly RawValue[]): readonly Problem[] {
  const problems: Problem[] = [];
  const sound: RawValue[] = [];
  for (const value of values) {
    const problem = checkValue(value);
    if (problem === undefined) sound.push(value);
    else problems.push(problem);
  }
  // A value that is wrong in itself would only cause a second complaint.
  return [...problems, ...checkTogether(sound)];
}

/** The value as the program uses it: another spelling of a word is replaced by the word. */
export function normalize(row: Row, value: unknown): unknown {
  return typeof value === "string" ? (row.valueAliases[value] ?? value) : value;
}

/** Accepted values of the row, to be read after "is not": `an integer from 1 to 256`. */
function expected(row: Row): string {
  switch (row.type) {
    case "integer":
      return `an integer${range(row)}`;
    case "number":
      return `a number${range(row)}`;
    case "boolean":
      return "true or false";
    case "choice":
      return `one of ${usableValues(row).join(", ")}`;
    case "list":
      return "a list";
    case "text":
      return row.form ?? "a nonempty text";
  }
}

function checkValue({ path, value, origin }: RawValue): Problem | undefined {
  const problem = (what: string, fix: string): Problem => ({ origin, key: path, what, fix });
  const row = rowAt(path);
  if (row === undefined) {
    const unfit = checkSection(path, value);
    return unfit === undefined ? undefined : problem(unfit.what, unfit.fix);
  }
  if (row.status === "never") return problem("this setting is refused", row.description);
  const given = normalize(row, value);
  if (row.status === "later" && !Value.Equal(given, row.defaultValue)) {
    return problem("not available in this version", "Leave it out.");
  }
  if (typeof given === "string" && row.laterValues.includes(given)) {
    return problem(`"${given}" is not available in this version`, `Use ${usableValues(row).join(" or ")}.`);
  }
  if (hasNul(value)) return problem("this holds a NUL character", "Remove it.");
  if (Value.Check(row.schema, given)) return undefined;
  const shown = row.secretAfter !== undefined ? "this" : print(value);
  const entry = Array.isArray(value) ? entryProblem(row.schema, value) : undefined;
  if (entry !== undefined) {
    const { place, what = `${shown} has an invalid entry`, fix = remedy(row, given) } = entry;
    return { origin, key: `${path}${place}`, what, fix };
  }
  return problem(`${shown} is not ${expected(row)}`, remedy(row, given));
}

/** Ends texts for the system, which would then read another one. */
function hasNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\0");
  return typeof value === "object" && value !== null && Object.values(value).some(hasNul);
}

/** Keys that were settings once. */
const REMOVED: ReadonlyMap<string, Pick<Problem, "what" | "fix">> = new Map([
  [
    "models[].upstreams[].dialect",
    {
      what: "svc asks upstreams by chat completions alone",
      fix: "Remove it. In front of a service that has only Messages or Responses, put a gateway that translates, such as LiteLLM.",
    },
  ],
]);

/** For a path that is not a setting: undefined where it is a section and holds one. */
function checkSection(path: string, value: unknown): Pick<Problem, "what" | "fix"> | undefined {
  if (path === "models") {
    const fix = "Write [[models]] and a model_id, or leave it out for the built-in model.";
    return { what: Array.isArray(value) ? "the list of models is empty" : "this is a list of models", fix };
  }
  const section = sectionAt(path);
  if (section === undefined)
    return (
      REMOVED.get(path.replaceAll(/\[\d+\]/g, "[]")) ?? {
        what: "unknown key",
        fix: isTables(value) ? suggestTable(path) : suggest(path),
      }
    );
  if (isObject(value)) return undefined;
  return { what: "this is a section, not a value", fix: `Write ${header(section)} on a line of its own.` };
}

/** A table of the file, or a list of them. */
function isTables(value: unknown): boolean {
  return isObject(value) || (Array.isArray(value) && value.length > 0 && value.every(isObject));
}

/** Names the section that was probably meant. */
function suggestTable(path: string): string {
  const headers = new Map(SECTIONS.map((section) => [section.path.replaceAll("[]", ""), header(section)]));
  const word = path.replaceAll(/\[\d*\]/g, "");
  const meant = nearest(word, [...headers.keys()]);
  if (meant !== undefined) {
    const name = meant.slice(meant.lastIndexOf(".") + 1);
    return `Did you mean ${name}? Write ${headers.get(meant) ?? meant}.`;
  }
  const elsewhere = ROWS.find(({ key }) => key === word);
  return elsewhere === undefined ? `Known tables: ${[...headers.values()].join(", ")}.` : suggest(path);
}

function remedy(row: Row, value: unknown): string {
  const word = typeof value === "string" ? nearest(value, row.values) : undefined;
  if (word !== undefined) return `Did you mean "${word}"?`;
  if (row.defaultValue === undefined) return `Give a value like ${print(row.example)}, or remove it.`;
  return `Leave it out for the default, ${print(row.defaultValue)}.`;
}

/** Names the known key that was probably meant: one spelled alike in the same place, or the same one elsewhere. */
function suggest(path: string): string {
  const dot = path.lastIndexOf(".");
  const parent = path.slice(0, Math.max(dot, 0));
  const key = path.slice(dot + 1);
  const parentPath = parent.replaceAll(/\[\d+\]/g, "[]");
  const siblings = ROWS.filter((row) => row.section === parentPath);
  const here = siblings.flatMap((row) => [row.key, ...row.aliases]);
  for (const { path: inner } of SECTIONS) {
    const name = inner.slice(inner.lastIndexOf(".") + 1).replace("[]", "");
    if (join(parentPath, name) === inner.replace(/\[\]$/, "")) here.push(name);
  }
  const everywhere = ROWS.filter((row) => row.section !== parentPath);
  const own = ownKeyOf(key);
  if (own !== undefined && here.includes(own)) return `svc calls it ${own}.`;
  const other = everywhere.find((row) => row.key === own);
  if (other !== undefined) return `svc calls it ${other.key}; it ${place(other)}.`;
  const meant = nearest(key, here) ?? here.find((name) => name.startsWith(`${key}_`));
  if (meant !== undefined) return `Did you mean ${meant}?`;

  const elsewhere = everywhere.find((row) => row.key === key || row.aliases.includes(key));
  if (elsewhere?.status === "never") return elsewhere.description;
  if (elsewhere !== undefined) return `${key} ${place(elsewhere)}.`;
  const alike = nearest(
    key,
    everywhere.map((row) => row.key),
  );
  const found = everywhere.find((row) => row.key === alike);
  if (found !== undefined) return `Did you mean ${found.key}? It ${place(found)}.`;
  return `Known keys here: ${here.join(", ")}.`;
}

function place(row: Row): string {
  const section = sectionAt(row.section);
  return section === undefined ? "belongs at the top of the file" : `belongs in ${header(section)}`;
}

function range(row: Row): string {
  const { minimum, exclusiveMinimum, maximum } = row.schema;
  const isBounded = typeof maximum === "number";
  if (typeof exclusiveMinimum === "number") {
    return ` above ${exclusiveMinimum}${isBounded ? ` and up to ${maximum}` : ""}`;
  }
  if (typeof minimum !== "number") return "";
  return isBounded ? ` from ${minimum} to ${maximum}` : ` of at least ${minimum}`;
}

/** A value as it would stand in the file. */
function print(value: unknown): string {
  if (isObject(value)) return "a table";
  if (typeof value === "number") return String(value); // also inf and nan, which JSON has no words for
  return JSON.stringify(value) ?? String(value);
}
