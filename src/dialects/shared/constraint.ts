// What the answer must look like: `response_format` and `grammar`, their schemas and their meaning. Whether a grammar
// can be expressed is the engine's to say.

import { type Static, Type } from "@sinclair/typebox";
import { unreachable } from "../../core/assert.ts";
import type { Constraint, NamedGrammar } from "../../core/constraint.ts";
import { ServiceError } from "../../core/error.ts";
import { GRAMMARS_MAX } from "../../core/limits.ts";
import type { RunRequest } from "../../core/run.ts";
import { checker, isRecord, orNull } from "./check.ts";
import { jsonObject } from "./json-object.ts";

const OPEN = { additionalProperties: true } as const;

const JsonSchemaResponseFormat = Type.Object(
  {
    name: Type.String({ minLength: 1, description: "For the client's own use." }),
    description: orNull(Type.String()),
    schema: jsonObject("The JSON Schema that the answer must satisfy."),
    strict: orNull(Type.Boolean({ description: "Without effect: every schema is enforced." })),
  },
  { $id: "JsonSchemaResponseFormat", ...OPEN },
);

const ResponseFormat = Type.Union(
  [
    Type.Object({ type: Type.Literal("text") }, OPEN),
    Type.Object({ type: Type.Literal("json_schema"), json_schema: JsonSchemaResponseFormat }, OPEN),
  ],
  { $id: "ResponseFormat", description: "Plain text, or JSON that satisfies a schema." },
);

const GrammarOfSet = Type.Object(
  {
    name: orNull(Type.String({ minLength: 1, description: "What other grammars of the set call it." })),
    json_schema: orNull(jsonObject("A JSON Schema.")),
    lark_grammar: orNull(Type.String({ minLength: 1, description: "A Lark grammar." })),
    max_tokens: orNull(Type.Integer({ description: "Not supported; omit it." })),
  },
  { $id: "GrammarOfSet", description: "Exactly one of `json_schema` and `lark_grammar` is given.", ...OPEN },
);

const GrammarSet = Type.Object(
  {
    grammars: Type.Array(GrammarOfSet, { minItems: 1, maxItems: GRAMMARS_MAX }),
    max_tokens: orNull(Type.Integer({ description: "Not supported; omit it." })),
  },
  {
    $id: "GrammarSet",
    description: "Grammars that refer to each other by name; the first is the start.",
    ...OPEN,
  },
);
type GrammarSet = Static<typeof GrammarSet>;

const text = Type.String({ minLength: 1 });

const Grammar = Type.Union(
  [
    Type.Object({ type: Type.Literal("regex"), value: text }, OPEN),
    Type.Object({ type: Type.Literal("lark"), value: text }, OPEN),
    Type.Object(
      { type: Type.Literal("json_schema"), value: Type.Union([jsonObject("A JSON Schema."), text]) },
      OPEN,
    ),
    Type.Object({ type: Type.Literal("llguidance"), value: Type.Union([GrammarSet, text]) }, OPEN),
  ],
  {
    $id: "Grammar",
    description:
      "Holds the answer to a regular expression, a grammar or a schema. Objects may be sent as JSON text.",
  },
);
type Grammar = Static<typeof Grammar>;

/** Properties to spread into a request schema. Completions have no `response_format`. */
export const grammarProperties = { grammar: orNull(Grammar) };
export const responseFormatProperties = { response_format: orNull(ResponseFormat) };

const ConstraintFields = Type.Object({ ...grammarProperties, ...responseFormatProperties });

/** What the answer of a run must look like, and the field that says so. */
export type Constrained = Pick<RunRequest, "constraint" | "constraintParam">;

/**
 * The constraint of a checked body, to spread into its run. Throws `contradictory_fields` when two are given,
 * `unsupported_value` for what constraints cannot say.
 */
export function constraintOf(body: Static<typeof ConstraintFields>): Constrained {
  const format = body.response_format ?? undefined;
  const schema = format?.type === "json_schema" ? format.json_schema.schema : undefined;
  const grammar = body.grammar ?? undefined;
  if (grammar === undefined) return schema === undefined ? {} : schemaConstraint(schema, "response_format");
  if (schema === undefined) return { constraint: grammarConstraint(grammar), constraintParam: "grammar" };
  throw new ServiceError(
    "contradictory_fields",
    'grammar contradicts response_format "json_schema": each says what the answer must look like; send one of them',
    { param: "grammar" },
  );
}

/** Of a schema that stands in the field `param`. */
export function schemaConstraint(schema: unknown, param: string): Constrained {
  return { constraint: { type: "json_schema", schema }, constraintParam: param };
}

const checkGrammarSet = checker(GrammarSet, "grammar.value");

function grammarConstraint(grammar: Grammar): Constraint {
  switch (grammar.type) {
    case "regex":
      return { type: "regex", pattern: grammar.value };
    case "lark":
      return { type: "lark", grammar: grammar.value };
    case "json_schema":
      return { type: "json_schema", schema: objectOf(grammar.value) };
    case "llguidance":
      return { type: "grammars", grammars: grammarsOf(checkGrammarSet(objectOf(grammar.value))) };
    default:
      return unreachable(grammar);
  }
}

/** An object, also where it was sent as JSON text. */
function objectOf<T extends object>(value: T | string): T | Readonly<Record<string, unknown>> {
  if (typeof value !== "string") return value;
  const json = parsed(value);
  if (isRecord(json)) return json;
  const message = "grammar.value must be an object, or a string that is the JSON text of one";
  throw new ServiceError("invalid_request", message, { param: "grammar.value" });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // no JSON text ever means undefined; the caller says what was expected
  }
}

function grammarsOf(set: GrammarSet): readonly NamedGrammar[] {
  refuseTokenCap(set.max_tokens, "grammar.value.max_tokens");
  const names = new Set<string>();
  return set.grammars.map((grammar, index) => {
    const path = `grammar.value.grammars[${index}]`;
    refuseTokenCap(grammar.max_tokens, `${path}.max_tokens`);
    const jsonSchema = grammar.json_schema ?? undefined;
    const larkGrammar = grammar.lark_grammar ?? undefined;
    if ((jsonSchema === undefined) === (larkGrammar === undefined)) {
      const message = `${path} must have exactly one of json_schema and lark_grammar`;
      throw new ServiceError("invalid_request", message, { param: path });
    }
    const name = grammar.name ?? undefined;
    if (name !== undefined && names.has(name)) {
      const message = `${path}.name is the name of an earlier grammar; names must differ`;
      throw new ServiceError("invalid_request", message, { param: `${path}.name` });
    }
    if (name !== undefined) names.add(name);
    return {
      ...(name === undefined ? {} : { name }),
      ...(jsonSchema === undefined ? {} : { jsonSchema }),
      ...(larkGrammar === undefined ? {} : { larkGrammar }),
    };
  });
}

/** A cap within a grammar would have to count tokens in the middle of an answer, which constraints cannot do. */
function refuseTokenCap(cap: number | null | undefined, param: string): void {
  if (cap === null || cap === undefined) return;
  const message = `${param} is not supported; cap the whole answer with max_tokens`;
  throw new ServiceError("unsupported_value", message, { param });
}
