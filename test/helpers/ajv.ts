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
  const options = { strict: false, allErrors: true };
  const ajv = JSON.stringify(schema).includes("draft-07") ? new Ajv(options) : new Ajv2020(options);
  addFormats(ajv);
  // In binary fractions 8850.14 is no multiple of 0.01.
  ajv.removeKeyword("multipleOf").addKeyword({
    keyword: "multipleOf",
    type: "number",
    schemaType: "number",
    validate: (step: number, value: number) => isMultiple(value, step),
  });
  const validate = ajv.compile((SPELLED_FOR_AJV[name] ?? schema) as object);
  return (value) => (validate(value) ? "" : ajv.errorsText(validate.errors));
}

function isMultiple(value: number, step: number): boolean {
  const [a, b] = [decimal(value), decimal(step)];
  const places = Math.max(a.places, b.places);
  const scaled = ({ digits, places: own }: Decimal): bigint => digits * 10n ** BigInt(places - own);
  return scaled(a) % scaled(b) === 0n;
}

/** digits · 10^-places */
interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

/** The shortest decimal that stands for a number. */
function decimal(value: number): Decimal {
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  const places = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places };
}
