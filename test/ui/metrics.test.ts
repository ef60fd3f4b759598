// Parser and charts of the metrics page.

import { describe, expect, test } from "bun:test";
import { buckets, parseExposition, quantile, total } from "../../ui/api/exposition.ts";
import { charts, type Scrape } from "../../ui/pages/metrics-series.ts";

const TEXT = `# HELP http_requests_total Requests that were answered.
# TYPE http_requests_total counter
http_requests_total{method="GET",path="/v1/models",model="none",status="200"} 3
http_requests_total{method="POST",path="a \\"b\\" \\\\ {c}",model="x,y",status="200"} 4
svc_kv_cells 32768
svc_up +Inf 1700000000000

svc_time_to_first_token_seconds_bucket{le="0.1",model="a"} 2
svc_time_to_first_token_seconds_bucket{le="0.1",model="b"} 2
svc_time_to_first_token_seconds_bucket{le="1",model="a"} 4
svc_time_to_first_token_seconds_bucket{le="1",model="b"} 4
svc_time_to_first_token_seconds_bucket{le="+Inf",model="a"} 4
svc_time_to_first_token_seconds_bucket{le="+Inf",model="b"} 4
`;

describe("exposition parser", () => {
  const metrics = parseExposition(TEXT);

  test("returns samples with labels", () => {
    expect(metrics.get("http_requests_total")?.[1]).toEqual({
      labels: { method: "POST", path: 'a "b" \\ {c}', model: "x,y", status: "200" },
      value: 4,
    });
    expect(total(metrics, "http_requests_total")).toBe(7);
    expect(total(metrics, "svc_kv_cells")).toBe(32_768);
    expect(total(metrics, "svc_up")).toBe(Infinity);
    expect(total(metrics, "nothing")).toBeUndefined();
  });

  test("sums histograms over all labels", () => {
    expect(buckets(metrics, "svc_time_to_first_token_seconds")).toEqual([
      [0.1, 4],
      [1, 8],
      [Infinity, 8],
    ]);
  });
});

describe("quantile", () => {
  const before = [
    [1, 5],
    [2, 5],
    [Infinity, 5],
  ] as const;

  test("counts only observations since the previous scrape", () => {
    expect(quantile(before, before, 0.5)).toBeUndefined();
    const after = [
      [1, 5],
      [2, 15],
      [Infinity, 15],
    ] as const;
    expect(quantile(before, after, 0.5)).toBe(1.5);
  });

  test("is at most the last finite bound", () => {
    const after = [
      [1, 5],
      [2, 5],
      [Infinity, 9],
    ] as const;
    expect(quantile(before, after, 0.95)).toBe(2);
  });
});

test("a rate is the increase per second, and null for a decrease", () => {
  const scrape = (at: number, generated: number): Scrape => ({
    at,
    metrics: parseExposition(`svc_decode_tokens_total ${generated}`),
  });
  const line = charts()[0]?.lines[0];
  expect(line?.read(scrape(10, 100), scrape(12, 300))).toBe(100);
  expect(line?.read(scrape(10, 100), scrape(12, 4))).toBeNull();
});
