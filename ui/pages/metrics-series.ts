// Charts and how each computes a point from two scrapes of the metrics. Pure.

import { buckets, type Exposition, quantile, total } from "../api/exposition.ts";
import { t } from "../texts/texts.ts";

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

const MEGABYTE = 1e-6;

/** What agents are spared: totals since the start, which change seldom. */
const agentCharts = (): readonly Chart[] => [
  {
    title: t.metrics.saved,
    unit: t.metrics.tokens,
    lines: [
      gauge(t.metrics.toolsLeftOut, "svc_tools_deferred_tokens_total"),
      gauge(t.metrics.shortened, "svc_context_edit_tokens_total"),
    ],
  },
  {
    title: t.metrics.interventions,
    unit: "",
    lines: [
      gauge(t.metrics.budgets, "svc_thinking_closed_total"),
      gauge(t.metrics.toolsFound, "svc_tools_found_total"),
      gauge(t.metrics.edits, "svc_context_edits_total"),
    ],
  },
];

export const charts = (): readonly Chart[] => [
  {
    title: t.metrics.throughput,
    unit: "tok/s",
    lines: [
      rate(t.metrics.generated, "svc_decode_tokens_total"),
      rate(t.metrics.prompt, "svc_prefill_tokens_total"),
    ],
  },
  {
    title: t.metrics.sequences,
    unit: "",
    lines: [gauge(t.metrics.running, "svc_running_sequences"), gauge(t.metrics.waiting, "svc_queue_depth")],
  },
  {
    title: t.metrics.firstToken,
    unit: "ms",
    lines: [
      percentile(t.metrics.median, "svc_time_to_first_token_seconds", 0.5),
      percentile("p95", "svc_time_to_first_token_seconds", 0.95),
    ],
  },
  {
    title: t.metrics.interToken,
    unit: "ms",
    lines: [
      percentile(t.metrics.median, "svc_inter_token_latency_seconds", 0.5),
      percentile("p95", "svc_inter_token_latency_seconds", 0.95),
    ],
  },
  {
    title: t.metrics.requests,
    unit: "",
    lines: [
      rate(t.metrics.perSecond, "http_requests_total"),
      gauge(t.metrics.inFlight, "http_requests_in_flight", { idle: 0 }),
    ],
  },
  {
    title: t.metrics.cache,
    unit: t.metrics.cells,
    lines: [
      gauge(t.metrics.inUse, "svc_kv_cells_used"),
      gauge(t.metrics.prefixCache, "svc_kv_cells_kept"),
      gauge(t.metrics.total, "svc_kv_cells"),
    ],
  },
  ...agentCharts(),
  {
    title: t.metrics.memory,
    unit: "MB",
    lines: [
      gauge(t.metrics.engines, "svc_engine_resident_memory_bytes", { scale: MEGABYTE }),
      gauge(t.metrics.server, "process_resident_memory_bytes", { scale: MEGABYTE }),
    ],
  },
];

function scaled(value: number | undefined, scale: number): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value * scale;
}
