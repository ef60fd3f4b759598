// What GET /metrics says of HTTP requests, and that no client can make it say too much.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { listen } from "../../src/http/server.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { chatBody, testApp, textBody } from "../helpers/app.ts";
import { expectSound, samples, valueOf } from "../helpers/prometheus.ts";
import { ACCEPTED, answer, byHand, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

const CHAT = "/v1/chat/completions";
const CHAT_LABELS = { method: "POST", path: CHAT, model: "tiny" };

function measured(generate = playing(answer("Hi", " there")).generate) {
  const metrics = new Metrics();
  const app = testApp(generate, { metrics });
  const scrape = async (): Promise<string> => (await app.request("/metrics")).text();
  return { ...app, scrape };
}

test("the exposition is valid before and after all kinds of requests", async () => {
  const { request, post, scrape } = measured();
  expectSound(await scrape());
  await post(CHAT, chatBody());
  await (await post(CHAT, chatBody({ stream: true }))).text();
  await post(CHAT, chatBody({ model: 'a"b\\c\nd' }));
  await request("/nope");
  const text = await scrape();
  expectSound(text);
  expect(samples(text).length).toBeGreaterThan(100);
});

test("no request stays in flight if the framework fails", async () => {
  const metrics = new Metrics();
  const fails = () => {
    throw new TypeError("a bug");
  };
  const app = testApp(fails, { metrics, log: fails });
  await app.post(CHAT, chatBody()).catch(() => undefined);
  expect(valueOf(await metrics.text(), "http_requests_in_flight", CHAT_LABELS) ?? 0).toBe(0);
  expect(valueOf(await metrics.text(), "http_requests_total", { ...CHAT_LABELS, status: "500" })).toBe(1);
});

test("its type is that of the exposition format", async () => {
  const { headers } = await measured().request("/metrics");
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
});

test("disabled metrics are a 503", async () => {
  const response = await testApp().request("/metrics");
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    error: { code: "metrics_unavailable", type: "server_error" },
  });
});

describe("labels", () => {
  test.each<[string, string, RequestInit, Readonly<Record<string, string>>]>([
    ["a served model", CHAT, json(chatBody({ model: "tiny" })), { ...CHAT_LABELS, status: "200" }],
    ["none named", CHAT, json(chatBody()), { ...CHAT_LABELS, status: "200" }],
    ["default", CHAT, json(chatBody({ model: "default" })), { ...CHAT_LABELS, status: "200" }],
    ["null", "/v1/completions", json(textBody({ model: null })), { model: "tiny", status: "200" }],
    ["not a text", CHAT, json(chatBody({ model: 5 })), { model: "unknown", status: "400" }],
    ["no JSON", CHAT, json("{"), { path: CHAT, model: "unknown", status: "400" }],
    ["no body", CHAT, { method: "POST" }, { path: CHAT, model: "unknown", status: "400" }],
    [
      "wrong type",
      CHAT,
      { ...json("{}"), headers: { "content-type": "text/plain" } },
      { path: CHAT, model: "unknown", status: "415" },
    ],
    [
      "no model needed",
      "/v1/models",
      {},
      { method: "GET", path: "/v1/models", model: "none", status: "200" },
    ],
    ["trailing slash", "/v1/models/?a=b", {}, { path: "/v1/models", model: "none", status: "200" }],
    ["no route", "/v1/nope?model=tiny", {}, { path: "<unmatched>", model: "none", status: "404" }],
    [
      "wrong method",
      CHAT,
      { method: "DELETE" },
      { method: "DELETE", path: CHAT, model: "none", status: "405" },
    ],
  ])("%s", async (_, path, init, labels) => {
    const { request, scrape } = measured();
    await request(path, init);
    const text = await scrape();
    expect(valueOf(text, "http_requests_total", labels)).toBe(1);
    expect(valueOf(text, "http_request_duration_seconds_count", labels)).toBe(1);
    const underWay = samples(text).filter(
      ({ name, value }) => name === "http_requests_in_flight" && value > 0,
    );
    expect(underWay).toEqual([]);
  });

  test("default is the model that answers the route", async () => {
    const card = { kind: "text", created: 0, ownedBy: "svc", status: "loaded" } as const;
    const none = { generates: false, embeds: false, ranks: false, fillsGaps: false, thinks: false };
    const metrics = new Metrics();
    const { post, request } = testApp(undefined, {
      metrics,
      models: () => [
        { ...card, id: "vectors", abilities: { ...none, embeds: true } },
        { ...card, id: "scores", abilities: { ...none, ranks: true } },
        { ...card, id: "words", abilities: { ...none, generates: true } },
      ],
    });
    await post(CHAT, chatBody());
    await post("/v1/embeddings", { input: "a" });
    await post("/v2/rerank", { query: "a", documents: ["b"] });
    const text = await (await request("/metrics")).text();
    for (const [path, model] of [
      [CHAT, "words"],
      ["/v1/embeddings", "vectors"],
      ["/v2/rerank", "scores"],
    ] as const)
      expect(valueOf(text, "http_requests_total", { path, model, status: "200" })).toBe(1);
  });

  test("the size of a body is recorded, if any", async () => {
    const { request, post, scrape } = measured();
    await post(CHAT, chatBody());
    await request("/v1/models");
    const text = await scrape();
    const bytes = JSON.stringify(chatBody()).length;
    expect(valueOf(text, "http_request_body_bytes_sum", CHAT_LABELS)).toBe(bytes);
    expect(valueOf(text, "http_request_body_bytes_count", { path: "/v1/models" })).toBeUndefined();
  });

  test.each([
    ["/health", "GET"],
    ["/", "GET"],
    ["/metrics", "GET"],
    ["/docs", "GET"],
    ["/docs/swagger-ui.css", "GET"],
    ["/api-doc/openapi.json", "GET"],
    ["/ui", "GET"],
    ["/ui/app.js", "GET"],
    [CHAT, "OPTIONS"],
  ])("%s %s is not counted", async (path, method) => {
    const { request, scrape } = measured();
    await request(path, { method });
    const counted = samples(await scrape()).filter(
      ({ name, value }) => name.startsWith("http_") && value > 0,
    );
    expect(counted).toEqual([]);
  });
});

test("the number of series is bounded for any input", async () => {
  const { app, scrape } = measured();
  const word = fc.stringMatching(/^[\w%~-]{1,20}$/);
  const method = fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "PROPFIND", "SEARCH");
  const path = fc.oneof(
    fc.array(word, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join("/")}`),
    word.map((name) => `/v1/${name}`),
    fc.constantFrom(CHAT, "/v1/models", "/v1/embeddings"),
  );
  const cases = fc.sample(fc.record({ method, path, model: word, query: word }), { numRuns: 1000, seed: 5 });
  for (const { method, path, model, query } of cases) {
    const body = method === "GET" || method === "HEAD" ? {} : { body: JSON.stringify({ model }) };
    await app.handle(new Request(`http://localhost${path}?${query}=${query}`, { method, ...body }));
  }
  const text = await scrape();
  expectSound(text);
  const series = samples(text).filter(({ name }) => name === "http_requests_total");
  expect(series.reduce((sum, { value }) => sum + value, 0)).toBe(1000);
  const values = (label: string) => new Set(series.map(({ labels }) => labels[label]));
  expect(values("path")).toEqual(new Set(["<unmatched>", CHAT, "/v1/embeddings", "/v1/models"]));
  expect(values("model")).toEqual(new Set(["none", "unknown"]));
  expect(values("method")).toEqual(new Set(["DELETE", "GET", "HEAD", "OTHER", "PATCH", "POST", "PUT"]));
  expect(series.length).toBeLessThan(60);
});

describe("streams", () => {
  const STREAM_LABELS = { ...CHAT_LABELS, status: "200" };

  test("are in flight until the last byte, and tokens are timed", async () => {
    const runs = byHand();
    const { post, scrape } = measured(runs.generate);
    const pending = post(CHAT, chatBody({ stream: true }));
    const run = await runs.next();
    run.emit(ACCEPTED);
    const reading = (await pending).text();
    run.emit(text("a"), text("b"), text("c"));
    await until("three tokens taken", () => run.taken() === 4);
    const during = await scrape();
    expect(valueOf(during, "http_requests_in_flight", CHAT_LABELS)).toBe(1);
    expect(valueOf(during, "http_requests_total", CHAT_LABELS)).toBeUndefined();
    run.emit(end(), FINISH);
    await reading;
    const after = await scrape();
    expect(valueOf(after, "http_requests_in_flight", CHAT_LABELS)).toBe(0);
    expect(valueOf(after, "http_requests_total", STREAM_LABELS)).toBe(1);
    expect(valueOf(after, "svc_time_to_first_token_seconds_count", STREAM_LABELS)).toBe(1);
    expect(valueOf(after, "svc_inter_token_latency_seconds_count", STREAM_LABELS)).toBe(2);
    expect(valueOf(after, "svc_inter_token_latency_seconds_sum", STREAM_LABELS)).toBeLessThanOrEqual(
      valueOf(after, "http_request_duration_seconds_sum", STREAM_LABELS) ?? 0,
    );
  });

  test("gaps between choices are not gaps between tokens", async () => {
    const events = [
      ACCEPTED,
      text("a", 0),
      text("b", 1),
      text("c", 1),
      end("stop", 0),
      end("stop", 1),
      FINISH,
    ];
    const { post, scrape } = measured(playing(events).generate);
    await (await post(CHAT, chatBody({ stream: true, n: 2 }))).text();
    expect(valueOf(await scrape(), "svc_inter_token_latency_seconds_count", STREAM_LABELS)).toBe(1);
  });

  test("an answer that is not streamed has no token times", async () => {
    const { post, scrape } = measured();
    await post(CHAT, chatBody());
    expect(valueOf(await scrape(), "svc_time_to_first_token_seconds_count")).toBeUndefined();
  });

  test("of disconnected clients do not stay in flight", async () => {
    const runs = byHand();
    const { app, scrape } = measured(runs.generate);
    const server = listen(app, { hostname: "127.0.0.1", port: 0 });
    const url = `http://127.0.0.1:${server.port}${CHAT}`;
    const start = async (stream: boolean, accept: boolean) => {
      const leave = new AbortController();
      const pending = fetch(url, { ...json(chatBody({ stream })), signal: leave.signal }).catch(
        () => undefined,
      );
      const run = await runs.next();
      if (accept) run.emit(ACCEPTED, text("a"));
      if (accept && stream) await (await pending)?.body?.getReader().read();
      return { leave, run };
    };
    try {
      const all = [await start(true, true), await start(true, false), await start(false, true)];
      const labels = CHAT_LABELS;
      expect(valueOf(await scrape(), "http_requests_in_flight", labels)).toBe(3);
      for (const { leave } of all) leave.abort();
      await Promise.all(all.map(({ run }) => run.closed));
      await until(
        "nothing is in flight",
        async () => valueOf(await scrape(), "http_requests_in_flight", labels) === 0,
      );
      expect(valueOf(await scrape(), "http_requests_total", { ...labels, status: "200" })).toBe(1);
    } finally {
      await server.stop(true);
    }
  });
});

function json(body: unknown): RequestInit {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { method: "POST", headers: { "content-type": "application/json" }, body: text };
}
