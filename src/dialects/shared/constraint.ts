// Output constraints: schemas of `response_format` and `grammar`, and their conversion to a core Constraint. The engine
// decides whether it can enforce a grammar.

import { type Static, Type } from "@sinclair/typebox";
import { unreachable } from "../../core/assert.ts";
import type { Compat } from "../../core/compat.ts";
import type { Constraint, NamedGrammar } from "../../core/constraint.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { guidedConstraints, guidedProperties } from "./guided.ts";
import { GRAMMARS_MAX } from "./limits.ts";
import type { RunRequest, ToolChoice } from "../../core/run.ts";
import { checker, isPresent } from "./check.ts";
import { serveOrRefuse } from "./compat.ts";
import { capTokens } from "./sampling.ts";
import { jsonObject, objectOf } from "./json-object.ts";

const formatSchemaProperty = jsonObject(
  "JSON Schema that the answer must satisfy. Objects that declare members are closed unless `additionalProperties` opens them.",
);
const formatProperties = {
  name: orNull(Type.String({ description: "For the client's own use." })),
  description: orNull(Type.String({ description: "For the client's own use." })),
  schema: formatSchemaProperty,
  strict: orNull(
    Type.Boolean({
      description:
        "With true, a keyword that cannot be enforced is an error; otherwise it is ignored and listed in the header `x-svc-unenforced`.",
    }),
  ),
};
const JSON_SCHEMA = Type.Literal("json_schema");

const NestedSchemaFormat = Type.Object(
  {
    type: JSON_SCHEMA,
    json_schema: Type.Object(formatProperties, {
      $id: "JsonSchemaResponseFormat",
      description: "The schema with its name.",
      ...OPEN,
    }),
  },
  OPEN,
);
const FlatSchemaFormat = Type.Object(
  {
    type: JSON_SCHEMA,
    ...formatProperties,
    json_schema: Type.Optional(Type.Null({ description: "Absent in this form." })),
  },
  OPEN,
);
const TextFormat = Type.Object({ type: Type.Literal("text") }, OPEN);

/** A JSON object; `refuseJsonObject` refuses it in strict mode. */
const JsonObjectFormat = Type.Object(
  { type: Type.Literal("json_object"), schema: orNull(formatSchemaProperty) },
  {
    $id: "JsonObjectFormat",
    description: "Any JSON object, or one of a schema; requires a server with `--compat clients`.",
    ...OPEN,
  },
);
const ANY_OBJECT = { type: "object" };

const formatDescription = "Plain text, or JSON that satisfies a schema, in `json_schema` or beside `type`.";

/** The format of an answer, as chat completions nest it. */
const ResponseFormat = Type.Union([TextFormat, NestedSchemaFormat, FlatSchemaFormat, JsonObjectFormat], {
  $id: "ResponseFormat",
  description: formatDescription,
});
/** The same, as Responses write it: messages about what lacks name the flat form. */
export const FlatResponseFormat = Type.Union(
  [TextFormat, FlatSchemaFormat, NestedSchemaFormat, JsonObjectFormat],
  { $id: "TextFormat", description: formatDescription },
);
type ResponseFormat = Static<typeof ResponseFormat>;

const GrammarOfSet = Type.Object(
  {
    name: orNull(Type.String({ minLength: 1, description: "Name by which other grammars refer to it." })),
    json_schema: orNull(jsonObject("A JSON Schema.")),
    lark_grammar: orNull(Type.String({ minLength: 1, description: "A Lark grammar." })),
    max_tokens: orNull(
      Type.Integer({
        minimum: 1,
        description: "Caps the whole answer; supported only for the first grammar.",
      }),
    ),
  },
  {
    $id: "GrammarOfSet",
    description: "Exactly one of `json_schema` and `lark_grammar` is required.",
    ...OPEN,
  },
);

const GrammarSet = Type.Object(
  {
    grammars: Type.Array(GrammarOfSet, { minItems: 1, maxItems: GRAMMARS_MAX }),
    max_tokens: orNull(Type.Integer({ minimum: 1, description: "Caps the whole answer." })),
  },
  {
    $id: "GrammarSet",
    description: "Grammars that refer to each other by name; the first is the start.",
    ...OPEN,
  },
);
type GrammarSet = Static<typeof GrammarSet>;

const text = Type.String({ description: "A regular expression or a grammar.", minLength: 1 });

const Grammar = Type.Union(
  [
    Type.Object({ type: Type.Literal("regex"), value: text }, OPEN),
    Type.Object({ type: Type.Literal("lark"), value: text }, OPEN),
    Type.Object(
      {
        type: Type.Literal("json_schema"),
        value: Type.Union([jsonObject("A JSON Schema."), text], {
          description: "A JSON Schema, or its text.",
        }),
      },
      OPEN,
    ),
    Type.Object(
      {
        type: Type.Literal("llguidance"),
        value: Type.Union([GrammarSet, text], { description: "A grammar, or a set of them." }),
      },
      OPEN,
    ),
  ],
  {
    $id: "Grammar",
    description:
      "Constrains the answer to a regular expression, a grammar or a schema. Objects may be sent as JSON text.",
  },
);
type Grammar = Static<typeof Grammar>;

/** Properties to spread into a request schema. */
export const grammarProperties = { grammar: orNull(Grammar), ...guidedProperties };
export const responseFormatProperties = { response_format: orNull(ResponseFormat) };

const ConstraintFields = Type.Object({ ...grammarProperties, ...responseFormatProperties });

/** The output constraint of a run, and the request field that sets it. */
export type RunConstraint = Pick<RunRequest, "constraint" | "constraintParam">;

/**
 * The constraint of a checked body, to spread into its run. Throws `contradictory_fields` for two constraints,
 * `unsupported_value` for a form that constraints cannot express.
 */
export function constraintOf(body: Static<typeof ConstraintFields>): RunConstraint {
  const grammar = body.grammar ?? undefined;
  return onlyConstraint(
    formatConstraint(body.response_format, "response_format"),
    grammar === undefined ? {} : { constraint: grammarConstraint(grammar), constraintParam: "grammar" },
    ...guidedConstraints(body),
  );
}

/** The one of several that constrains the answer; throws `contradictory_fields` for a second one. */
export function onlyConstraint(...all: readonly RunConstraint[]): RunConstraint {
  const [first, second] = all.filter(({ constraint }) => constraint !== undefined);
  if (first === undefined || second === undefined) return first ?? {};
  const param = second.constraintParam ?? "";
  const message = `${param} contradicts ${first.constraintParam}; both constrain the answer, send only one of them`;
  throw new ServiceError("contradictory_fields", message, { param });
}

/** The constraint of a checked format in the field `param`. */
export function formatConstraint(format: ResponseFormat | null | undefined, param: string): RunConstraint {
  if (!isPresent(format) || format.type === "text") return {};
  if (format.type === "json_object") return schemaConstraint(format.schema ?? ANY_OBJECT, param);
  const { schema, strict } = format.json_schema ?? format;
  return schemaConstraint(schema, param, strict === true);
}

/** Refuses a `json_object` format at `path`, unless the mode accepts it. Runs before the schema check. */
export function refuseJsonObject(format: unknown, path: string, compat: Compat): void {
  if (!isObject(format) || format["type"] !== "json_object") return;
  const param = `${path}.type`;
  const message = `${param} "json_object" is not supported; send "json_schema" with a schema`;
  serveOrRefuse(compat, "json_object", new ServiceError("unsupported_value", message, { param }));
}

/**
 * Drops a response format if the tool choice forces a call: clients that send both expect the call. A grammar is kept, whatever
 * field it is in, and the engine refuses the combination.
 */
export function dropFormatForForcedCall(constrained: RunConstraint, choice: ToolChoice): RunConstraint {
  const isForced = choice.type === "required" || (choice.type === "named" && choice.required);
  const isFormat =
    constrained.constraint?.type === "json_schema" && constrained.constraintParam !== "grammar";
  return isForced && isFormat ? {} : constrained;
}

/** The constraint of a JSON Schema sent in the field `param`. */
export function schemaConstraint(schema: unknown, param: string, strict = false): RunConstraint {
  return { constraint: { type: "json_schema", schema, strict }, constraintParam: param };
}

const VALUE = "grammar.value";
const checkGrammarSet = checker(GrammarSet, VALUE);

function grammarConstraint(grammar: Grammar): Constraint {
  switch (grammar.type) {
    case "regex":
      return { type: "regex", pattern: grammar.value };
    case "lark":
      return { type: "lark", grammar: grammar.value };
    case "json_schema":
      return { type: "json_schema", schema: objectOf(grammar.value, VALUE) };
    case "llguidance":
      return { type: "grammars", grammars: grammarsOf(checkGrammarSet(objectOf(grammar.value, VALUE))) };
    default:
      return unreachable(grammar);
  }
}

function grammarsOf(set: GrammarSet): readonly NamedGrammar[] {
  const names = new Set<string>();
  return set.grammars.map((grammar, index) => {
    const path = `grammar.value.grammars[${index}]`;
    if (index > 0) refuseTokenCap(grammar.max_tokens, `${path}.max_tokens`);
    const jsonSchema = grammar.json_schema ?? undefined;
    const larkGrammar = grammar.lark_grammar ?? undefined;
    if ((jsonSchema === undefined) === (larkGrammar === undefined)) {
      const message = `${path} must have exactly one of json_schema and lark_grammar`;
      throw new ServiceError("invalid_request", message, { param: path });
    }
    const name = grammar.name ?? undefined;
    if (name !== undefined && names.has(name)) {
      const message = `${path}.name is already the name of an earlier grammar; names must be unique`;
      throw new ServiceError("invalid_request", message, { param: `${path}.name` });
    }
    if (name !== undefined) names.add(name);
    return {
      ...defined({ name, jsonSchema, larkGrammar }),
    };
  });
}

/**
 * The smallest of the token caps of the body, its grammar set and the set's first grammar, which is the start rule and
 * covers the whole answer.
 */
export function capByGrammar(
  maxTokens: number | undefined,
  { grammar }: Static<typeof ConstraintFields>,
): number | undefined {
  if (grammar?.type !== "llguidance") return maxTokens;
  const set = checkGrammarSet(objectOf(grammar.value, VALUE));
  const caps = [maxTokens, set.max_tokens, set.grammars[0]?.max_tokens].filter(isPresent);
  return caps.length === 0 ? undefined : capTokens(Math.min(...caps));
}

/** A part cut after a token count would no longer match its grammar: half a JSON object, for example. */
function refuseTokenCap(cap: number | null | undefined, param: string): void {
  if (cap === null || cap === undefined) return;
  const message = `${param} is not supported for a part of the answer; use max_tokens of the request or of the first grammar`;
  throw new ServiceError("unsupported_value", message, { param });
}
