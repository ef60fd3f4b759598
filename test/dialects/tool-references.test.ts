// Unresolvable references in tool schemas are refused before the prompt is rendered; the error names the schema's path.

import { describe, expect, test } from "bun:test";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";

const TEXT = { type: "string" };
const DEFS = { $defs: { text: TEXT, "a/b": TEXT, list: [TEXT] } };
const ref = ($ref: unknown) => ({ $ref });
const property = (a: object) => ({ ...DEFS, properties: { a } });

const MISSING = "does not exist in the schema";
const REMOTE = "points outside the schema, and remote schemas are not fetched";
const NOT_A_PATH = "is not a path from the root of the schema";

const DIALECTS = [
  ["/v1/chat/completions", chatBody, "tools[1].function.parameters"],
  ["/v1/responses", responsesBody, "tools[1].parameters"],
  ["/v1/messages", messagesBody, "tools[1].input_schema"],
] as const;

describe.each(DIALECTS)("%s", (path, body, param) => {
  const app = testApp();
  const send = (schema: object) => {
    const tool = (name: string, parameters: object) =>
      ({
        "/v1/chat/completions": { type: "function", function: { name, parameters } },
        "/v1/responses": { type: "function", name, parameters },
        "/v1/messages": { name, input_schema: parameters },
      })[path];
    const tools = [tool("sound", property(ref("#/$defs/text"))), tool("f", { type: "object", ...schema })];
    return app.post(path, body({ tools }));
  };

  test.each([
    ["to a missing definition", "#/$defs/none", MISSING],
    ["to a property of Object.prototype", "#/$defs/constructor", MISSING],
    ["into a string", "#/$defs/text/type/0", MISSING],
    ["past the end of an array", "#/$defs/list/1", MISSING],
    ["with an escaped name", "#/$defs/a~1b", MISSING],
    ["to a remote schema", "https://example.org/a.json", REMOTE],
    ["to another file", "other.json#/a", REMOTE],
    ["to the root", "#", NOT_A_PATH],
    ["by an anchor", "#text", NOT_A_PATH],
    ["that is not a string", 5, "is not a string"],
  ])("refuses a reference %s", async (_, $ref, problem) => {
    const response = await send(property(ref($ref)));
    expect(response.status).toBe(400);
    expect((await response.json()).error).toEqual({
      code: "invalid_request",
      type: "invalid_request_error",
      param,
      message: `${param} has $ref ${JSON.stringify($ref)}, which ${problem}; copy the schema into $defs and refer to it as "#/$defs/NAME"`,
    });
  });

  const broken = ref("#/$defs/none");
  test.each([
    ["items", { items: broken }],
    ["prefixItems", { prefixItems: [TEXT, broken] }],
    ["additionalProperties", { additionalProperties: broken }],
    ["anyOf and oneOf", { anyOf: [TEXT, { oneOf: [broken] }] }],
    ["allOf", { allOf: [TEXT, broken] }],
  ])("finds a broken reference in %s", async (_, part) => {
    expect((await send(property(part))).status).toBe(400);
    expect((await send({ $defs: { a: part }, properties: { a: ref("#/$defs/a") } })).status).toBe(400);
  });

  test.each([
    ["to a definition", property(ref("#/$defs/text"))],
    ["into an array", property(ref("#/$defs/list/0"))],
    ["in a cycle", { $defs: { a: { items: ref("#/$defs/a") } }, properties: { a: ref("#/$defs/a") } }],
    ["at the root", { $ref: "#/$defs/a", $defs: { a: { type: "object", properties: {} } } }],
    ["in an unused definition", { $defs: { unused: broken }, properties: { a: TEXT } }],
    ["in an enum value", property({ enum: [broken] })],
    ["that is a property name", { properties: { $ref: TEXT } }],
  ])("accepts a reference %s", async (_, schema) => {
    expect((await send(schema)).status).toBe(200);
  });
});
