// Charts and how each computes a point from two scrapes of the metrics. Pure.

import { buckets, type Exposition, quantile, total } from "../api/exposition.ts";

export interface Scrape {
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
  /** The current value; null if unknown. */
  readonly read: (before: Scrape, after: Scrape) => number | null;
}

/** Current value of a gauge. A labelled gauge has no samples while idle; `idle` is its value then. */
const gauge = (
  name: string,
  metric: string,
  { scale = 1, idle }: { scale?: number; idle?: 0 } = {},
): Line => ({
  name,
  read: (_, { metrics }) => scaled(total(metrics, metric) ?? idle, scale),
});

/** Increase of a counter per second; null if it decreased, because the server was restarted. */
const rate = (name: string, metric: string): Line => ({
  name,
  read: (before, after) => {
    const [from, to] = [total(before.metrics, metric), total(after.metrics, metric)];
    const secs = after.at - before.at;
    return from === undefined || to === undefined || to < from || secs <= 0 ? null : (to - from) / secs;
  },
});

/** Percentile of a histogram in seconds, as milliseconds. */
const percentile = (name: string, metric: string, share: number): Line => ({
  name,
  read: (before, after) =>
    scaled(quantile(buckets(before.metrics, metric), buckets(after.metrics, metric), share), 1000),
});

const MIB = 1 / (1024 * 1024);

export const CHARTS: readonly Chart[] = [
  {
    title: "Token throughput",
    unit: "tok/s",
    lines: [rate("generated", "svc_decode_tokens_total"), rate("prompt", "svc_prefill_tokens_total")],
  },
  {
    title: "Sequences",
    unit: "",
    lines: [gauge("running", "svc_running_sequences"), gauge("waiting", "svc_queue_depth")],
  },
  {
    title: "Time to first token",
    unit: "ms",
    lines: [
      percentile("median", "svc_time_to_first_token_seconds", 0.5),
      percentile("p95", "svc_time_to_first_token_seconds", 0.95),
    ],
  },
  {
    title: "Inter-token latency",
    unit: "ms",
    lines: [
      percentile("median", "svc_inter_token_latency_seconds", 0.5),
      percentile("p95", "svc_inter_token_latency_seconds", 0.95),
    ],
  },
  {
    title: "Requests",
    unit: "",
    lines: [
      rate("per second", "http_requests_total"),
      gauge("in flight", "http_requests_in_flight", { idle: 0 }),
    ],
  },
  {
    title: "KV cache",
    unit: "cells",
    lines: [
      gauge("in use", "svc_kv_cells_used"),
      gauge("prefix cache", "svc_kv_cells_kept"),
      gauge("total", "svc_kv_cells"),
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
