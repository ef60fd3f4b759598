// Names the fields of a body that its schema does not know: they are accepted at every depth, and none is dropped in silence.

import { KindGuard, type Static, type TObject, type TSchema } from "@sinclair/typebox";
import { type Compat, STRICT } from "../../core/compat.ts";
import { isObject } from "../../core/json.ts";
import { checker, isPresent } from "./check.ts";
import { OPAQUE } from "./foreign.ts";

/** Fields that are named of one request; a client that sends more learns of these. */
const NAMED_MAX = 16;

/** What servers write into items of an answer for themselves, also this one; in a history it means nothing to the model. */
const WRITERS: ReadonlySet<string> = new Set([...OPAQUE, "annotations", "encrypted_content", "logprobs"]);

/** `checker` for the body of a request: notes the fields that have no meaning here, such as `messages.thoughts`. */
export function bodyChecker<T extends TSchema>(schema: T): (body: unknown, compat?: Compat) => Static<T> {
  const check = checker(schema);
  return (body, compat = STRICT) => {
    const checked = check(body);
    const found = new Set<string>();
    if (compat !== STRICT) collect(schema, body, "", found);
    for (const path of found) compat.note("unknown_field", path);
    return checked;
  };
}

function collect(schema: TSchema, value: unknown, path: string, found: Set<string>): void {
  if (found.size >= NAMED_MAX) return;
  if (KindGuard.IsUnion(schema)) return collectUnion(schema.anyOf, value, path, found);
  if (KindGuard.IsArray(schema)) {
    if (Array.isArray(value)) for (const item of value) collect(schema.items, item, path, found);
    return;
  }
  if (!KindGuard.IsObject(schema) || !isObject(value)) return;
  if (typeof schema.additionalProperties === "object") return; // all of it is read
  for (const [name, field] of Object.entries(value)) {
    if (!isPresent(field) || isEmpty(field)) continue;
    if (path !== "" && WRITERS.has(name)) continue;
    const at = path === "" ? name : `${path}.${name}`;
    const known = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (known !== undefined) collect(known, field, at, found);
    else if (found.size < NAMED_MAX) found.add(at);
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** A value is of the members whose literals it has; what one of them knows is known. */
function collectUnion(members: readonly TSchema[], value: unknown, path: string, found: Set<string>): void {
  const fitting = members.filter((member) => fits(member, value));
  const unknown = fitting.map((member) => {
    const own = new Set<string>();
    collect(member, value, path, own);
    return own;
  });
  const [first, ...others] = unknown;
  for (const name of first ?? []) if (others.every((other) => other.has(name))) found.add(name);
}

function fits(schema: TSchema, value: unknown): boolean {
  if (KindGuard.IsUnion(schema)) return schema.anyOf.some((member) => fits(member, value));
  if (KindGuard.IsArray(schema)) return Array.isArray(value);
  if (!KindGuard.IsObject(schema)) return !isObject(value) && !Array.isArray(value);
  return (
    isObject(value) && hasLiterals(schema, value) && (schema.required ?? []).every((name) => name in value)
  );
}

function hasLiterals({ properties }: TObject, value: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(properties).every(([name, property]) => {
    const allowed = literalsOf(property);
    return allowed.length === 0 || !isPresent(value[name]) || allowed.includes(value[name]);
  });
}

/** The literals that a property must be one of; none where it may be something else. */
function literalsOf(schema: TSchema): readonly unknown[] {
  if (KindGuard.IsLiteral(schema)) return [schema.const];
  if (!KindGuard.IsUnion(schema)) return [];
  const all = schema.anyOf.map(literalsOf);
  return all.every((one) => one.length > 0) ? all.flat() : [];
}
