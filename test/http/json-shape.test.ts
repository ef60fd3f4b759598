// The shape of JSON bodies is bounded before they are parsed.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { ServiceError } from "../../src/core/error.ts";
import { JSON_DEPTH_MAX, JSON_ENTRIES_MAX, JSON_MEMBERS_MAX, JSON_PARTS_MAX } from "../../src/core/limits.ts";
import { checkJsonShape } from "../../src/core/json-shape.ts";
import { testApp } from "../helpers/app.ts";

const check = (text: string) => checkJsonShape(Buffer.from(text));
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

test("depth and width have their bounds, to the one", () => {
  expect(() => check(nested(JSON_DEPTH_MAX))).not.toThrow();
  expect(() => check(nested(JSON_DEPTH_MAX + 1))).toThrow(ServiceError);
  const flat = (parts: number): string => `[${"{},".repeat(parts - 1)}0]`;
  expect(() => check(flat(JSON_PARTS_MAX))).not.toThrow();
  expect(() => check(flat(JSON_PARTS_MAX + 1))).toThrow(ServiceError);
});

test("members and elements have their bounds, to the one", () => {
  const object = (members: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: members }, (_, i) => [`k${i}`, i])));
  expect(check(object(JSON_MEMBERS_MAX))).toMatchObject({ members: JSON_MEMBERS_MAX, parts: 1 });
  expect(() => check(object(JSON_MEMBERS_MAX + 1))).toThrow("members of objects");
  const list = (elements: number): string => `[${"1,".repeat(elements - 1)}1]`;
  expect(check(list(JSON_ENTRIES_MAX + 1))).toMatchObject({ entries: JSON_ENTRIES_MAX, members: 0 });
  expect(() => check(list(JSON_ENTRIES_MAX + 2))).toThrow("values");
});

test("brackets in strings do not count, whatever is escaped in them", () => {
  const strings = ['"', "\\", '\\"', "[".repeat(500), '"['.repeat(500), "\\".repeat(501), "{\\"];
  for (const text of strings) expect(() => check(JSON.stringify({ a: [text, { b: text }] }))).not.toThrow();
  expect(() => check(`${JSON.stringify(strings)}${nested(129)}`)).toThrow(ServiceError);
});

test("any JSON below the bounds passes", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => void check(JSON.stringify(value))));
});

test("what is no JSON is left to the parser", async () => {
  for (const text of ["", "]", '"', '{"a', "}}}}", '"\\']) expect(() => check(text)).not.toThrow();
});

test.each(["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/completions", "/v1/embeddings"])(
  "%s refuses what is nested too deeply",
  async (path) => {
    const headers = { "content-type": "application/json" };
    const response = await testApp().request(path, {
      method: "POST",
      headers,
      body: `{"a":${nested(200_000)}}`,
    });
    expect(response.status).toBe(400);
    const { error } = await response.json();
    expect([error.code, error.message]).toEqual([
      "invalid_request",
      `the request body is nested more than ${JSON_DEPTH_MAX} levels deep; send less in one request`,
    ]);
  },
);
