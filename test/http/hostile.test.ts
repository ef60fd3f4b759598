// Every route against input that nobody should send. Written over the routes and the OpenAPI document, so that a new route
// is covered by being registered: ajv, reading the published schema, says which bodies are wrong.

import { describe, expect, test } from "bun:test";
import { Metrics } from "../../src/metrics/metrics.ts";
import { testApp } from "../helpers/app.ts";
import {
  fieldPaths,
  isOllama,
  JSON_OPERATIONS,
  OPERATIONS,
  pathOf,
  withValue,
} from "../helpers/operations.ts";
import { answer, playing } from "../helpers/run-events.ts";

const JSON_TYPE = { "content-type": "application/json" };
const app = testApp(playing(answer("Hi")).generate, { metrics: new Metrics() });

/** Asserts an error in the form of the path's dialect with a status below 500, and returns it. */
async function expectRefused(
  response: Response,
  what: string,
  path: string,
): Promise<{ message: string; param?: string }> {
  const text = await response.text();
  expect(response.status, `${what} → ${text}`).toBeWithin(400, 500);
  expect(response.headers.get("content-type"), what).toStartWith("application/json");
  const body = JSON.parse(text);
  expect(Object.keys(body), what).toContain("error");
  if (isOllama(path)) {
    expect(body.error.length, what).toBeWithin(5, 2000);
    return { message: body.error };
  }
  const { code, message, type } = body.error;
  for (const field of [code, message, type]) expect(field, what).toBeString();
  expect(message.length, what).toBeWithin(5, 2000);
  return body.error;
}

/** Whatever the answer is, it is not our fault, and an error is an error object. */
async function expectNoFault(response: Response, what: string, path: string): Promise<void> {
  if (response.status >= 400) await expectRefused(response, what, path);
  else await response.body?.cancel();
}

const VALUES: readonly unknown[] = [
  "text",
  "",
  "\u0000\uD800",
  0,
  -1,
  1.5,
  1e300,
  2 ** 53,
  true,
  null,
  [],
  {},
  [null],
  [[[[]]]],
  { type: "nonsense" },
  { __proto__x: 1, constructor: 2 },
  "x".repeat(100_000),
];

test("there are routes to check", () => {
  expect(JSON_OPERATIONS.map(({ pattern }) => pattern)).toContain("/v1/chat/completions");
  expect(OPERATIONS.length).toBeGreaterThan(6);
});

describe.each(JSON_OPERATIONS)("$method $pattern", (operation) => {
  const { method, json } = operation;
  const send = (body: unknown) =>
    app.request(pathOf(operation), { method, headers: JSON_TYPE, body: JSON.stringify(body) });

  test("the example is right by its own schema", () => expect(json.isValid(json.example)).toBe(true));

  test("a wrong value in any field is refused, and the answer names the field", async () => {
    let refused = 0;
    for (const path of fieldPaths(json.schema, 3)) {
      for (const value of VALUES) {
        const body = withValue(json.example, path, value);
        const what = `${path.join(".")} = ${JSON.stringify(value).slice(0, 60)}`;
        const response = await send(body);
        if (json.isValid(body)) {
          await expectNoFault(response, what, operation.pattern);
          continue;
        }
        const error = await expectRefused(response, what, operation.pattern);
        if (![400, 422].includes(response.status)) continue; // the path's own trouble came first
        expect(`${error.param} ${error.message}`, what).toContain(String(path[0]));
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(3);
  });

  test("a missing field is refused", async () => {
    const required = json.schema["required"];
    for (const field of Array.isArray(required) ? required.map(String) : []) {
      const { [field]: _, ...body } = json.example;
      await expectRefused(await send(body), `without ${field}`, operation.pattern);
    }
  });

  test("fields that nobody knows do not matter", async () => {
    const plain = await send(json.example);
    const more = await send({ ...json.example, nobody_knows_this: { a: [1] }, toString: 1 });
    expect(more.status).toBe(plain.status);
  });
});

describe("methods", () => {
  const registered = new Map<string, Set<string>>();
  for (const { method, path } of app.app.routes) {
    if (path.includes("*") || method === "OPTIONS") continue;
    const methods = registered.get(path) ?? new Set();
    registered.set(path, methods.add(method));
    if (method === "GET") methods.add("HEAD");
  }

  test.each([...registered])("of %s: all others are 405 with Allow", async (path, methods) => {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]) {
      if (methods.has(method)) continue;
      const response = await app.request(path.replaceAll(/:\w+/g, "x"), {
        method,
        headers: { "x-svc-page": "1" },
      });
      expect(response.status, method).toBe(405);
      expect(response.headers.get("allow")?.split(", ")).toEqual([...methods].toSorted());
      if (method !== "HEAD") await expectRefused(response, method, path);
    }
  });
});

describe.each(OPERATIONS)("$method $pattern", (operation) => {
  const { method } = operation;
  const someBody = method === "GET" || method === "HEAD" ? {} : { body: "{}" };

  test("hostile ids in the path, words in the query, headers", async () => {
    const ids = [
      "..%2f..%2fetc%2fpasswd",
      "%00",
      "%ff%fe",
      "%2e%2e",
      "'%20OR%201=1",
      "x".repeat(5000),
      "%F0%9F%92%A9",
    ];
    for (const id of ids) {
      const response = await app.request(pathOf(operation, id), { method, headers: JSON_TYPE, ...someBody });
      await expectNoFault(response, id, operation.pattern);
    }
    const query = "?model=%ff&limit=abc&page=-1&after=%00&order=%20&a[b]=1&a=1&a=2&=&&&%";
    await expectNoFault(
      await app.request(pathOf(operation) + query, { method, headers: JSON_TYPE, ...someBody }),
      query,
      operation.pattern,
    );
    const headers = {
      ...JSON_TYPE,
      accept: "x/y",
      range: "bytes=9-1",
      authorization: "x",
      "x-api-key": "y".repeat(4000),
    };
    await expectNoFault(
      await app.request(pathOf(operation), { method, headers, ...someBody }),
      "headers",
      operation.pattern,
    );
  });
});

describe.each(OPERATIONS.filter(({ bodyTypes }) => bodyTypes.length > 0))("$method $pattern", (operation) => {
  const { method, bodyTypes } = operation;

  test("bodies of other types, too large ones, none", async () => {
    const path = pathOf(operation);
    for (const type of [
      "text/plain",
      "application/xml",
      "image/png",
      "multipart/form-data",
      "nonsense",
      "/;=,",
    ]) {
      if (bodyTypes.some((known) => type.startsWith(known))) continue;
      const response = await app.request(path, { method, headers: { "content-type": type }, body: "{}" });
      if (isOllama(path)) await expectNoFault(response, type, path);
      else await expectRefused(response, type, path);
    }
    const headers = { "content-type": bodyTypes[0] ?? "", "content-length": String(50 * 1024 * 1024 + 1) };
    const { status } = await app.request(path, { method, headers, body: "{}" });
    expect(operation.pattern.includes("{") ? [404, 413] : [413]).toContain(status); // nothing has that id
    const empty = { method, headers: { "content-type": bodyTypes[0] ?? "" } };
    if (operation.needsBody) await expectRefused(await app.request(path, empty), "none", path);
    else await expectNoFault(await app.request(path, empty), "none", path);
  });
});
