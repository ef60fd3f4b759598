// Schemas of tools that would keep the engine busy for minutes are refused, by their place in the body.

import { describe, expect, test } from "bun:test";
import {
  TOOL_ALTERNATIVES_MAX,
  TOOL_PROPERTIES_MAX,
  TOOL_SCHEMA_DEPTH_MAX,
  TOOL_SCHEMA_PARTS_MAX,
} from "../../src/core/limits.ts";
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

/** Each twice as large as the one before, written out. */
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
    ["values", large, TOOL_SCHEMA_PARTS_MAX - 3], // itself, its type, and the list
    ["alternatives", combined, TOOL_ALTERNATIVES_MAX - 3], // the property, its reference and what that points to
  ] as const)("%s", async (_name, make, most) => {
    expect((await send(make(most))).status).toBe(200);
    const refused = await send(make(most + 1));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: "invalid_request", param } });
  });

  test("references that multiply are counted, not followed; those in circles are fine", async () => {
    expect((await send(doubling(200))).status).toBe(400);
    const circle = {
      $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/properties/a" }] } },
    };
    expect((await send({ ...circle, properties: { a: { $ref: "#/$defs/a" } } })).status).toBe(200);
  });
});
