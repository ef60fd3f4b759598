// The last day of a server: samples of metrics, and lines of the log, within their bounds.

import { describe, expect, test } from "bun:test";
import { LogDay, MetricsDay } from "../../src/metrics/day.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { charts } from "../../ui/pages/metrics-series.ts";
import { parseExposition } from "../../ui/api/exposition.ts";
import { scrapesOf } from "../../ui/pages/metrics-history.ts";
import { pageApp as testApp } from "../helpers/app.ts";

const TEXT = [
  "# TYPE http_requests_total counter",
  'http_requests_total{method="GET",path="/a,le=x"} 3',
  'http_requests_total{method="POST",path="/b"} 4',
  'svc_time_to_first_token_seconds_bucket{le="0.1",model="a"} 2',
  'svc_time_to_first_token_seconds_bucket{model="b",le="0.1"} 1',
  'svc_other_total{le="0.1"} 9',
  "svc_kv_cells 64",
].join("\n");

describe("samples of metrics", () => {
  test("are sums over labels, of what the charts read", async () => {
    const day = new MetricsDay(async () => TEXT);
    await day.take(1);
    expect(day.columns()).toEqual({
      at: [1],
      series: {
        http_requests_total: [7],
        'svc_time_to_first_token_seconds_bucket{le="0.1"}': [3],
        svc_kv_cells: [64],
      },
    });
  });

  test("give the charts the same values as the metrics themselves", async () => {
    const metrics = new Metrics();
    metrics.newEngine();
    metrics.watchRoute("GET", "/v1/models", "none");
    const day = new MetricsDay(() => metrics.text());
    await day.take(1);
    await day.take(11);
    const kept = scrapesOf(day.columns());
    const now = { at: 11, metrics: parseExposition(await metrics.text()) };
    const live = [{ ...now, at: 1 }, now] as const;
    for (const { title, lines } of charts()) {
      if (title === "Memory") continue; // changes by itself
      for (const { name, read } of lines) {
        const [first, second] = kept;
        if (first === undefined || second === undefined) throw new Error("there are two samples");
        expect([title, name, read(first, second)]).toEqual([title, name, read(live[0], live[1])]);
      }
    }
  });

  test("are dense for an hour, sparse for a day, and no more", async () => {
    let count = 0;
    const day = new MetricsDay(async () => `svc_kv_cells ${count}`);
    for (; count < 20_000; count++) await day.take(count * 10);
    const { at } = day.columns();
    expect(at).toHaveLength(1740);
    expect(at.slice(-360)).toEqual(Array.from({ length: 360 }, (_, i) => (19_640 + i) * 10));
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBe(60);
    expect((at.at(-1) ?? 0) - (at[0] ?? 0)).toBeGreaterThan(23 * 3600);
  });
});

test("lines of the log are bounded in number, length and age", () => {
  let now = 0;
  const day = new LogDay(() => now);
  for (let i = 0; i < 2000; i++) day.add(`line ${i}`);
  expect(day.list()).toHaveLength(1000);
  day.add("x".repeat(5000));
  expect(day.list().at(-1)?.text).toHaveLength(1000);
  now = 25 * 3600 * 1000;
  day.add("late");
  expect(day.list()).toEqual([{ at: now / 1000, text: "late" }]);
});

test("the web interface gets both", async () => {
  const day = { metrics: () => ({ at: [1], series: { a: [2] } }), log: () => [{ at: 1, text: "hello" }] };
  const { request } = testApp(undefined, { day });
  expect(await (await request("/ui/day/metrics")).json()).toEqual({ at: [1], series: { a: [2] } });
  expect(await (await request("/ui/day/log")).json()).toEqual({ lines: [{ at: 1, text: "hello" }] });
  expect((await testApp().request("/ui/day/metrics")).status).toBe(503);
});

test("lines of the log show no names of sessions", () => {
  const day = new LogDay(() => 0);
  day.add("2026-01-02T03:04:05.678Z GET /v1/sessions/my-divorce 200 1ms id=req_1");
  day.add("POST //v1/containers/my-divorce/files/file-1 404");
  day.add('{"path":"/v1/sessions/my-divorce","status":200}');
  day.add("svc-tiny: loaded");
  expect(day.list().map(({ text }) => text)).toEqual([
    "2026-01-02T03:04:05.678Z GET /v1/sessions/* 200 1ms id=req_1",
    "POST //v1/containers/*/files/file-1 404",
    '{"path":"/v1/sessions/*","status":200}',
    "svc-tiny: loaded",
  ]);
});
