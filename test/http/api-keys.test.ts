// The optional check of API keys.

import { describe, expect, test } from "bun:test";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { isOllama } from "../helpers/operations.ts";
import { answer, playing } from "../helpers/run-events.ts";

const KEYS = ["first-key", "second key with blanks"];
const locked = () => testApp(playing(answer("Hi")).generate, { apiKeys: new ApiKeys(KEYS) });

describe("with keys set", () => {
  const isOpen = (path: string): boolean =>
    ["/", "/health", "/ready", "/ui", "/ui/:file", "/ui/preview.html", "/v1/images/files/:name"].includes(
      path,
    );
  const routes = locked()
    .app.routes.filter(({ path }) => !isOpen(path) && !path.includes("*"))
    .map(({ method, path }) => [method, path] as const);

  test.each(routes.filter(([method]) => method !== "OPTIONS"))("%s %s needs one", async (method, path) => {
    const body = method === "GET" || method === "HEAD" ? {} : { body: "{" };
    const response = await locked().request(path, { method, ...body });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.has("x-request-id")).toBe(true);
    const { error } = await response.json();
    if (isOllama(path)) return expect(error).toContain("an API key is required");
    expect(error).toMatchObject({ code: "invalid_api_key", type: "authentication_error" });
    expect(error.message).not.toContain("first");
  });

  test("an unknown path tells nothing either", async () => {
    expect((await locked().request("/nope")).status).toBe(401);
  });

  test.each(["/health", "/ready", "/", "/ui/"])("%s needs none", async (path) => {
    expect((await locked().request(path)).status).toBe(200);
  });

  test("a preflight needs none", async () => {
    const headers = { origin: "https://app.example", "access-control-request-method": "POST" };
    expect((await locked().request("/v1/models", { method: "OPTIONS", headers })).status).toBe(204);
  });

  test.each<Record<string, string>>([
    { authorization: "Bearer first-key" },
    { authorization: "bearer  second key with blanks" },
    { "x-api-key": "first-key" },
    { "x-api-key": "second key with blanks" },
  ])("%j is let in", async (headers) => {
    expect((await locked().request("/v1/models", { headers })).status).toBe(200);
  });

  test.each<Record<string, string>>([
    { authorization: "Bearer first-ke" },
    { authorization: "Bearer first-keyy" },
    { authorization: "Basic first-key" },
    { authorization: "Bearer" },
    { authorization: "Bearer " },
    { "x-api-key": "" },
    { "x-api-key": "FIRST-KEY" },
    { "api-key": "first-key" },
    { authorization: `Bearer ${"x".repeat(8000)}` },
  ])("%j is not", async (headers) => {
    expect((await locked().request("/v1/models", { headers })).status).toBe(401);
  });
});

test("without keys whatever is sent is ignored", async () => {
  const headers = { "content-type": "application/json", authorization: "Bearer x", "x-api-key": "y" };
  const response = await testApp().post("/v1/chat/completions", chatBody(), { headers });
  expect(response.status).toBe(200);
});
