// Validates a value against its TypeBox schema. On failure it names the field at fault and the accepted values. TypeBox
// decides validity; only the messages are written here, because TypeBox's own do not name the real field of a union.
// Knows no dialect.

import {
  KindGuard,
  type Static,
  type TArray,
  type TLiteral,
  type TObject,
  type TRecord,
  type TSchema,
  type TUnion,
} from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { brief } from "../../core/shorten.ts";

/**
 * A function that returns its argument typed by the schema, or throws a ServiceError naming the field at fault. `path`
 * is the value's path in the body; "" is the body itself.
 */
export function checker<T extends TSchema>(schema: T, path = ""): (value: unknown) => Static<T> {
  let compiled: TypeCheck<T> | undefined;
  return (value) => {
    compiled ??= TypeCompiler.Compile(schema); // on first use, to keep start-up fast
    if (compiled.Check(value)) return value;
    throw (
      explain(schema, value, path) ??
      fault("invalid_request", path, "does not match the schema of this endpoint")
    );
  };
}

/** Appends a property to a field path: `messages[2]` and `content` give `messages[2].content`. */
function fieldPath(parent: string, key: string): string {
  return parent === "" ? key : `${parent}.${key}`;
}

type FaultCode = "invalid_request" | "missing_field" | "unsupported_value";

function fault(code: FaultCode, path: string, problem: string): ServiceError {
  const subject = path === "" ? "the request body" : path;
  return new ServiceError(code, `${subject} ${problem}`, path === "" ? {} : { param: path });
}

/** First fault of a value, outermost first; undefined if the value is valid. */
function explain(schema: TSchema, value: unknown, path: string): ServiceError | undefined {
  if (KindGuard.IsUnion(schema)) return explainUnion(schema, value, path);
  if (KindGuard.IsObject(schema)) return explainObject(schema, value, path);
  if (KindGuard.IsRecord(schema)) return explainRecord(schema, value, path);
  if (KindGuard.IsArray(schema)) return explainArray(schema, value, path);
  if (KindGuard.IsString(schema)) {
    if (typeof value !== "string") return wrongType("a string", value, path);
    const bounds = { min: schema.minLength, max: schema.maxLength };
    return explainSize(value.length, "characters", bounds, path) ?? explainForm(schema, value, path);
  }
  if (KindGuard.IsInteger(schema) || KindGuard.IsNumber(schema)) return explainNumber(schema, value, path);
  if (KindGuard.IsBoolean(schema)) {
    return typeof value === "boolean" ? undefined : wrongType("true or false", value, path);
  }
  if (KindGuard.IsLiteral(schema))
    return value === schema.const ? undefined : notOneOf([schema.const], value, path);
  return undefined;
}

/** A string of a form; the description of its schema names the form in messages. */
function explainForm(
  { pattern, description }: TSchema,
  value: string,
  path: string,
): ServiceError | undefined {
  if (typeof pattern !== "string" || new RegExp(pattern).test(value)) return undefined;
  return fault("invalid_request", path, `must be ${description}; got ${describeValue(value)}`);
}

function explainArray(schema: TArray, value: unknown, path: string): ServiceError | undefined {
  if (!Array.isArray(value)) return wrongType("an array", value, path);
  const { minItems, maxItems } = schema;
  const size = explainSize(value.length, "items", { min: minItems, max: maxItems }, path);
  return size ?? firstFault(value, (item, index) => explain(schema.items, item, `${path}[${index}]`));
}

/** A map whose keys match one pattern; the description of `propertyNames` names the keys in messages. */
function explainRecord(schema: TRecord, value: unknown, path: string): ServiceError | undefined {
  if (!isObject(value)) return wrongType("an object", value, path);
  const most: unknown = schema["maxProperties"];
  if (typeof most === "number" && Object.keys(value).length > most)
    return fault("invalid_request", path, `must have at most ${most} members; send fewer`);
  const [form] = Object.entries<TSchema>(schema.patternProperties);
  if (form === undefined) return undefined;
  const [pattern, property] = form;
  const name = new RegExp(pattern);
  return firstFault(Object.entries(value), ([key, field]) => {
    if (name.test(key)) return explain(property, field, fieldPath(path, key));
    if (schema["additionalProperties"] !== false) return undefined;
    const names: unknown = schema["propertyNames"]?.description;
    return fault("invalid_request", path, `has the key ${describeValue(key)}; keys must be ${String(names)}`);
  });
}

function explainObject(schema: TObject, value: unknown, path: string): ServiceError | undefined {
  if (!isObject(value)) return wrongType("an object", value, path);
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(schema.properties, key));
  if (schema.additionalProperties === false && unknown !== undefined)
    return fault("invalid_request", fieldPath(path, unknown), "is unknown; remove it");
  return firstFault(Object.entries(schema.properties), ([key, property]) => {
    const field = Object.hasOwn(value, key) ? value[key] : undefined;
    const required = schema.required?.includes(key) ?? false;
    if (field !== undefined) return explain(property, field, fieldPath(path, key));
    return required ? fault("missing_field", fieldPath(path, key), "is required") : undefined;
  });
}

/**
 * Selects the union member that the value was meant to match, so that the reported fault is the real one: by the tag of
 * tagged objects, otherwise by JSON type, for arrays also by the type of their first item. Assumes that the members of
 * one JSON type, null aside, are literals, tagged objects, arrays with different item types, or a single schema.
 */
function explainUnion(schema: TUnion, value: unknown, path: string): ServiceError | undefined {
  const members = schema.anyOf.filter((member) => !KindGuard.IsNull(member));
  if (members.length < schema.anyOf.length && value === null) return undefined;
  if (members.every(KindGuard.IsLiteral)) return explainLiterals(members, value, path);
  const [single, ...others] = members.filter((one) => !KindGuard.IsLiteral(one));
  const isOneType = new Set(members.map(jsonTypeOf)).size === 1;
  if (single !== undefined && others.length === 0 && isOneType) return explain(single, value, path);
  const sameType =
    members.length === 1 ? members : members.filter((one) => jsonTypeOf(one) === jsonType(value));
  const [meant] = sameType;
  if (meant === undefined) return wrongType([...new Set(members.map(jsonTypeOf))].join(" or "), value, path);
  if (sameType.length === 1) return explain(meant, value, path);
  if (sameType.every(KindGuard.IsLiteral)) return explainLiterals(sameType, value, path);
  if (sameType.every(KindGuard.IsObject)) return explainTagged(sameType, value, path);
  return explain(sameType.find((member) => matchesFirstItem(member, value)) ?? meant, value, path);
}

function explainLiterals(
  members: readonly TLiteral[],
  value: unknown,
  path: string,
): ServiceError | undefined {
  const accepted = members.map((member) => member.const);
  return accepted.some((literal) => literal === value) ? undefined : notOneOf(accepted, value, path);
}

/** Whether an array schema's item type is the JSON type of the value's first item. */
function matchesFirstItem(schema: TSchema, value: unknown): boolean {
  if (!KindGuard.IsArray(schema) || !Array.isArray(value) || value.length === 0) return false;
  return jsonTypeOf(schema.items) === jsonType(value[0]);
}

function explainTagged(members: readonly TObject[], value: unknown, path: string): ServiceError | undefined {
  if (!isObject(value)) return wrongType("an object", value, path);
  const tag = ["role", "type"].find((key) => members.every((member) => tagValues(member, key).length > 0));
  if (tag === undefined) return undefined;
  const tagPath = fieldPath(path, tag);
  const given = value[tag];
  if (given === undefined) return fault("missing_field", tagPath, "is required");
  const matching = members.filter((member) => tagValues(member, tag).some((literal) => literal === given));
  const complete = matching.find((member) => member.required?.every((key) => value[key] !== undefined));
  const meant = complete ?? matching[0];
  if (meant !== undefined) return explain(meant, value, path);
  const accepted = new Set(members.flatMap((member) => tagValues(member, tag)));
  return notOneOf([...accepted], given, tagPath);
}

/** Types of the tagged objects that a union accepts, for what runs before the check. */
export function typesOf({ anyOf }: TUnion): ReadonlySet<unknown> {
  return new Set(anyOf.flatMap((member) => (KindGuard.IsObject(member) ? tagValues(member, "type") : [])));
}

/** Literals that a property accepts; empty if it is neither a literal nor a union of literals. */
function tagValues(schema: TObject, key: string): readonly (string | number | boolean)[] {
  const property = schema.properties[key];
  if (property === undefined) return [];
  const members = KindGuard.IsUnion(property) ? property.anyOf : [property];
  return members.flatMap((member) => (KindGuard.IsLiteral(member) ? [member.const] : []));
}

function explainNumber(schema: TSchema, value: unknown, path: string): ServiceError | undefined {
  const integer = KindGuard.IsInteger(schema);
  if (typeof value !== "number") return wrongType(integer ? "an integer" : "a number", value, path);
  const { minimum, maximum, exclusiveMinimum } = schema;
  const ok =
    (integer ? Number.isInteger(value) : Number.isFinite(value)) &&
    (minimum === undefined || value >= minimum) &&
    (maximum === undefined || value <= maximum) &&
    (exclusiveMinimum === undefined || value > exclusiveMinimum);
  if (ok) return undefined;
  const bounds = [
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`greater than ${exclusiveMinimum}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
  ];
  const kind = integer ? "an integer" : "a number";
  const accepted = bounds.length === 0 ? kind : `${kind}, ${bounds.join(" and ")}`;
  return fault("invalid_request", path, `must be ${accepted}; got ${value}`);
}

interface SizeBounds {
  readonly min: number | undefined;
  readonly max: number | undefined;
}

function explainSize(size: number, unit: string, bounds: SizeBounds, path: string): ServiceError | undefined {
  if (bounds.min !== undefined && size < bounds.min) {
    const problem =
      bounds.min === 1 ? "must not be empty" : `must have at least ${bounds.min} ${unit}; got ${size}`;
    return fault("invalid_request", path, problem);
  }
  if (bounds.max !== undefined && size > bounds.max) {
    return fault("invalid_request", path, `must have at most ${bounds.max} ${unit}; got ${size}`);
  }
  return undefined;
}

function firstFault<T>(
  items: readonly T[],
  check: (item: T, index: number) => ServiceError | undefined,
): ServiceError | undefined {
  for (const [index, item] of items.entries()) {
    const found = check(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function wrongType(expected: string, value: unknown, path: string): ServiceError {
  return fault("invalid_request", path, `must be ${expected}; got ${jsonType(value)}`);
}

/** Accepted values that a message lists, the most common first. */
const NAMED_VALUES_MAX = 10;

function notOneOf(accepted: readonly unknown[], value: unknown, path: string): ServiceError {
  const named = accepted.slice(0, NAMED_VALUES_MAX).map((literal) => JSON.stringify(literal));
  const list = [...named, ...(accepted.length > NAMED_VALUES_MAX ? ["…"] : [])].join(", ");
  const choice = accepted.length === 1 ? list : `one of ${list}`;
  return fault("unsupported_value", path, `must be ${choice}; got ${describeValue(value)}`);
}

/** A value for an error message: shortened, and never the content of an array or object, which may be prompt text. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(brief(value, 40));
  return typeof value === "number" || typeof value === "boolean" ? String(value) : jsonType(value);
}

/** Whether an optional field was sent; null counts as absent. */
export function isPresent<T>(field: T | null | undefined): field is T {
  return field !== null && field !== undefined;
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "boolean" ? "a boolean" : `a ${typeof value}`;
}

/** What `jsonType` returns for the values of a schema. */
function jsonTypeOf(schema: TSchema): string {
  if (KindGuard.IsArray(schema)) return "an array";
  if (KindGuard.IsObject(schema) || KindGuard.IsRecord(schema)) return "an object";
  if (KindGuard.IsBoolean(schema)) return "a boolean";
  if (KindGuard.IsLiteral(schema)) return jsonType(schema.const);
  return KindGuard.IsString(schema) ? "a string" : "a number";
}
