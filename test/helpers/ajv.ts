// What ajv, the reference, thinks of a value.

import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";

/** Schemas that ajv reads only in another spelling. */
const SPELLED_FOR_AJV: Readonly<Record<string, unknown>> = {
  "bounds of draft 4": { type: "integer", exclusiveMinimum: 3, maximum: 9 },
};

/** Compiles a schema of test/helpers/schemas.ts. The result says what is wrong with a value, "" if nothing. */
export function validator(name: string, schema: unknown): (value: unknown) => string {
  // Without it, 8850.14 is no multiple of 0.01.
  const options = { strict: false, allErrors: true, multipleOfPrecision: 9 };
  const ajv = JSON.stringify(schema).includes("draft-07") ? new Ajv(options) : new Ajv2020(options);
  addFormats(ajv);
  const validate = ajv.compile((SPELLED_FOR_AJV[name] ?? schema) as object);
  return (value) => (validate(value) ? "" : ajv.errorsText(validate.errors));
}
