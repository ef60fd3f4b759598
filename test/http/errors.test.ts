// Every failure that HTTP itself can have, as the error object.

import { describe, expect, test } from "bun:test";
import { ERROR_TABLE, type ErrorCode, ServiceError } from "../../src/core/error.ts";
import { BODY_DRAIN_BYTES_MAX } from "../../src/http/limits.ts";
import { readJsonObject } from "../../src/http/body.ts";
import { errorResponse } from "../../src/http/errors.ts";
import { listen } from "../../src/http/server.ts";
import { chatBody, messagesBody, testApp } from "../helpers/app.ts";
import { isOllama, JSON_OPERATIONS, pathOf } from "../helpers/operations.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** Asserts that a response is an error object with this code and returns it. */
async function expectError(response: Response, code: ErrorCode): Promise<Record<string, unknown>> {
  const [status, type] = ERROR_TABLE[code];
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  const { type: beside, ...body } = await response.json();
  expect(["error", undefined]).toContain(beside);
  expect(Object.keys(body)).toEqual(["error"]);
  expect(body.error).toMatchObject({ code, type });
  expect(body.error.message).not.toBe("");
  return body.error;
}

test.each(Object.keys(ERROR_TABLE) as ErrorCode[])("the response of %s follows the table", async (code) => {
  const error = await expectError(errorResponse(new ServiceError(code, "why", { param: "field" })), code);
  expect(error).toEqual({ code, type: ERROR_TABLE[code][1], message: "why", param: "field" });
});

test("there are routes to check", () => {
  expect(JSON_OPERATIONS.map(({ pattern }) => pattern)).toContain("/v1/chat/completions");
});

// All that take JSON, so that a new one is covered without being listed.
const TYPED_OPERATIONS = JSON_OPERATIONS.filter(({ pattern }) => !isOllama(pattern)); // see ollama.test.ts

describe.each(TYPED_OPERATIONS)("bodies of $method $pattern", (operation) => {
  const send = (body: BodyInit | null, headers: Record<string, string> = JSON_TYPE) =>
    testApp().request(pathOf(operation), { method: operation.method, headers, body });

  test.each([
    ["malformed", '{"messages": [}'],
    ["cut off", '{"messages": ["a'],
    ["two values", "{} {}"],
    ["empty", ""],
    ["not UTF-8", Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)],
    ["nested rubbish", "[".repeat(100)],
  ])("%s", async (_, body) => {
    const error = await expectError(await send(body), "invalid_json");
    expect(error["message"]).not.toContain("messages");
  });

  test.each(["[]", "null", '"text"', "5"])("JSON that is not an object: %s", async (body) => {
    await expectError(await send(body), "invalid_request");
  });

  test.each([
    { "content-type": "text/plain" },
    { "content-type": "application/x-www-form-urlencoded" },
    { "content-type": "multipart/form-data; boundary=x" },
    { "content-type": "application/jsonp" },
    { ...JSON_TYPE, "content-encoding": "gzip" },
  ])("wrong media type %j", async (headers) => {
    await expectError(await send(JSON.stringify(chatBody()), headers), "unsupported_media_type");
  });

  test("a declared length over the limit is refused unread", async () => {
    const headers = { ...JSON_TYPE, "content-length": String(50 * 1024 * 1024 + 1) };
    await expectError(await send("{}", headers), "payload_too_large");
  });
});

test.each(["application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"])(
  "%s is JSON",
  async (type) => {
    const init = { method: "POST", headers: { "content-type": type }, body: JSON.stringify(chatBody()) };
    expect((await testApp().request("/v1/chat/completions", init)).status).toBe(200);
  },
);

describe("the size of a body without a declared length", () => {
  const chunked = (chunks: number) => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent++ === chunks) controller.close();
        else controller.enqueue(new Uint8Array(1000).fill(0x20));
      },
    });
    return { request: new Request("http://localhost/", { method: "POST", body }), sent: () => sent };
  };

  test("is counted while reading, which stops at a bound behind the limit", async () => {
    const { request, sent } = chunked(1_000_000);
    const refused = await readJsonObject(request, 10_000).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ServiceError);
    expect(refused).toMatchObject({ code: "payload_too_large" });
    expect(sent()).toBeLessThan((10_000 + BODY_DRAIN_BYTES_MAX) / 1000 + 20);
  });

  test("may be anything up to the limit", async () => {
    const refused = await readJsonObject(chunked(10).request, 10_000).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid_json" }); // blanks alone
  });
});

test("413 reaches a client over a socket, declared and chunked", async () => {
  const server = listen(testApp().app, { hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${server.port}/v1/chat/completions`;
  const big = new Uint8Array(51 * 1024 * 1024).fill(0x20);
  const stream = () => new Blob([big]).stream();
  try {
    for (const body of [big, stream()]) {
      await expectError(await fetch(url, { method: "POST", headers: JSON_TYPE, body }), "payload_too_large");
    }
  } finally {
    await server.stop(true);
  }
});

test("a path that is no UTF-8 is refused", async () => {
  for (const path of ["/v1/responses/%ff", "/v1/responses/%", "/%zz"]) {
    await expectError(await testApp().request(path), "invalid_request");
  }
});

describe("routes", () => {
  test.each([
    ["/chat/completions", "/v1/chat/completions"],
    ["/api/v0/models", "/v1/models"],
    ["/reranking", "/v1/rerank"],
    ["/embed", "/v1/embeddings"],
    ["/ping", "/health"],
    ["/nope", "GET /docs lists the routes"],
  ])("of another server, %s, is answered with the one to use", async (path, advice) => {
    const response = await testApp().request(path, { method: "POST", body: "{}" });
    expect(await response.text()).toMatch(new RegExp(`; (?:use )?${advice}"`));
  });

  test.each(["/nope", "/v1", "/v1/chat", "/v1/chat/completions/x", "/docs/nope.js"])(
    "unknown: %s",
    async (path) => {
      await expectError(await testApp().request(path), "route_not_found");
      await expectError(await testApp().request(path, { method: "POST", body: "{}" }), "route_not_found");
    },
  );

  test.each([
    ["GET", "/v1/chat/completions", "POST"],
    ["HEAD", "/v1/chat/completions", "POST"],
    ["DELETE", "/v1/chat/completions/", "POST"],
    ["POST", "/v1/models", "GET, HEAD"],
    ["PUT", "/health", "GET, HEAD"],
    ["PATCH", "/", "GET, HEAD"],
    ["GET", "/v1/responses", "POST"],
    ["POST", "/v1/responses/resp_1", "DELETE, GET, HEAD"],
    ["GET", "/v1/responses/resp_1/cancel", "POST"],
    ["POST", "/docs", "GET, HEAD"],
    ["POST", "/api-doc/openapi.json", "GET, HEAD"],
  ])("%s %s is not allowed", async (method, path, allowed) => {
    const response = await testApp().request(path, { method });
    expect(response.headers.get("allow")).toBe(allowed);
    if (method === "HEAD") expect(response.status).toBe(405);
    else await expectError(response, "method_not_allowed");
  });
});

test.each<[string, ErrorCode, object]>([
  ["/v1/chat/completions", "capability_disabled", chatBody({ tools: [{ type: "code_interpreter" }] })],
  ["/v1/chat/completions", "contradictory_fields", chatBody({ top_logprobs: 1 })],
  ["/v1/completions", "missing_field", {}],
  ["/v1/embeddings", "unsupported_value", { input: "a", dimensions: 8 }],
  ["/v1/messages", "capability_disabled", messagesBody({ enable_code_execution: true })],
  ["/v1/messages/count_tokens", "missing_field", {}],
  ["/v1/responses", "response_not_found", { input: "a", previous_response_id: "resp_none" }],
  ["/v1/responses/resp_none/cancel", "response_not_found", {}],
])("%s answers %s", async (path, code, body) => {
  await expectError(await testApp().post(path, body), code);
});

test.each([
  ["/v1/messages", "error"],
  ["/v1/messages/count_tokens", "error"],
  ["/v1/messages/nope", "error"],
  ["/v1/messagesnope", undefined],
  ["/v1/chat/completions", undefined],
])("beside the error of %s stands the type %p", async (path, type) => {
  expect((await (await testApp().post(path, {})).json()).type).toBe(type);
});

test("a bug is logged with the request's id and told without detail", async () => {
  const generate = () => {
    throw new TypeError("secret inside");
  };
  const app = testApp(generate);
  const response = await app.request("/v1/chat/completions", {
    method: "POST",
    headers: { ...JSON_TYPE, "x-request-id": "abc" },
    body: JSON.stringify(chatBody()),
  });
  const error = await expectError(response, "internal_error");
  expect(JSON.stringify(error)).not.toContain("secret");
  expect(app.logged).toHaveLength(1);
  expect(app.logged[0]).toStartWith("abc internal error: TypeError: secret inside");
});

test("a run that breaks the order of events is a bug, not an answer", async () => {
  async function* generate() {
    yield { type: "text", choice: 0, text: "early" } as const;
  }
  const app = testApp(generate);
  await expectError(await app.post("/v1/chat/completions", chatBody()), "internal_error");
  expect(app.logged[0]).toContain("a run began with text");
});

test.each([
  ["/v1/chat/completions", chatBody({ tool_choice: "required" })],
  ["/v1/responses", { input: "Hello", tool_choice: "required" }],
  ["/v1/messages", messagesBody({ tool_choice: { type: "any" } })],
])("%s: a tool call that must be made where there is no tool at all", async (path, body) => {
  const error = await expectError(await testApp().post(path, body), "invalid_request");
  expect(error).toMatchObject({ param: "tool_choice" });
});
