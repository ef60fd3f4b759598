// References in the schemas of tools that lead nowhere are refused before a prompt is rendered, by their place in the body.

import { describe, expect, test } from "bun:test";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";

const TEXT = { type: "string" };
const DEFS = { $defs: { text: TEXT, "a/b": TEXT, list: [TEXT] } };
const ref = ($ref: unknown) => ({ $ref });
const property = (a: object) => ({ ...DEFS, properties: { a } });

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
    ["nowhere", "#/$defs/none", "finds nothing in the schema"],
    ["to what every object has", "#/$defs/constructor", "finds nothing in the schema"],
    ["behind a text", "#/$defs/text/type/0", "finds nothing in the schema"],
    ["beyond a list", "#/$defs/list/1", "finds nothing in the schema"],
    ["by an escaped name", "#/$defs/a~1b", "finds nothing in the schema"],
    ["out into the world", "https://example.org/a.json", "leads out of the schema, and nothing is fetched"],
    ["to a neighbour", "other.json#/a", "leads out of the schema, and nothing is fetched"],
    ["to the whole", "#", "is no path from the beginning of the schema"],
    ["by an anchor", "#text", "is no path from the beginning of the schema"],
    ["that is no text", 5, "is no text"],
  ])("a reference %s", async (_, $ref, problem) => {
    const response = await send(property(ref($ref)));
    expect(response.status).toBe(400);
    expect((await response.json()).error).toEqual({
      code: "invalid_request",
      type: "invalid_request_error",
      param,
      message: `${param} has $ref ${JSON.stringify($ref)}, which ${problem}; copy what is meant into $defs and refer to it as "#/$defs/NAME"`,
    });
  });

  const lost = ref("#/$defs/none");
  test.each([
    ["items", { items: lost }],
    ["a list of items", { prefixItems: [TEXT, lost] }],
    ["other properties", { additionalProperties: lost }],
    ["alternatives", { anyOf: [TEXT, { oneOf: [lost] }] }],
    ["all of several", { allOf: [TEXT, lost] }],
  ])("is found in %s", async (_, part) => {
    expect((await send(property(part))).status).toBe(400);
    expect((await send({ $defs: { a: part }, properties: { a: ref("#/$defs/a") } })).status).toBe(400);
  });

  test.each([
    ["to a definition", property(ref("#/$defs/text"))],
    ["into a list", property(ref("#/$defs/list/0"))],
    ["in a circle", { $defs: { a: { items: ref("#/$defs/a") } }, properties: { a: ref("#/$defs/a") } }],
    ["from the beginning", { $ref: "#/$defs/a", $defs: { a: { type: "object", properties: {} } } }],
    ["that nothing applies", { $defs: { unused: lost }, properties: { a: TEXT } }],
    ["that is a value", property({ enum: [lost] })],
    ["that is a property's name", { properties: { $ref: TEXT } }],
  ])("may stand there: a reference %s", async (_, schema) => {
    expect((await send(schema)).status).toBe(200);
  });
});
