// Constrained decoding on the built-in model's vocabulary: whatever the masks allow is valid, whatever cannot be
// enforced is refused, and nothing hostile gets further than an error.

import { afterAll, describe, expect, test } from "bun:test";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { ServiceError } from "../../src/core/error.ts";
import { compile, grammarEngine, loadVocabulary, randomBelow, walk } from "../helpers/grammar.ts";
import { REFUSED_SCHEMAS, SCHEMAS } from "../helpers/schemas.ts";

const vocabulary = loadVocabulary();
const engine = grammarEngine(vocabulary);
afterAll(() => engine.close());

/** Schemas that ajv reads only in another spelling. */
const SPELLED_FOR_AJV: Readonly<Record<string, unknown>> = {
  "bounds of draft 4": { type: "integer", exclusiveMinimum: 3, maximum: 9 },
};

function validator(name: string, schema: unknown): (value: unknown) => string {
  const options = { strict: false, allErrors: true };
  const ajv = JSON.stringify(schema).includes("draft-07") ? new Ajv(options) : new Ajv2020(options);
  addFormats(ajv);
  const validate = ajv.compile((SPELLED_FOR_AJV[name] ?? schema) as object);
  return (value) => (validate(value) ? "" : ajv.errorsText(validate.errors));
}

function refusal(action: () => unknown): ServiceError {
  try {
    action();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("whatever a schema's masks allow is valid", () => {
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    test(name, () => {
      const problems = validator(name, schema);
      for (let seed = 1; seed <= 5; seed++) {
        const { text, specialsInside } = walk(
          compile(engine, { type: "json_schema", schema }),
          vocabulary,
          randomBelow(seed),
        );
        expect(specialsInside).toBe(0);
        const value: unknown = JSON.parse(text);
        expect(`${problems(value)} ${text}`).toBe(` ${text}`);
      }
    });
  }
});

describe("what cannot be enforced is refused with its reason", () => {
  for (const [name, [schema, reason]] of Object.entries(REFUSED_SCHEMAS)) {
    test(name, () => {
      const error = refusal(() => compile(engine, { type: "json_schema", schema }));
      expect(error.code).toBe("invalid_request");
      expect(error.param).toBe("response_format");
      expect(error.message).toContain(reason);
    });
  }
});
