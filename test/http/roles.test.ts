// What each role may do, over the whole table of routes, and who a proxy's people are. A route that is added later is an
// administrator's until somebody names it here and in route-rules.ts.

import { describe, expect, test } from "bun:test";
import { people } from "../../src/app/people.ts";
import {
  type Account,
  accountOf,
  type AccountFields,
  keyDigest,
  mayUse,
  ownerOf,
} from "../../src/core/account.ts";
import type { ModelControl } from "../../src/core/model-info.ts";
import type { History } from "../../src/core/history.ts";
import { Admission } from "../../src/http/admission.ts";
import { ApiKeys, type OtherAccounts } from "../../src/http/api-keys.ts";
import type { HttpDeps } from "../../src/http/deps.ts";
import { cameOn } from "../../src/http/connection.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { absentHub, chatBody, noAdapters, obedientModel, testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

const WHOLE = {
  adapters: { ...noAdapters, isMutable: true },
  hub: absentHub(),
  history: () => ({ list: () => [], changes: () => [] }) as unknown as History,
  metrics: new Metrics(),
};

function named(name: string, key: string, fields: AccountFields) {
  return { digest: keyDigest(key), account: accountOf(fields, { owner: ownerOf("name", name), name }) };
}

function appOf(others: OtherAccounts, keys: readonly string[] = [], more: Partial<HttpDeps> = {}) {
  const apiKeys = new ApiKeys(keys, others);
  const admission = new Admission({
    keys: apiKeys,
    addressOf: (peer) => peer,
    placesOf: () => 8,
    isCrowded: () => false,
  });
  return testApp(playing(answer("Hi")).generate, { ...WHOLE, apiKeys, admission, ...more });
}

const KEYS = [named("anna", "annas", { role: "user" }), named("boss", "bosss", { role: "admin" })];
const team = appOf({ named: () => KEYS });

/** Written out, so that a route does not open for users by a rule that nobody looked at. */
const USERS = new Set([
  "GET /v1/models/*",
  "DELETE /ui/history/:id",
  "DELETE /ui/runs/:id",
  "DELETE /v1/files/:id",
  "DELETE /v1/responses/:response_id",
  "DELETE /v1/sessions/:session_id",
  "GET /",
  "GET /api-doc/openapi.json",
  "GET /api/ps",
  "GET /api/tags",
  "GET /api/version",
  "GET /docs",
  "GET /docs/swagger-ui.css",
  "GET /docs/swagger-ui.js",
  "GET /health",
  "GET /openapi.json",
  "GET /ready",
  "GET /ui",
  "GET /ui/:file",
  "GET /ui/history",
  "GET /ui/history/:id",
  "GET /ui/mcp",
  "GET /ui/preview.html",
  "GET /ui/runs/:id",
  "GET /v1/audio/voices",
  "GET /v1/containers/:container_id/files",
  "GET /v1/containers/:container_id/files/:file_id",
  "GET /v1/containers/:container_id/files/:file_id/content",
  "GET /v1/files",
  "GET /v1/files/:id",
  "GET /v1/files/:id/content",
  "GET /v1/images/files/:name",
  "GET /v1/mcp/prompts",
  "GET /v1/mcp/resources",
  "GET /v1/me",
  "GET /v1/models",
  "GET /v1/models/:id",
  "GET /v1/responses/:response_id",
  "GET /v1/responses/:response_id/input_items",
  "GET /v1/sessions/:session_id",
  "GET /v1/skills",
  "GET /v1/skills/:skill_id/versions",
  "GET /v1/usage",
  "POST /api/chat",
  "POST /api/embed",
  "POST /api/embeddings",
  "POST /api/generate",
  "POST /api/show",
  "POST /infill",
  "POST /v1/agent/approvals/:approval_id",
  "POST /v1/audio/speech",
  "POST /v1/chat/completions",
  "POST /v1/chat/completions/input_tokens",
  "POST /v1/completions",
  "POST /v1/embeddings",
  "POST /v1/files",
  "POST /v1/images/generations",
  "POST /v1/mcp/prompts",
  "POST /v1/mcp/resources",
  "POST /v1/messages",
  "POST /v1/messages/count_tokens",
  "POST /v1/models/status",
  "POST /v1/rerank",
  "POST /v1/responses",
  "POST /v1/responses/:response_id/cancel",
  "POST /v1/responses/compact",
  "POST /v1/responses/input_tokens",
  "POST /v1/sessions/:session_id/fork",
  "POST /v2/rerank",
  "POST /rerank",
  "PUT /ui/history/:id",
  "PUT /v1/sessions/:session_id",
]);

describe("a user's key", () => {
  const routes = team.app.routes.flatMap(({ method, path }) =>
    method === "OPTIONS" ? [] : [[method, path] as const],
  );

  test.each(routes)("%s %s", async (method, path) => {
    const target = path === "/ui/:file" ? "/ui/x.js" : path.replaceAll(/:\w+|\*/g, "some-id");
    const as = async (key: string) => {
      const headers = {
        authorization: `Bearer ${key}`,
        "x-svc-page": "1",
        "content-type": "application/json",
      };
      const body = method === "GET" ? {} : { body: "{" };
      const response = await team.request(target, { method, headers, ...body });
      return { status: response.status, text: await response.text() };
    };
    const [user, admin] = [await as("annas"), await as("bosss")];
    const isDenied = user.status === 403 && user.text.includes("administrators");
    expect(isDenied).toBe(!USERS.has(`${method} ${path}`));
    expect(admin.text).not.toContain("administrators");
    if (isDenied && !path.startsWith("/api/"))
      expect(JSON.parse(user.text).error).toMatchObject({
        code: "permission_denied",
        type: "permission_error",
      });
  });

  test("an unknown path is unknown to users, too", async () => {
    expect((await team.request("/v1/nope", { headers: { "x-api-key": "annas" } })).status).toBe(404);
  });

  test("one that has expired is none", async () => {
    const late = appOf({ named: () => [named("late", "k", { expires: "2020-01-01" })] });
    expect((await late.request("/v1/models", { headers: { "x-api-key": "k" } })).status).toBe(401);
  });

  test.each(["2027-13-45", "2027-02-30", "2027-01-31T25:00:00Z"])(
    "one that ends on %s is none",
    (expires) => {
      const keys = new ApiKeys([], { named: () => [named("late", "k", { expires })] });
      expect(keys.accountOf(new Headers({ "x-api-key": "k" }), () => "")).toBeUndefined();
    },
  );

  test.each([
    ["/api/generate", { model: "tiny" }],
    ["/api/chat", { model: "TINY:latest", messages: [] }],
    ["/api/embed", { model: "tiny", input: [] }],
    ["/api/show", { model: "tiny" }],
    ["/v1/models/status", { model_id: "tiny" }],
  ])("neither loads nor describes a model that it may not use: %s %j", async (path, body) => {
    const asked: string[] = [];
    const models = obedientModel();
    const control: ModelControl = {
      ...models,
      ensureLoaded: async (id) => {
        asked.push(id);
        return models.status(id);
      },
    };
    const limited = [named("lim", "k", { models: ["other"] }), named("all", "all", {})];
    const apiKeys = new ApiKeys([], { named: () => limited });
    const admission = new Admission({
      keys: apiKeys,
      addressOf: String,
      placesOf: () => 8,
      isCrowded: () => false,
    });
    const app = testApp(playing(answer("Hi")).generate, { ...WHOLE, apiKeys, admission, control });
    const headers = (key: string) => ({ "content-type": "application/json", "x-api-key": key });
    const status = async (key: string) => (await app.post(path, body, { headers: headers(key) })).status;
    expect(await status("k")).toBe(403);
    expect(asked).toEqual([]);
    expect(await status("all")).toBe(200);
  });

  test("lists no voice that it may not use", async () => {
    const voice = { kind: "speech", created: 0, ownedBy: "svc", status: "loaded" } as const;
    const limited = [named("lim", "k", { models: ["other"] })];
    const app = appOf({ named: () => limited }, [], {
      models: () => ["hibari", "other"].map((id) => ({ ...voice, id })),
    });
    const listed = await app.request("/v1/audio/voices", { headers: { "x-api-key": "k" } });
    expect(await listed.json()).toEqual({ voices: [{ id: "other", name: "other" }] });
  });
});

describe("keys that change", () => {
  test("count at once; without any left the server stays locked", async () => {
    let keys: typeof KEYS | undefined;
    const app = appOf({ named: () => keys });
    const status = async (key?: string) =>
      (await app.request("/v1/models", { headers: key === undefined ? {} : { "x-api-key": key } })).status;
    expect(await status()).toBe(200);
    keys = KEYS;
    expect([await status(), await status("annas")]).toEqual([401, 200]);
    keys = [];
    expect([await status(), await status("annas")]).toEqual([401, 401]);
  });
});

describe("people whom a proxy has signed in", () => {
  const entries: Readonly<Record<string, AccountFields>> = { "root@x": { role: "admin", rpm: 5 } };
  const person = people({
    userHeader: "x-auth-request-email",
    groupsHeader: "x-auth-request-groups",
    proxies: ["10.0.0.0/8"],
    adminGroups: ["ops"],
    userGroups: ["staff", "lab"],
    entryOf: (user) => entries[user],
  });
  const whoIs = (peer: string, user: string, groups = "staff"): Account | undefined =>
    person(peer, new Headers({ "x-auth-request-email": user, "x-auth-request-groups": groups }));

  test("count from a trusted address only", () => {
    expect(whoIs("10.1.2.3", "anna@x")).toMatchObject({ name: "anna@x", role: "user", isAmbient: true });
    expect(whoIs("192.0.2.1", "anna@x")).toBeUndefined();
    expect(whoIs("", "anna@x")).toBeUndefined();
  });

  test("have names in UTF-8, or in Latin-1 from older proxies", () => {
    const utf8 = Buffer.from("renée@x").toString("latin1");
    expect([whoIs("10.1.2.3", utf8)?.name, whoIs("10.1.2.3", "renée@x")?.name]).toEqual([
      "renée@x",
      "renée@x",
    ]);
  });

  test.each(["", "anna@x, root@x", "anna@x,root@x", " "])("the name %j is nobody's", (user) => {
    expect(whoIs("10.1.2.3", user)).toBeUndefined();
  });

  test("groups decide the role, an entry of one's own before them", () => {
    expect(whoIs("10.1.2.3", "a@x", "staff, ops")?.role).toBe("admin");
    expect(whoIs("10.1.2.3", "root@x", "")).toMatchObject({
      role: "admin",
      limits: { requestsPerMinute: 5 },
    });
    expect(() => whoIs("10.1.2.3", "a@x", "guests")).toThrow("none of the groups");
    expect(whoIs("10.1.2.3", "a@x")?.owner).not.toBe(whoIs("10.1.2.3", "b@x")?.owner);
  });

  const app = appOf({ person });
  const asked = (peer: string, headers: Record<string, string>, path = "/v1/chat/completions") => {
    const request = new Request(`http://localhost:1234${path}`, {
      method: path === "/metrics" ? "GET" : "POST",
      headers: { "content-type": "application/json", ...headers },
      ...(path === "/metrics" ? {} : { body: JSON.stringify(chatBody()) }),
    });
    cameOn(request, { peer: () => peer, peerPort: () => 0, ownPort: 0, answered: () => undefined });
    return app.app.handle(request);
  };
  const ANNA = { "x-auth-request-email": "anna@x", "x-auth-request-groups": "staff" };

  test("need no key, and get what their role allows", async () => {
    expect((await asked("10.1.2.3", ANNA)).status).toBe(200);
    expect((await asked("10.1.2.3", { ...ANNA, authorization: "Bearer the-proxys-own" })).status).toBe(200);
    expect((await asked("10.1.2.3", ANNA, "/metrics")).status).toBe(403);
    expect((await asked("192.0.2.1", ANNA)).status).toBe(401);
    expect((await asked("10.1.2.3", {})).status).toBe(401);
    expect((await asked("10.1.2.3", { ...ANNA, "x-auth-request-groups": "guests" })).status).toBe(403);
  });
});

test("names of models fit by stars", () => {
  const models = ["qwen*", "a*c*e", "exact"];
  const fitting = ["qwen", "qwen3-8b", "abcde", "ace", "exact"];
  const others = ["Qwen3", "xqwen", "ac", "ae", "abce-", "exactly", ""];
  expect(fitting.map((name) => mayUse({ models }, [name]))).toEqual(fitting.map(() => true));
  expect(others.map((name) => mayUse({ models }, [name]))).toEqual(others.map(() => false));
});
