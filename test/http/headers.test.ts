// What every answer carries: the request id and CORS. And the two routes that need no model.

import { describe, expect, test } from "bun:test";
import { chatBody, testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

describe("x-request-id", () => {
  const paths = ["/health", "/v1/models", "/nope", "/docs", "/api-doc/openapi.json"];

  test.each(paths)("is echoed on %s", async (path) => {
    const response = await testApp().request(path, { headers: { "x-request-id": "my-id_1" } });
    expect(response.headers.get("x-request-id")).toBe("my-id_1");
  });

  test.each(["/v1/messages", "/v1/messages/count_tokens", "/v1/messages/batches"])(
    "is on %s under the name that its clients read, too",
    async (path) => {
      const { headers } = await testApp().post(path, {});
      expect(headers.get("request-id")).toBe(headers.get("x-request-id") ?? "none");
      expect((await testApp().request("/v1/models")).headers.has("request-id")).toBe(false);
    },
  );

  test("is made when absent or unusable, a fresh one each time", async () => {
    const app = testApp();
    const seen = new Set<string | null>();
    for (const headers of [{}, {}, { "x-request-id": "a b" }, { "x-request-id": "x".repeat(129) }]) {
      seen.add((await app.request("/health", { headers })).headers.get("x-request-id"));
    }
    expect(seen.size).toBe(4);
    for (const id of seen) expect(id).toMatch(/^req_[0-9A-Za-z]{24}$/);
  });

  test("stays away when switched off", async () => {
    const app = testApp(playing(answer("Hi")).generate, { requestIdHeader: false });
    for (const path of ["/v1/models", "/nope"]) {
      expect(
        (await app.request(path, { headers: { "x-request-id": "a" } })).headers.has("x-request-id"),
      ).toBe(false);
    }
  });

  test("is on streams and errors", async () => {
    const app = testApp();
    for (const body of [chatBody({ stream: true }), chatBody({ temperature: 9 })]) {
      expect((await app.post("/v1/chat/completions", body)).headers.has("x-request-id")).toBe(true);
    }
  });
});

describe("CORS", () => {
  const origin = { origin: "https://app.example" };

  test("a preflight of any path allows the methods and headers of the API", async () => {
    const headers = { ...origin, "access-control-request-method": "DELETE" };
    const response = await testApp().request("/v1/files/x", { method: "OPTIONS", headers });
    expect(response.status).toBe(204);
    const get = (name: string) => response.headers.get(`access-control-${name}`);
    expect(get("allow-origin")).toBe("*");
    expect(get("allow-methods")).toBe("GET, POST, PUT, DELETE");
    expect(get("allow-headers")?.toLowerCase().split(", ").toSorted().join(" ")).toBe(
      "anthropic-beta anthropic-version authorization content-type msgapi-beta msgapi-version x-api-key x-request-id",
    );
    expect(get("allow-credentials")).toBeNull();
  });

  test.each([
    "x-stainless-os, x-stainless-retry-count",
    "anthropic-dangerous-direct-browser-access",
    "openai-beta",
    "x-title,http-referer",
    "x-requested-with",
    "mcp-protocol-version, mcp-session-id",
  ])("a preflight that asks for %s gets it beside the usual ones", async (asked) => {
    const headers = {
      ...origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": `authorization,${asked},x-svc-run`,
    };
    const response = await testApp().request("/v1/chat/completions", { method: "OPTIONS", headers });
    const allowed = response.headers.get("access-control-allow-headers")?.toLowerCase().split(", ") ?? [];
    for (const name of [...asked.split(/, */), "authorization", "content-type"])
      expect(allowed).toContain(name);
    expect(allowed.filter((name) => name === "authorization")).toHaveLength(1);
    expect(allowed).not.toContain("x-svc-run");
  });

  test("a page that may not use a route gets the usual headers only", async () => {
    const originPolicy = { origins: [], hosts: [], foreign: "inference", otherPorts: true } as const;
    const headers = {
      ...origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-stainless-os",
    };
    const asked = async (path: string) => {
      const response = await testApp(undefined, { originPolicy }).request(path, {
        method: "OPTIONS",
        headers,
      });
      return response.headers.get("access-control-allow-headers");
    };
    expect(await asked("/v1/chat/completions")).toContain("x-stainless-os");
    expect(await asked("/v1/models/unload")).not.toContain("x-stainless-os");
  });

  test.each(["/health", "/nope", "/v1/chat/completions"])("answers of %s may be read", async (path) => {
    const { headers } = await testApp().request(path, { headers: origin });
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-expose-headers")).toBe("x-request-id");
  });

  test("streams may be read", async () => {
    const { headers } = await testApp().post("/v1/chat/completions", chatBody({ stream: true }));
    expect(headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("health", () => {
  test.each(["/health", "/"])("GET %s is ok without any model", async (path) => {
    const response = await testApp(playing([]).generate, { models: () => [] }).request(path);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
  });

  test("HEAD /health is ok", async () => {
    const response = await testApp().request("/health", { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });
});

test("GET /v1/models lists the models as cards", async () => {
  const response = await testApp(playing([]).generate, {
    models: () => [
      { id: "a", created: 1, kind: "text", ownedBy: "svc", status: "loaded" },
      { id: "b", created: 2, kind: "text", ownedBy: "local", status: "unloaded" },
    ],
  }).request("/v1/models");
  expect(await response.json()).toEqual({
    object: "list",
    data: [
      { id: "a", object: "model", created: 1, owned_by: "svc", kind: "text", status: "loaded" },
      { id: "b", object: "model", created: 2, owned_by: "local", kind: "text", status: "unloaded" },
    ],
  });
});
