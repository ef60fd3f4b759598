// Constraints under the names of vLLM (`guided_json`, `structured_outputs`, …) and of llama.cpp (`json_schema`). Each has one
// meaning everywhere, so none is ignored.

import { type Static, Type } from "@sinclair/typebox";
import type { Constraint } from "../../core/constraint.ts";
import { ServiceError } from "../../core/error.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { isPresent } from "./check.ts";
import { jsonObject, objectOf } from "./json-object.ts";
import { escaped } from "./lark-regex.ts";
import { GUIDED_CHOICES_MAX } from "./limits.ts";

const text = Type.String({ minLength: 1 });
const Schema = Type.Union([jsonObject("A JSON Schema."), text], {
  description: "JSON Schema that the answer must satisfy, as an object or as its JSON.",
});
const Choice = Type.Array(text, {
  minItems: 1,
  maxItems: GUIDED_CHOICES_MAX,
  description: "Texts of which the answer is one.",
});
const Regex = Type.String({ minLength: 1, description: "Regular expression that the answer matches." });
const Lark = Type.String({ minLength: 1, description: "Lark grammar that the answer follows." });

const StructuredOutputs = Type.Object(
  {
    json: orNull(Schema),
    regex: orNull(Regex),
    choice: orNull(Choice),
    grammar: orNull(Lark),
    json_object: orNull(Type.Boolean({ description: "Any JSON object." })),
  },
  { $id: "StructuredOutputs", description: "Constraint of the answer, as clients of vLLM send it.", ...OPEN },
);

/** Properties to spread into a request schema. */
export const guidedProperties = {
  guided_json: orNull(Schema),
  guided_regex: orNull(Regex),
  guided_choice: orNull(Choice),
  guided_grammar: orNull(Lark),
  structured_outputs: orNull(StructuredOutputs),
  json_schema: orNull(Schema),
};
const Fields = Type.Object(guidedProperties);
type Fields = Static<typeof Fields>;

/** A constraint and the field that sets it. */
export interface Guided {
  readonly constraint: Constraint;
  readonly constraintParam: string;
}

/** The constraints of a checked body. Throws `unsupported_value` for a grammar of another notation. */
export function guidedConstraints(body: Fields): readonly Guided[] {
  const { structured_outputs: outputs } = body;
  const within = (name: string): string => `structured_outputs.${name}`;
  return [
    ...ofSchema(body.guided_json, "guided_json"),
    ...ofSchema(body.json_schema, "json_schema"),
    ...ofSchema(outputs?.json, within("json")),
    ...ofSchema(outputs?.json_object === true ? { type: "object" } : undefined, within("json_object")),
    ...ofRegex(body.guided_regex, "guided_regex"),
    ...ofRegex(outputs?.regex, within("regex")),
    ...ofRegex(choiceRegex(body.guided_choice), "guided_choice"),
    ...ofRegex(choiceRegex(outputs?.choice), within("choice")),
    ...ofGrammar(body.guided_grammar, "guided_grammar"),
    ...ofGrammar(outputs?.grammar, within("grammar")),
  ];
}

function ofSchema(sent: object | string | null | undefined, param: string): readonly Guided[] {
  if (!isPresent(sent)) return [];
  const schema = objectOf(sent, param);
  return [{ constraint: { type: "json_schema", schema, strict: false }, constraintParam: param }];
}

function ofRegex(pattern: string | null | undefined, param: string): readonly Guided[] {
  return isPresent(pattern) ? [{ constraint: { type: "regex", pattern }, constraintParam: param }] : [];
}

function choiceRegex(choices: readonly string[] | null | undefined): string | undefined {
  if (!isPresent(choices)) return undefined;
  return choices.map(escaped).join("|");
}

function ofGrammar(grammar: string | null | undefined, param: string): readonly Guided[] {
  if (!isPresent(grammar)) return [];
  if (!grammar.includes("::=")) return [{ constraint: { type: "lark", grammar }, constraintParam: param }];
  const message = `${param} must be a Lark grammar; GBNF and EBNF ("::=") are not supported; send grammar {"type": "lark"}`;
  throw new ServiceError("unsupported_value", message, { param });
}
