// Recognizes schemas whose grammars are known to compile and to enforce all that the schemas say, so that a request need not
// wait for its grammar. When in doubt, a schema is not recognized. Knows what ffi/constraint enforces.
// Other schemas wait: `accepted` says what is not enforced. llguidance cannot add tools to a running grammar.

import { isObject, type Json } from "../core/json.ts";
import { schemaKeyword } from "../core/schema-keywords.ts";
import type { AnswerConstraint } from "../worker/text/constraint-backend.ts";

/** Symbols of a grammar. llguidance takes 65,500. */
const SYMBOLS_MAX = 60_000;
/** Measured: about 20 for a call, and 6 for a part of its schema; a value of any kind has a grammar of its own. */
const SYMBOLS = { call: 20, part: 6, open: 24 } as const;
/** Characters of all values that schemas list; llguidance takes a multiple. */
const CHARACTERS_MAX = 100_000;
/** Maximum nesting. */
const DEPTH_MAX = 8;
/** Bounds of numbers. */
const BOUND_MAX = 1_000_000_000;

const SCALARS = ["null", "boolean", "integer", "number", "string"] as const;
const TYPES: ReadonlySet<unknown> = new Set([...SCALARS, "array", "object"]);

const NAME = /^[\w.-]{1,64}$/;
const WORD = /^[^\p{C}]{1,200}$/u;

/** Whether a constraint certainly compiles, and leaves nothing out besides what it lists. */
export function isCertain({ sources, parts }: AnswerConstraint): boolean {
  const inText = parts.some(({ text }) => text !== undefined);
  const counted = new Counted(inText);
  return sources.every(({ schema }) => counted.knows(schema, 0));
}

class Counted {
  private readonly inText: boolean;
  private symbols = 0;
  private characters = 0;

  /** `inText`: some strings are written without quotes. */
  constructor(inText: boolean) {
    this.inText = inText;
  }

  knows(schema: unknown, depth: number): boolean {
    this.symbols += depth === 0 ? SYMBOLS.call : SYMBOLS.part;
    if (depth > DEPTH_MAX || !isObject(schema) || !this.hasRoom()) return false;
    const keywords = Object.keys(schema).filter((key) => !isNote(key));
    if ("enum" in schema) return this.isChoice(schema, keywords);
    const { type, anyOf } = schema;
    if (keywords.length === 1 && Array.isArray(anyOf))
      return !this.inText && anyOf.length > 0 && anyOf.every((one) => this.knows(one, depth + 1));
    if (!TYPES.has(type)) return keywords.length === 1 && isScalars(type);
    if (isOpen(schema)) this.symbols += SYMBOLS.open;
    return keywords.every((key) => {
      const value = schema[key];
      switch (key) {
        case "type":
          return true;
        case "properties":
          return type === "object" && isObject(value) && this.knowsMembers(value, depth);
        case "required":
          return (
            Array.isArray(value) && isObject(schema["properties"]) && areAmong(value, schema["properties"])
          );
        case "additionalProperties":
          return type === "object" && typeof value === "boolean";
        case "items":
          return type === "array" && this.knows(value, depth + 1);
        case "minimum":
        case "maximum":
          return (type === "integer" || type === "number") && isBound(value) && isRange(schema);
        default:
          return false;
      }
    });
  }

  private hasRoom(): boolean {
    return this.symbols <= SYMBOLS_MAX && this.characters <= CHARACTERS_MAX;
  }

  private knowsMembers(members: Json, depth: number): boolean {
    return Object.entries(members).every(([name, one]) => NAME.test(name) && this.knows(one, depth + 1));
  }

  private isChoice({ type, enum: values }: Json, keywords: readonly string[]): boolean {
    if (this.inText || !Array.isArray(values) || values.length === 0) return false;
    this.characters += values.reduce<number>((sum, value) => sum + String(value).length, 0);
    const isAlone = keywords.every((key) => key === "enum" || key === "type");
    const isText = type === undefined || type === "string";
    return (
      isAlone &&
      isText &&
      this.hasRoom() &&
      values.every((value) => typeof value === "string" && WORD.test(value))
    );
  }
}

/** Whether a keyword reaches the compiler and says nothing about validity. */
function isNote(key: string): boolean {
  const row = schemaKeyword(key);
  return row?.isNote === true && row.isCompiled === true;
}

/** Whether values of a schema contain others of any kind. */
function isOpen({ type, properties, additionalProperties, items }: Json): boolean {
  if (type === "array") return items === undefined;
  const declares = isObject(properties) && Object.keys(properties).length > 0;
  return type === "object" && (!declares || additionalProperties === true); // one that declares members is closed
}

function isScalars(types: unknown): boolean {
  const isList = Array.isArray(types) && types.length > 0 && new Set(types).size === types.length;
  return isList && types.every((type) => SCALARS.includes(type));
}

function areAmong(names: readonly unknown[], members: object): boolean {
  return names.every((name) => typeof name === "string" && Object.hasOwn(members, name));
}

function isBound(value: unknown): boolean {
  return Number.isSafeInteger(value) && Math.abs(Number(value)) <= BOUND_MAX;
}

function isRange({ minimum, maximum }: Json): boolean {
  return minimum === undefined || maximum === undefined || Number(minimum) <= Number(maximum);
}
