// What the page reads out of metrics.

import { describe, expect, test } from "bun:test";
import { buckets, parseExposition, quantile, total } from "../../ui/api/exposition.ts";
import { CHARTS, type Look } from "../../ui/pages/metrics-series.ts";

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

describe("the text", () => {
  const metrics = parseExposition(TEXT);

  test("gives samples with their labels", () => {
    expect(metrics.get("http_requests_total")?.[1]).toEqual({
      labels: { method: "POST", path: 'a "b" \\ {c}', model: "x,y", status: "200" },
      value: 4,
    });
    expect(total(metrics, "http_requests_total")).toBe(7);
    expect(total(metrics, "svc_kv_cells")).toBe(32_768);
    expect(total(metrics, "svc_up")).toBe(Infinity);
    expect(total(metrics, "nothing")).toBeUndefined();
  });

  test("gives histograms over all labels", () => {
    expect(buckets(metrics, "svc_time_to_first_token_seconds")).toEqual([
      [0.1, 4],
      [1, 8],
      [Infinity, 8],
    ]);
  });
});

describe("a share of the observations", () => {
  const before = [
    [1, 5],
    [2, 5],
    [Infinity, 5],
  ] as const;

  test("counts only what has come since", () => {
    expect(quantile(before, before, 0.5)).toBeUndefined();
    const after = [
      [1, 5],
      [2, 15],
      [Infinity, 15],
    ] as const;
    expect(quantile(before, after, 0.5)).toBe(1.5);
  });

  test("ends at the last bound that is a number", () => {
    const after = [
      [1, 5],
      [2, 5],
      [Infinity, 9],
    ] as const;
    expect(quantile(before, after, 0.95)).toBe(2);
  });
});

test("a counter that fell gives no point, and one that rose its growth a second", () => {
  const look = (at: number, generated: number): Look => ({
    at,
    metrics: parseExposition(`svc_decode_tokens_total ${generated}`),
  });
  const line = CHARTS[0]?.lines[0];
  expect(line?.read(look(10, 100), look(12, 300))).toBe(100);
  expect(line?.read(look(10, 100), look(12, 4))).toBeNull();
});
