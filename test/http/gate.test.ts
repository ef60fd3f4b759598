// Every route of the application, as the router has it, asked over a socket by all who may not: without a key, with a wrong one, with
// Host headers of every wrong form, from pages of other origins. A route that is added later is walked too.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { History } from "../../src/core/history.ts";
import type { ObservedRequest } from "../../src/core/telemetry.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { listen, type Listening } from "../../src/http/server.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { absentHub, noAdapters, testApp } from "../helpers/app.ts";

const seen: ObservedRequest[] = [];
/** Everything that a server may have. */
const WHOLE = {
  adapters: { ...noAdapters, isMutable: true },
  hub: absentHub(),
  history: () => ({ list: () => [], changes: () => [] }) as unknown as History,
  metrics: new Metrics(),
  accessLog: (request: ObservedRequest) => void seen.push(request),
};
const POLICY = {
  origins: ["https://app.example"],
  hosts: ["box"],
  foreign: "inference",
  otherPorts: true,
} as const;
const HOSTS = { allowed: [], own: ["box"] };

const locked = testApp(undefined, { ...WHOLE, apiKeys: new ApiKeys(["right"]) });
const open = testApp(undefined, { ...WHOLE, originPolicy: POLICY, hostPolicy: HOSTS });
const acting = testApp(undefined, {
  ...WHOLE,
  originPolicy: { ...POLICY, foreign: "none", otherPorts: false },
  hostPolicy: HOSTS,
});

const ROUTES = locked.app.routes
  .filter(({ method }) => method !== "OPTIONS")
  .map(({ method, path }) => [method, path.replaceAll(/:\w+|\*/g, "some-id")] as const);

/** Without a key. Written out, so that a route does not open by a rule that nobody looked at. */
const KEYLESS = new Set(["/", "/health", "/ready", "/ui", "/ui/preview.html"]);
const DOCUMENTS = new Set([
  ...KEYLESS,
  "/docs",
  "/docs/swagger-ui.js",
  "/docs/swagger-ui.css",
  "/api-doc/openapi.json",
  "/openapi.json",
]);
const INFERENCE = new Set([
  "GET /v1/models",
  "GET /v1/models/some-id",
  "POST /v1/chat/completions",
  "POST /v1/chat/completions/input_tokens",
  "POST /v1/completions",
  "POST /v1/responses",
  "POST /v1/responses/compact",
  "POST /v1/responses/input_tokens",
  "POST /v1/messages",
  "POST /v1/messages/count_tokens",
  "POST /v1/embeddings",
  "POST /v1/rerank",
  "POST /v2/rerank",
  "POST /rerank",
  "POST /infill",
  "POST /v1/images/generations",
  "GET /v1/images/files/some-id",
  "POST /v1/audio/speech",
  "GET /v1/audio/voices",
]);

/** Needs no key, but its random name. */
const IMAGE_FILE = "/v1/images/files/some-id";

let servers: Readonly<Record<"locked" | "open" | "acting", Listening>>;
beforeAll(() => {
  const on = ({ app }: typeof locked) => listen(app, { hostname: "127.0.0.1", port: 0 });
  servers = { locked: on(locked), open: on(open), acting: on(acting) };
});
afterAll(() => Promise.all(Object.values(servers).map((server) => server.stop(true))));

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly version?: "1.0" | "1.1";
}

/** Status and body of the answer. */
async function ask({ port }: Listening, { method, target, headers, version = "1.1" }: Asked) {
  const body = method === "GET" ? "" : "{}";
  const lines = [
    ...headers,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "connection: close",
  ];
  const text = `${method} ${target} HTTP/${version}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
  const got = await new Promise<string>((resolve, reject) => {
    let pieces = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("data", (piece) => (pieces += piece.toString()));
    socket.on("error", reject);
    socket.on("close", () => resolve(pieces));
  });
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(got)?.[1]), answer: got };
}

const HOST = "host: localhost";
const WRONG_HOSTS: readonly (readonly string[])[] = [
  ["host:"],
  ["host: a/health?"],
  ["host: /ui/x.js#"],
  ["host: a b"],
  ["host: u@localhost"],
  ["host: localhost:99999"],
  ["host: [::1"],
  ["host: a%2fb"],
  ["host: 999.1.1.1"],
  ["host: localhost", "host: localhost"],
  ["host: localhost", "host: other"],
];

describe("with keys, a request without the right one", () => {
  test.each(ROUTES)("gets nothing of %s %s", async (method, target) => {
    const isFile = target === IMAGE_FILE; // there is none of this name
    const isOpen = KEYLESS.has(target) || isFile;
    const expected = isFile ? [404] : isOpen ? [200, 308] : [401];
    for (const key of [[], ["authorization: Bearer wrong"], ["x-api-key: wrong"]]) {
      expect(expected).toContain(
        (await ask(servers.locked, { method, target, headers: [HOST, ...key] })).status,
      );
    }
    for (const headers of WRONG_HOSTS)
      expect((await ask(servers.locked, { method, target, headers })).status, headers.join()).toBe(400);
    expect((await ask(servers.locked, { method, target, headers: [] })).status).toBe(400);
    expect(expected).toContain(
      (await ask(servers.locked, { method, target, headers: [], version: "1.0" })).status,
    );
    if (isOpen) return;
    for (const variant of [
      `/${target}`,
      `http://x${target}`,
      `http://x/${target}`,
      `/x/..${target}`,
      `/.${target}`,
    ])
      expect((await ask(servers.locked, { method, target: variant, headers: [HOST] })).status, variant).toBe(
        401,
      );
  });
});

describe("a foreign page", () => {
  const isForPages = (method: string, target: string): boolean =>
    DOCUMENTS.has(target) || INFERENCE.has(`${method} ${target}`);
  const statusFrom = async (name: "open" | "acting", asked: Asked): Promise<number> =>
    (await ask(servers[name], asked)).status;

  test.each(ROUTES)("of another origin at %s %s", async (method, target) => {
    const isRefused = !isForPages(method, target);
    const from = (origin: string) => ({
      method,
      target,
      headers: ["host: localhost:1234", `origin: ${origin}`],
    });
    for (const origin of ["https://evil.example", "null", "http://localhost.evil.example:1234"]) {
      expect((await statusFrom("open", from(origin))) === 403, origin).toBe(isRefused);
      expect((await statusFrom("acting", from(origin))) === 403, origin).toBe(!DOCUMENTS.has(target));
    }
    for (const origin of ["http://localhost:3000", "http://127.0.0.1", "http://box:80"])
      expect((await statusFrom("acting", from(origin))) === 403, origin).toBe(!DOCUMENTS.has(target));
  });

  test.each(ROUTES)("without an origin at %s %s", async (method, target) => {
    const isRefused = !isForPages(method, target);
    for (const site of ["cross-site", "same-site"]) {
      const asked = { method, target, headers: [HOST, `sec-fetch-site: ${site}`] };
      for (const name of ["open", "acting"] as const)
        expect((await statusFrom(name, asked)) === 403, `${name} ${site}`).toBe(isRefused);
    }
  });

  test.each(ROUTES)("under a name that was made to point here at %s %s", async (method, target) => {
    const asked = { method, target, headers: ["host: evil.example", "origin: http://evil.example"] };
    const isProbe = ["/", "/health", "/ready"].includes(target);
    expect(await statusFrom("open", asked)).toBe(isProbe ? 200 : 421);
  });
});

test.each(ROUTES)("programs and the server's own page may use %s %s", async (method, target) => {
  const own = ["http://localhost:1234", "http://127.0.0.1:1234", "http://box:1234", "https://app.example"];
  const page = own.map((origin) => ["host: localhost:1234", `origin: ${origin}`]);
  const forwarded = ["host: box.lan:8080", "origin: http://box.lan:8080", "sec-fetch-site: same-origin"];
  for (const headers of [[HOST], ...page, forwarded, ["host: 10.1.2.3", "origin: http://10.1.2.3"]]) {
    const asked = { method, target, headers: [...headers, "x-svc-page: 1"] };
    expect([401, 403, 421], headers.join()).not.toContain((await ask(servers.acting, asked)).status);
  }
});

describe("a target", () => {
  const key = "authorization: Bearer right";
  test.each([
    ["//v1/models", [HOST], "1.1"],
    ["/v1//models", [HOST], "1.1"],
    ["/v1/models/", [HOST], "1.1"],
    ["http://x/v1/models", [HOST], "1.1"],
    ["http://x//v1/models?a=//", [], "1.0"],
    ["/v1/models", [], "1.0"],
    ["/v1/models", ["host: [::1]:1234"], "1.1"],
    ["/v1/models", ["host: under_score.lan"], "1.1"],
    ["/v1/models#/health", [HOST], "1.1"],
  ] as const)("%s with %j in HTTP/%s is served", async (target, headers, version) => {
    seen.length = 0;
    const { status, answer } = await ask(servers.locked, {
      method: "GET",
      target,
      headers: [...headers, key],
      version,
    });
    expect(status).toBe(200);
    expect(answer).toContain('"object":"list"');
    expect(seen.map(({ path }) => path.replace(/\/$/, ""))).toEqual(["/v1/models"]);
  });

  test("is logged as the router saw it, whatever its Host; so is one that is refused", async () => {
    seen.length = 0;
    for (const headers of [["host:"], ["host: a/health?"]])
      await ask(servers.locked, { method: "POST", target: "/re_isq", headers });
    expect(seen.map(({ path, status, error }) => [path, status, error])).toEqual([
      ["/re_isq", 400, "invalid_request"],
      ["/re_isq", 400, "invalid_request"],
    ]);
  });
});
