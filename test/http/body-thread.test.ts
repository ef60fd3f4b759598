// Large bodies are parsed on another thread, and are the same there.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { ServiceError } from "../../src/core/error.ts";
import { parseAside } from "../../src/http/body-thread.ts";
import { JSON_BYTES_AT_ONCE } from "../../src/http/limits.ts";
import { chatBody, testApp } from "../helpers/app.ts";

const aside = (text: string): Promise<unknown> => parseAside(new Uint8Array(Buffer.from(text)));

test("values are those that the parser makes", async () => {
  const property = fc.asyncProperty(fc.json(), async (text) =>
    expect(await aside(text)).toEqual(JSON.parse(text)),
  );
  await fc.assert(property, { numRuns: 50 });
  const text = '{"__proto__":{"a":1},"constructor":2,"b":["\\ud83d\\ude00","ü"],"0":1e400}';
  expect(JSON.stringify(await aside(text))).toBe(JSON.stringify(JSON.parse(text)));
  expect(Object.getPrototypeOf(await aside(text))).toBe(Object.prototype);
});

test("many values arrive too, in their order", async () => {
  const many = JSON.stringify(Array.from({ length: 40_000 }, (_, i) => ({ i })));
  const [first, second] = await Promise.all([aside(many), aside("[1]")]);
  expect(JSON.stringify(first)).toBe(many);
  expect(second).toEqual([1]);
});

test.each([
  ["", "invalid_json"],
  ["{", "invalid_json"],
  ['"\\ud800"', "invalid_request"],
  ["[".repeat(200), "invalid_request"],
])("%s is %s", async (text, code) => {
  const failure = await aside(text).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(ServiceError);
  expect((failure as ServiceError).code).toBe(code as ServiceError["code"]);
});

test("the server answers others while it parses", async () => {
  const { post, request } = testApp();
  const wide = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`name-${i}`, i]));
  const texts = ["x".repeat(JSON_BYTES_AT_ONCE), { wide }];
  for (const extra of texts) {
    const answer = post("/v1/chat/completions", chatBody({ user: "u", extra }));
    expect((await request("/health")).status).toBe(200);
    expect((await answer).status).toBe(200);
  }
  const tooWide = Object.fromEntries(Array.from({ length: 65_537 }, (_, i) => [`name-${i}`, i]));
  const refused = await post("/v1/chat/completions", chatBody({ tooWide }));
  expect(refused.status).toBe(400);
  expect((await refused.json()).error.message).toContain("members of objects");
});
