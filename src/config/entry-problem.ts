// What is wrong with an entry of a list, in words: which one, which of its fields, and what it may be. Values are not repeated, since
// some are secrets.

import { KindGuard, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { isObject } from "../core/json.ts";
import { nearest } from "./nearest.ts";

/** The first faulty entry: its place below the list's path (`[1].rpm`), what is wrong, and a fix where one is known. */
export interface EntryProblem {
  readonly place: string;
  /** Absent: the entry as a whole does not have the form. */
  readonly what?: string;
  readonly fix?: string;
}

/** Undefined where the list itself is at fault, not an entry. */
export function entryProblem(schema: TSchema, value: readonly unknown[]): EntryProblem | undefined {
  if (!KindGuard.IsArray(schema)) return undefined;
  const index = value.findIndex((entry) => !Value.Check(schema.items, entry));
  if (index < 0) return undefined;
  const entry = value[index];
  const form = formOf(schema.items, entry);
  const fault = Value.Errors(form, entry).First();
  const place = `[${index}]`;
  if (fault === undefined || fault.path === "") return { place };
  const path = fault.path.slice(1).split("/");
  const [field = ""] = path;
  const known = KindGuard.IsObject(form) ? Object.keys(form.properties) : [];
  if (path.length === 1 && !known.includes(field))
    return { place: `${place}.${field}`, ...unknownKey(field, known) };
  const at = path.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join("");
  const isMissing = fault.value === undefined;
  const fix = isMissing ? "Add it." : "Correct it, or leave it out.";
  return { place: `${place}${at}`, what: isMissing ? "missing" : wordsOf(fault.message), fix };
}

function unknownKey(field: string, known: readonly string[]): Omit<EntryProblem, "place"> {
  const meant = nearest(field, known);
  const fix = meant === undefined ? `Known keys here: ${known.join(", ")}.` : `Did you mean ${meant}?`;
  return { what: "unknown key", fix };
}

function wordsOf(message: string): string {
  const words = message.charAt(0).toLowerCase() + message.slice(1);
  return `does not fit: ${words.replace(/string to match '.*'/, "another form of text").replaceAll("string", "text")}`;
}

/** Of several forms of an entry (a table, or a short text) the one that was meant. */
function formOf(items: TSchema, entry: unknown): TSchema {
  if (!KindGuard.IsUnion(items)) return items;
  return items.anyOf.find((form) => KindGuard.IsObject(form) === isObject(entry)) ?? items;
}
