// From two looks at the metrics to one point on each chart. Pure.

import { buckets, type Exposition, quantile, total } from "../api/exposition.ts";

export interface Look {
  /** Unix time, seconds. */
  readonly at: number;
  readonly metrics: Exposition;
}

export interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
}

export interface Line {
  readonly name: string;
  /** The value now; null where there is nothing to show. */
  readonly read: (before: Look, after: Look) => number | null;
}

/** Labelled gauges have no samples where nothing happens; `idle` is what that means. */
const gauge = (
  name: string,
  metric: string,
  { scale = 1, idle }: { scale?: number; idle?: 0 } = {},
): Line => ({
  name,
  read: (_, { metrics }) => scaled(total(metrics, metric) ?? idle, scale),
});

/** Growth of a counter a second. A counter that fell belongs to a server that was started anew. */
const rate = (name: string, metric: string): Line => ({
  name,
  read: (before, after) => {
    const [from, to] = [total(before.metrics, metric), total(after.metrics, metric)];
    const secs = after.at - before.at;
    return from === undefined || to === undefined || to < from || secs <= 0 ? null : (to - from) / secs;
  },
});

const share = (name: string, metric: string, wanted: number): Line => ({
  name,
  read: (before, after) =>
    scaled(quantile(buckets(before.metrics, metric), buckets(after.metrics, metric), wanted), 1000),
});

const MIB = 1 / (1024 * 1024);

export const CHARTS: readonly Chart[] = [
  {
    title: "Tokens a second",
    unit: "tok/s",
    lines: [rate("generated", "svc_decode_tokens_total"), rate("prompt", "svc_prefill_tokens_total")],
  },
  {
    title: "Sequences",
    unit: "",
    lines: [gauge("running", "svc_running_sequences"), gauge("waiting", "svc_queue_depth")],
  },
  {
    title: "Time to the first token",
    unit: "ms",
    lines: [
      share("half below", "svc_time_to_first_token_seconds", 0.5),
      share("95 % below", "svc_time_to_first_token_seconds", 0.95),
    ],
  },
  {
    title: "Time between tokens",
    unit: "ms",
    lines: [
      share("half below", "svc_inter_token_latency_seconds", 0.5),
      share("95 % below", "svc_inter_token_latency_seconds", 0.95),
    ],
  },
  {
    title: "Requests",
    unit: "",
    lines: [
      rate("a second", "http_requests_total"),
      gauge("in flight", "http_requests_in_flight", { idle: 0 }),
    ],
  },
  {
    title: "KV cache",
    unit: "cells",
    lines: [
      gauge("in use", "svc_kv_cells_used"),
      gauge("kept for reuse", "svc_kv_cells_kept"),
      gauge("all", "svc_kv_cells"),
    ],
  },
  {
    title: "Memory",
    unit: "MiB",
    lines: [
      gauge("engines", "svc_engine_resident_memory_bytes", { scale: MIB }),
      gauge("server", "process_resident_memory_bytes", { scale: MIB }),
    ],
  },
];

function scaled(value: number | undefined, scale: number): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value * scale;
}
