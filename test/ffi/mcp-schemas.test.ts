// Tools of MCP servers stand in every prompt, so none of their schemas may keep a prompt from being rendered.

import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { parametersOf } from "../../src/mcp/parameters.ts";
import { chatRequest } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { REFUSED_SCHEMAS } from "../helpers/refused-schemas.ts";

let backend: LlamaBackend;
beforeAll(async () => {
  backend = await tinyBackend();
});
afterAll(() => backend.close());

type Schema = Readonly<Record<string, unknown>>;

/** Renders a conversation with a tool of these parameters. Throws what the template's compiler throws. */
function render(parameters: Schema): void {
  const { prompt } = chatRequest("Hi");
  if (prompt.type !== "chat") throw new Error("a chat request has a chat prompt");
  const tools = [{ name: "f", parameters, strict: true }];
  const pending = backend.render({ ...prompt, tools, toolChoice: { type: "required" } });
  for (;;) {
    const rendered = pending.take(1000);
    if (rendered === undefined) continue;
    rendered.free();
    return;
  }
}

const argument = (schema: unknown): Schema => ({ type: "object", properties: { v: schema } });

test.each(Object.entries(REFUSED_SCHEMAS))("%s", (_name, [schema]) => {
  const { parameters } = parametersOf(argument(schema));
  expect(() => render(parameters)).not.toThrow();
});

const KEYWORDS = [
  "type", "enum", "const", "properties", "required", "items", "prefixItems", "additionalProperties", "anyOf", "oneOf",
  "allOf", "not", "minLength", "maxItems", "minimum", "exclusiveMaximum", "pattern", "format", "$ref", "$defs",
  "description", "default", "patternProperties",
]; // prettier-ignore

const word = fc.constantFrom(
  "string", "integer", "object", "array", "null", "^a+$", "^(a|b){2,3}$", "^\\d{3}-\\w$", "^a$|^b$", "date-time",
  "#/$defs/a", "#/properties/v", "#/$defs/a/items", "a", "b", "",
); // prettier-ignore

/** Schemas of the right shape and of the wrong one, mixed. */
const { schema } = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
  schema: fc.dictionary(fc.constantFrom(...KEYWORDS), tie("value"), { maxKeys: 4 }),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    word,
    fc.constantFrom<unknown>(0, 1, -1, 2.5, 1e18, true, false, null),
    fc.array(word, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "v"), tie("schema"), { maxKeys: 3 }),
    tie("schema"),
    fc.array(tie("schema"), { maxLength: 3 }),
  ),
}));

test("arbitrary tool schemas of MCP servers", () => {
  fc.assert(
    fc.property(schema, schema, (value, definition) => {
      const { parameters } = parametersOf({ ...argument(value), $defs: { a: definition } });
      render(parameters);
    }),
    { numRuns: Number(process.env["SVC_FUZZ_RUNS"] ?? 60) },
  );
}, 60_000);
