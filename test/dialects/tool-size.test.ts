// Tool schemas that would occupy the engine for minutes are refused; the error names the schema's path.

import { describe, expect, test } from "bun:test";
import {
  TOOL_ALTERNATIVES_MAX,
  TOOL_PROPERTIES_MAX,
  TOOL_SCHEMA_DEPTH_MAX,
  TOOL_SCHEMA_PARTS_MAX,
} from "../../src/dialects/shared/limits.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";

const range = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i);
const deep = (levels: number): object => (levels === 1 ? {} : { items: deep(levels - 1) });
const wide = (properties: number) => ({
  properties: Object.fromEntries(range(properties).map((i) => [`p${i}`, {}])),
});
const large = (values: number) => ({ enum: range(values) });

const combined = (schemas: number) => ({
  $defs: { "a~b": { anyOf: range(schemas).map(() => ({})) } },
  properties: { a: { allOf: [{ $ref: "#/$defs/a~b" }] } },
});

/** Each definition expands to twice as many schemas as the next one. */
const doubling = (levels: number) => ({
  $defs: {
    ...Object.fromEntries(
      range(levels).map((i) => [
        `d${i}`,
        { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    ),
    [`d${levels}`]: {},
  },
});

const DIALECTS = [
  ["/v1/chat/completions", chatBody, "tools[0].function.parameters"],
  ["/v1/responses", responsesBody, "tools[0].parameters"],
  ["/v1/messages", messagesBody, "tools[0].input_schema"],
] as const;

describe.each(DIALECTS)("%s", (path, body, param) => {
  const app = testApp();
  const send = (schema: object) => {
    const parameters = { type: "object", ...schema };
    const tool = {
      "/v1/chat/completions": { type: "function", function: { name: "f", parameters } },
      "/v1/responses": { type: "function", name: "f", parameters },
      "/v1/messages": { name: "f", input_schema: parameters },
    }[path];
    return app.post(path, body({ tools: [tool] }));
  };

  test.each([
    ["levels", deep, TOOL_SCHEMA_DEPTH_MAX],
    ["properties", wide, TOOL_PROPERTIES_MAX],
    ["values", large, TOOL_SCHEMA_PARTS_MAX - 3], // the schema, its type, and the array
    ["alternatives", combined, TOOL_ALTERNATIVES_MAX - 3], // the property, its reference and the target
  ] as const)("bounds %s", async (_name, make, most) => {
    expect((await send(make(most))).status).toBe(200);
    const refused = await send(make(most + 1));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: "invalid_request", param } });
  });

  test("references that multiply are counted, not expanded; cycles are accepted", async () => {
    expect((await send(doubling(200))).status).toBe(400);
    const cycle = {
      $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/properties/a" }] } },
    };
    expect((await send({ ...cycle, properties: { a: { $ref: "#/$defs/a" } } })).status).toBe(200);
  });
});
