// Helpers for rows of the settings table: a TypeBox schema each, with what TypeBox lacks (flag, aliases, availability) as
// `facts`.
// Knows no setting by name.

import {
  Type,
  type TArray,
  type TBoolean,
  type TInteger,
  type TNumber,
  type TObject,
  type TProperties,
  type TSchema,
  type TString,
  type TUnsafe,
} from "@sinclair/typebox";
import { defined } from "../core/defined.ts";

/** Properties of a row beyond type, range, default and description. */
export interface Facts {
  /** Long flag. Absent: the key with dashes. `false`: none, so no environment name either. */
  readonly flag?: string | false;
  /** One-letter flag: `-p`. */
  readonly short?: string;
  /** Other spellings of the key in a TOML file; with a dot: in another section. */
  readonly aliases?: readonly string[];
  /** A further environment variable, beside those that follow from the flag. */
  readonly env?: string;
  /** The value names a file; a relative one starts at the folder of the file that says so. */
  readonly isPath?: true;
  /** The value names a folder, which is made when it is needed; relative ones as with isPath. */
  readonly isFolder?: true;
  /** The value may name a file after this word, as `sqlite:` does; a relative one starts as with `isPath`. */
  readonly pathAfter?: string;
  /** Required form of a text: a pattern, and words to be read after "is not". */
  readonly form?: { readonly pattern: string; readonly words: string };
  /** What follows this word in the value is a secret and never printed; after "", all of it. */
  readonly secretAfter?: string;
  /** Changes while the server runs, on SIGHUP. */
  readonly isLive?: true;
  /** Value of the example file if there is no default. */
  readonly example?: string | number | boolean | readonly string[] | readonly number[];
  /** A list of tables is a section with rows of its own, not one value. */
  readonly isTables?: true;
  /** `later`: no behaviour in this version. `never`: llama.cpp cannot do it. Absent: works. */
  readonly status?: "later" | "never";
  /** Values that are known but have no behaviour in this version. */
  readonly laterValues?: readonly string[];
  /** Other spellings of a value. */
  readonly valueAliases?: Readonly<Record<string, string>>;
}

interface NumberFacts extends Facts {
  readonly default?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

interface TextFacts extends Facts {
  readonly default?: string;
}

interface ListFacts extends Facts {
  readonly minItems?: number;
}

/** A whole number; bounds are inclusive. */
export function integer(description: string, options: NumberFacts = {}): TInteger {
  return Type.Integer({ description, ...numberOptions(options) });
}

/** A number; bounds are inclusive unless named otherwise. */
export function number(description: string, options: NumberFacts = {}): TNumber {
  return Type.Number({ description, ...numberOptions(options) });
}

/** A text of at least one character. */
export function text(description: string, options: TextFacts = {}): TString {
  const { default: fallback, ...facts } = options;
  return Type.String({
    description,
    minLength: 1,
    ...defined({ pattern: facts.form?.pattern }),
    facts,
    ...defined({ default: fallback }),
  });
}

/** A switch that is off unless set. */
export function toggle(description: string, facts: Facts = {}): TBoolean {
  return Type.Boolean({ description, default: false, facts });
}

/** A switch with a third state, "not said": wrap it in `optional`. */
export function tristate(description: string, facts: Facts = {}): TBoolean {
  return Type.Boolean({ description, facts });
}

/** One of a few words. */
export function choice<const T extends readonly string[]>(
  values: T,
  description: string,
  options: Facts & { readonly default?: T[number] } = {},
): TUnsafe<T[number]> {
  const { default: fallback, ...facts } = options;
  const literals = values.map((value) => Type.Literal(value));
  return Type.Unsafe<T[number]>(
    Type.Union(literals, { description, facts, ...defined({ default: fallback }) }),
  );
}

/** A list; in the environment and on the command line its items are separated by commas. */
export function list<T extends TSchema>(item: T, description: string, options: ListFacts = {}): TArray<T> {
  const { minItems, ...facts } = options;
  return Type.Array(item, { description, facts, ...defined({ minItems }) });
}

/** A row that may stay unset, having no default. */
export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(schema);
}

/** A table of the file: `[server]`. Absent keys take their defaults, so the section itself never has to be there. */
export function section<T extends TProperties>(description: string, properties: T): TObject<T> {
  return Type.Object(properties, { description, default: {} });
}

/** An array of tables of the file: `[[models]]`. */
export function entries<T extends TProperties>(description: string, properties: T): TArray<TObject<T>> {
  return Type.Array(section(description, properties), {
    description,
    default: [],
    facts: { isTables: true },
  });
}

/** Marks a row that the interface names but this version does not do: anything but its default stops the start. */
export function later<T extends TSchema>(schema: T): T {
  return { ...schema, facts: { ...factsOf(schema), status: "later" } };
}

/** Marks a row that llama.cpp has no way to honour; its description is the sentence the user reads. */
export function never<T extends TSchema>(schema: T): T {
  return { ...schema, facts: { ...factsOf(schema), status: "never" } };
}

/** The facts of a schema made here; none for any other schema. */
export function factsOf(schema: TSchema): Facts {
  const facts: unknown = schema["facts"];
  // Only the helpers above write this property.
  return facts === undefined ? {} : (facts as Facts);
}

function numberOptions(options: NumberFacts): Record<string, unknown> {
  const { default: fallback, minimum, exclusiveMinimum, maximum, ...facts } = options;
  const range = { default: fallback, minimum, exclusiveMinimum, maximum };
  // TypeBox takes a bound that is present but undefined for a bound.
  return { facts, ...Object.fromEntries(Object.entries(range).filter(([, value]) => value !== undefined)) };
}
