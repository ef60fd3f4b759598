// Metrics of HTTP requests. Spec: Metrics. Every label comes from a bounded set: routes, known methods, served models,
// statuses; so no client can make the number of series grow.

import type { Registry } from "prom-client";
import { countOf, Histogram, type HistogramData } from "../core/histogram.ts";
import { COMPAT_KINDS, type CompatKind } from "../core/compat.ts";
import type { ObservedRequest } from "../core/telemetry.ts";
import { addCounter, addGauge, addHistogram, type Labeled, type Labels } from "./read-when-asked.ts";

const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200,
];
const BODY_BUCKETS = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 52_428_800];
const FIRST_TOKEN_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 320,
];
const NEXT_TOKEN_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2.5, 5, 10,
];

const REQUEST_LABELS = ["method", "path", "model"];
const ANSWER_LABELS = [...REQUEST_LABELS, "status"];

/** `path` of requests that no route fits. Spec: Metrics. */
const UNMATCHED = "<unmatched>";

function requestLabels({ method, route, model }: ObservedRequest): Labels {
  return { method, path: route ?? UNMATCHED, model };
}

function answerLabels(request: ObservedRequest): Labels {
  return { ...requestLabels(request), status: String(request.status) };
}

/** Histograms by labels. */
class Series {
  readonly bounds: readonly number[];
  private readonly withStatus: boolean;
  private readonly byKey = new Map<string, Labeled<Histogram>>();

  constructor(bounds: readonly number[], withStatus: boolean) {
    this.bounds = bounds;
    this.withStatus = withStatus;
  }

  add(request: ObservedRequest, value: number): void {
    const { method, route, model, status } = request;
    const key = `${method}\n${route}\n${model}\n${this.withStatus ? status : ""}`;
    let found = this.byKey.get(key);
    if (found === undefined) {
      found = [this.withStatus ? answerLabels(request) : requestLabels(request), new Histogram(this.bounds)];
      this.byKey.set(key, found);
    }
    found[1].add(value);
  }

  read(): readonly Labeled<HistogramData>[] {
    return [...this.byKey.values()].map(([labels, histogram]) => [labels, histogram.data()]);
  }
}

export class RequestMetrics {
  private readonly durations = new Series(DURATION_BUCKETS, true);
  private readonly bodies = new Series(BODY_BUCKETS, false);
  private readonly firstTokens = new Series(FIRST_TOKEN_BUCKETS, true);
  private readonly nextTokens = new Series(NEXT_TOKEN_BUCKETS, true);
  private readonly queued = new Series(DURATION_BUCKETS, false);
  private readonly speechSecs = new Map<string, number>(); // by model
  private readonly compat = new Map<CompatKind, number>();
  private readonly inFlight = new Set<ObservedRequest>();
  private readonly everInFlight = new Map<string, Labels>();

  constructor(registry: Registry) {
    addCounter(registry, {
      name: "http_requests_total",
      help: "Finished requests.",
      labelNames: ANSWER_LABELS,
      read: () => this.durations.read().map(([labels, data]) => [labels, countOf(data)]),
    });
    addGauge(registry, {
      name: "http_requests_in_flight",
      help: "Requests in progress.",
      labelNames: REQUEST_LABELS,
      read: () => this.readInFlight(),
    });
    addCounter(registry, {
      name: "svc_speech_seconds_total",
      help: "Synthesized speech.",
      labelNames: ["model"],
      read: () => Array.from(this.speechSecs, ([model, seconds]) => [{ model }, seconds]),
    });
    addCounter(registry, {
      name: "svc_compat_total",
      help: "Requests served in the nearest right way, most of them under compat = clients alone, by kind.",
      labelNames: ["kind"],
      read: () => COMPAT_KINDS.map((kind) => [{ kind }, this.compat.get(kind) ?? 0]),
    });
    const histograms = [
      [
        "http_request_duration_seconds",
        "Time from a request's arrival to the last byte of its answer.",
        this.durations,
      ],
      ["svc_queue_seconds", "Time that requests have waited for their turn.", this.queued],
      ["http_request_body_bytes", "Size of request bodies.", this.bodies],
      ["svc_time_to_first_token_seconds", "Time to first token of streams.", this.firstTokens],
      ["svc_inter_token_latency_seconds", "Inter-token latency of streams.", this.nextTokens],
    ] as const;
    for (const [name, help, series] of histograms) {
      addHistogram(registry, { name, help, read: () => series.read() }, series.bounds);
    }
  }

  /** Shows a series before its first request: one that is missing looks like a server that is not scraped. */
  watchRoute(labels: Labels): void {
    this.everInFlight.set(Object.values(labels).join(" "), labels);
  }

  began(request: ObservedRequest): void {
    if (!request.housekeeping) this.inFlight.add(request);
  }

  finished(request: ObservedRequest): void {
    if (request.housekeeping) return;
    this.inFlight.delete(request);
    this.durations.add(request, request.seconds);
    if (request.queueSecs !== undefined) this.queued.add(request, request.queueSecs);
    for (const kind of request.compat) this.compat.set(kind, (this.compat.get(kind) ?? 0) + 1);
    if (request.bodyBytes !== undefined) this.bodies.add(request, request.bodyBytes);
  }

  firstToken(request: ObservedRequest, seconds: number): void {
    this.firstTokens.add(request, seconds);
  }

  nextToken(request: ObservedRequest, seconds: number): void {
    this.nextTokens.add(request, seconds);
  }

  spoke({ model }: ObservedRequest, seconds: number): void {
    this.speechSecs.set(model, (this.speechSecs.get(model) ?? 0) + seconds);
  }

  /** Counted at each scrape, so that it cannot drift from the open requests. A series once shown stays, at zero. */
  private readInFlight(): Iterable<Labeled<number>> {
    const counts = new Map<string, number>();
    for (const request of this.inFlight) {
      const labels = requestLabels(request);
      const key = Object.values(labels).join(" ");
      this.everInFlight.set(key, labels);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...this.everInFlight].map(([key, labels]) => [labels, counts.get(key) ?? 0]);
  }
}
