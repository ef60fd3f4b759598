// Metrics of upstream servers, by model and upstream.

import type { Registry } from "prom-client";
import type { HistogramData } from "../core/histogram.ts";
import { type PoolStats, UPSTREAM_BUCKETS, type UpstreamStats } from "../core/telemetry.ts";
import { addCounter, addGauge, addHistogram, type Labeled } from "./read-when-asked.ts";

type Add = typeof addCounter;
type Row<T> = readonly [add: Add, name: string, help: string, value: (of: T) => number];

const OF_POOLS: readonly Row<PoolStats>[] = [
  [
    addGauge,
    "svc_upstream_queue_depth",
    "Requests that wait for an upstream server.",
    ({ waiting }) => waiting,
  ],
  [
    addCounter,
    "svc_upstream_retries_total",
    "Further attempts of requests that no upstream server had begun to answer.",
    ({ retries }) => retries,
  ],
  [
    addCounter,
    "svc_upstream_fallbacks_total",
    "Requests that another model answered.",
    ({ fallbacks }) => fallbacks,
  ],
  [
    addCounter,
    "svc_upstream_prefix_blocks_total",
    "Blocks of 512 characters of the prompts that were routed by prefix.",
    ({ prefixBlocks }) => prefixBlocks,
  ],
  [
    addCounter,
    "svc_upstream_prefix_hits_total",
    "Blocks that the chosen upstream server has computed before, as far as this server knows.",
    ({ prefixHits }) => prefixHits,
  ],
];

const OF_UPSTREAMS: readonly Row<UpstreamStats>[] = [
  [
    addGauge,
    "svc_upstream_in_flight",
    "Requests that upstream servers work on for this server.",
    ({ inFlight }) => inFlight,
  ],
  [
    addCounter,
    "svc_upstream_cooldowns_total",
    "Times that an upstream server was given no requests for a while.",
    ({ cooldowns }) => cooldowns,
  ],
  [
    addGauge,
    "svc_upstream_cooling",
    "1 while an upstream server gets no requests because it failed.",
    ({ isCooling }) => Number(isCooling),
  ],
];

const LABELS = ["model", "upstream"];

/** Adds the metrics; `read` returns the numbers of all pools when they are asked for. */
export function addUpstreamMetrics(registry: Registry, read: () => readonly PoolStats[]): void {
  for (const [add, name, help, value] of OF_POOLS) {
    const values = () => read().map((pool): Labeled<number> => [{ model: pool.model }, value(pool)]);
    add(registry, { name, help, labelNames: ["model"], read: values });
  }
  const ofUpstreams = <T>(value: (upstream: UpstreamStats) => T): readonly Labeled<T>[] =>
    read().flatMap(({ model, upstreams }) =>
      upstreams.map((one): Labeled<T> => [{ model, upstream: one.upstream }, value(one)]),
    );
  for (const [add, name, help, value] of OF_UPSTREAMS)
    add(registry, { name, help, labelNames: LABELS, read: () => ofUpstreams(value) });
  addCounter(registry, {
    name: "svc_upstream_requests_total",
    help: "Attempts on upstream servers, by outcome: answered, refused, busy, failed, broken, aborted.",
    labelNames: [...LABELS, "outcome"],
    read: () => outcomesOf(read()),
  });
  const firstEvents = {
    name: "svc_upstream_first_token_seconds",
    help: "Time from a request to the first event of an upstream server.",
    read: () => ofUpstreams<HistogramData>(({ firstEvent }) => firstEvent),
  };
  addHistogram(registry, firstEvents, UPSTREAM_BUCKETS);
}

function outcomesOf(pools: readonly PoolStats[]): readonly Labeled<number>[] {
  return pools.flatMap(({ model, upstreams }) =>
    upstreams.flatMap(({ upstream, outcomes }) =>
      [...outcomes].map(([outcome, count]): Labeled<number> => [{ model, upstream, outcome }, count]),
    ),
  );
}
