// Shapes of objects under a JSON schema: members, required members, and the locations of their schemas. For formats with
// separate arguments, and for the schemas that are written from others (rewritten-schemas.ts).

import { isObject, type Json } from "../core/json.ts";
import { keywordsWhere } from "../core/schema-keywords.ts";

/** JSON types; an integer is a number. */
export type JsonType = "null" | "boolean" | "number" | "string" | "array" | "object";
export const TYPES: readonly JsonType[] = ["null", "boolean", "number", "string", "array", "object"];

/** One way to satisfy a schema: the parts of the schema that apply, as JSON pointers. */
export interface Shape {
  readonly pointers: readonly string[];
  /** Name → parts of the schema that apply to the member, in declared order. */
  readonly members: ReadonlyMap<string, readonly string[]>;
  readonly required: ReadonlySet<string>;
}

/** Maximum ways; with more, the alternatives are ignored. */
const SHAPES_MAX = 16;
/** Maximum nesting of references and alternatives. */
export const DEPTH_MAX = 12;

/** Keywords about whole objects that shapes cannot express. */
const WHOLE = keywordsWhere(({ judgesObjects }) => judgesObjects === true);

function unescape(word: string): string {
  return word.replaceAll("~1", "/").replaceAll("~0", "~");
}

function escape(word: string): string {
  return word.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The pointer of a member. */
export function below(pointer: string, ...words: readonly (string | number)[]): string {
  return words.reduce<string>((at, word) => `${at}/${escape(String(word))}`, pointer);
}

/** A JSON schema, with lookup of its parts. */
export class Schema {
  readonly root: Json;
  private readonly parts = new Map<string, unknown>(); // by pointer

  constructor(root: Json) {
    this.root = root;
  }

  /** The part at a pointer; undefined if missing. */
  at(pointer: string): unknown {
    if (pointer === "") return this.root;
    if (this.parts.has(pointer)) return this.parts.get(pointer);
    const end = pointer.lastIndexOf("/");
    const whole = this.at(pointer.slice(0, Math.max(0, end)));
    const word = unescape(pointer.slice(end + 1));
    const isHeld = typeof whole === "object" && whole !== null && Object.hasOwn(whole, word);
    const part: unknown = isHeld ? Reflect.get(whole, word) : undefined;
    this.parts.set(pointer, part);
    return part;
  }

  private target(node: Json): string | undefined {
    const reference = node["$ref"];
    if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) return undefined;
    const pointer = decodeURIComponent(reference.slice(1));
    return this.at(pointer) === undefined ? undefined : pointer;
  }

  /** Ways to satisfy all of some parts. */
  private ways(pointers: readonly string[], depth = 0): readonly (readonly string[])[] {
    let all: (readonly string[])[] = [[]];
    for (const pointer of pointers) {
      const ways = this.waysOf(pointer, depth);
      if (all.length * ways.length > SHAPES_MAX) return [pointers];
      all = all.flatMap((before) => ways.map((way) => [...before, ...way]));
    }
    return all.map((way) => [...new Set(way)]);
  }

  private waysOf(pointer: string, depth: number): readonly (readonly string[])[] {
    const node = this.at(pointer);
    if (!isObject(node) || depth > DEPTH_MAX) return [[pointer]];
    const target = this.target(node);
    const both = [
      ...(target === undefined ? [] : [target]),
      ...list(node["allOf"]).map((_, i) => below(pointer, "allOf", i)),
    ];
    let ways = this.ways(both, depth + 1).map((way) => [pointer, ...way]);
    for (const keyword of ["anyOf", "oneOf"]) {
      const options = list(node[keyword]).map((_, i) => below(pointer, keyword, i));
      if (options.length === 0) continue;
      const more = options.flatMap((option) => this.waysOf(option, depth + 1));
      if (ways.length * more.length > SHAPES_MAX) continue;
      ways = ways.flatMap((before) => more.map((way) => [...before, ...way]));
    }
    return ways;
  }

  /** The shapes of values that satisfy all of some parts. */
  shapes(pointers: readonly string[]): readonly Shape[] {
    return this.ways(pointers).flatMap((way) => this.withDependents(this.shape(way)));
  }

  /** Members that all shapes require: llama.cpp's parsers need them first. */
  alwaysRequired(pointers: readonly string[]): ReadonlySet<string> {
    const [first, ...others] = this.shapes(pointers);
    return new Set(
      [...(first?.required ?? [])].filter((name) => others.every(({ required }) => required.has(name))),
    );
  }

  /** The shapes, with the members first that all of them require. */
  orderedShapes(pointers: readonly string[]): readonly Shape[] {
    const always = this.alwaysRequired(pointers);
    return this.shapes(pointers).map((shape) => {
      const members = [...shape.members];
      const isFirst = ([name]: readonly [string, unknown]): boolean => always.has(name);
      return {
        ...shape,
        members: new Map([...members.filter(isFirst), ...members.filter((one) => !isFirst(one))]),
      };
    });
  }

  private shape(pointers: readonly string[]): Shape {
    const members = new Map<string, readonly string[]>();
    const required = new Set<string>();
    for (const pointer of pointers) {
      const node = this.at(pointer);
      if (!isObject(node)) continue;
      for (const name of Object.keys(isObject(node["properties"]) ? node["properties"] : {}))
        members.set(name, [...(members.get(name) ?? []), below(pointer, "properties", name)]);
      for (const name of list(node["required"])) if (typeof name === "string") required.add(name);
    }
    for (const name of required) if (!members.has(name)) members.set(name, []);
    for (const [name, parts] of members)
      if (parts.some((part) => this.at(part) === false)) members.delete(name);
    return { pointers, members, required };
  }

  /** A shape for each alternative of `dependentRequired`. */
  private withDependents(shape: Shape): readonly Shape[] {
    let shapes: readonly Shape[] = [shape];
    for (const pointer of shape.pointers) {
      const node = this.at(pointer);
      const rules = isObject(node) && isObject(node["dependentRequired"]) ? node["dependentRequired"] : {};
      for (const [name, others] of Object.entries(rules)) {
        if (!shape.members.has(name) || shapes.length * 2 > SHAPES_MAX) continue;
        const names = list(others).filter((other) => typeof other === "string");
        shapes = shapes.flatMap((one) => {
          const members = new Map(one.members);
          for (const other of names) if (!members.has(other)) members.set(other, []);
          const has = { ...one, members, required: new Set([...one.required, name, ...names]) };
          if (one.required.has(name)) return [has];
          const lacks = new Map(one.members);
          lacks.delete(name);
          return [has, { ...one, members: lacks }];
        });
      }
    }
    return shapes;
  }

  /** Types of values that satisfy all of some parts. */
  types(pointers: readonly string[]): ReadonlySet<JsonType> {
    const found = new Set<JsonType>();
    for (const way of this.ways(pointers)) {
      const allowed = way.map((pointer) => typesOf(this.at(pointer)));
      for (const type of TYPES) if (allowed.every((types) => types.has(type))) found.add(type);
    }
    return found;
  }

  /** Whether any string satisfies all of some parts. */
  isAnyText(pointers: readonly string[]): boolean {
    return this.ways(pointers).some((way) => way.every((pointer) => allowsAnyText(this.at(pointer))));
  }

  /** Parts of a schema that apply to the items of an array in all ways. */
  items(pointers: readonly string[]): readonly string[] {
    const [first = []] = this.ways(pointers);
    return first.flatMap((pointer) => {
      const node = this.at(pointer);
      return isObject(node) && isObject(node["items"]) ? [below(pointer, "items")] : [];
    });
  }

  /** Pointers of keywords about whole objects that their shapes cannot express. */
  beyondShapes(pointers: readonly string[]): readonly string[] {
    return this.ways(pointers).flatMap((way) => {
      const { required } = this.shape(way);
      return way.flatMap((pointer) => {
        const node = this.at(pointer);
        if (!isObject(node)) return [];
        const found: string[] = WHOLE.filter((keyword) => node[keyword] !== undefined);
        const least = node["minProperties"];
        if (typeof least === "number" && least > required.size) found.push("minProperties");
        if (typeof node["maxProperties"] === "number") found.push("maxProperties");
        if (Array.isArray(node["oneOf"]) && !this.areExclusive(pointer)) found.push("oneOf");
        return found.map((keyword) => below(pointer, keyword));
      });
    });
  }

  /** Whether the alternatives of a `oneOf` exclude each other: they differ in a member that all require. */
  private areExclusive(pointer: string): boolean {
    const node = this.at(pointer);
    const options = list(isObject(node) ? node["oneOf"] : []).map((_, i) => below(pointer, "oneOf", i));
    if (options.length < 2) return true;
    const shapes = options.map((option) => this.shapes([option])[0]);
    const names = [...(shapes[0]?.required ?? [])];
    return names.some((name) => {
      const seen = new Set<string>();
      return shapes.every((shape) => {
        const values = this.values(shape?.members.get(name) ?? []);
        if (shape?.required.has(name) !== true || values === undefined) return false;
        return values.every((value) => !seen.has(value) && seen.add(value));
      });
    });
  }

  private values(pointers: readonly string[]): readonly string[] | undefined {
    for (const pointer of pointers) {
      const node = this.at(pointer);
      if (!isObject(node)) continue;
      if (Object.hasOwn(node, "const")) return [JSON.stringify(node["const"])];
      if (Array.isArray(node["enum"])) return node["enum"].map((value) => JSON.stringify(value));
    }
    return undefined;
  }
}

/** Keywords that constrain strings, directly or through another schema. */
const OF_TEXT = keywordsWhere(({ constrainsText }) => constrainsText === true);

function allowsAnyText(node: unknown): boolean {
  if (!isObject(node)) return node !== false;
  return typesOf(node).has("string") && OF_TEXT.every((keyword) => node[keyword] === undefined);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function typeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  return type === "boolean" || type === "number" || type === "string" ? type : "object";
}

/** Types of values that satisfy a schema by itself. */
function typesOf(node: unknown): ReadonlySet<JsonType> {
  if (node === false) return new Set();
  if (!isObject(node)) return new Set(TYPES);
  let types = new Set<JsonType>(TYPES);
  if (node["type"] !== undefined) {
    const named = Array.isArray(node["type"]) ? node["type"] : [node["type"]];
    const known = new Set(named.map((name) => (name === "integer" ? "number" : name)));
    types = new Set(TYPES.filter((type) => known.has(type)));
    if (node["nullable"] === true) types.add("null");
  }
  const values = Object.hasOwn(node, "const") ? [node["const"]] : node["enum"];
  if (!Array.isArray(values)) return types;
  const kinds = new Set(values.map(typeOf));
  return new Set([...types].filter((type) => kinds.has(type)));
}
