// All metrics of a server, and their text. The only folder that knows the metrics library.

import { Registry } from "prom-client";
import type { ModelInfo } from "../core/model-info.ts";
import type { EngineMeter, HttpMetrics, ObservedRequest, PoolStats } from "../core/telemetry.ts";
import { AgentMetrics } from "./agent.ts";
import { EngineMetrics } from "./engines.ts";
import { ImageMetrics } from "./images.ts";
import { RequestMetrics } from "./http.ts";
import { addUpstreamMetrics } from "./upstreams.ts";
import { addUsageMetrics, AnswerMetrics, type UsageMetricsOptions } from "./usage.ts";
import { addCounter, addGauge, single } from "./read-when-asked.ts";

export class Metrics implements HttpMetrics {
  private readonly registry = new Registry();
  private readonly requests = new RequestMetrics(this.registry);
  private readonly engines = new EngineMetrics(this.registry);
  /** Meter of the agent loop. */
  readonly agent = new AgentMetrics(this.registry);
  /** Meter of how answers end. */
  readonly answers = new AnswerMetrics(this.registry);
  /** Meter of image generation. */
  readonly images = new ImageMetrics(this.registry);

  constructor() {
    addProcess(this.registry);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  watchRoute(method: string, path: string, model: string): void {
    this.requests.watchRoute({ method, path, model });
  }

  began(request: ObservedRequest): void {
    this.requests.began(request);
  }

  finished(request: ObservedRequest): void {
    this.requests.finished(request);
  }

  firstToken(request: ObservedRequest, seconds: number): void {
    this.requests.firstToken(request, seconds);
  }

  nextToken(request: ObservedRequest, seconds: number): void {
    this.requests.nextToken(request, seconds);
  }

  spoke(request: ObservedRequest, seconds: number): void {
    this.requests.spoke(request, seconds);
  }

  /** Meter of a new engine. */
  newEngine(): EngineMeter {
    return this.engines.newMeter();
  }

  /** Shows how many models are loaded, and how many are pinned. */
  watchModels(read: () => readonly Pick<ModelInfo, "status" | "isPinned">[]): void {
    const count = (is: (model: Pick<ModelInfo, "status" | "isPinned">) => boolean) =>
      single(() => read().filter(is).length);
    addGauge(this.registry, {
      name: "svc_models_loaded",
      help: "Loaded models.",
      read: count(({ status }) => status === "loaded"),
    });
    addGauge(this.registry, {
      name: "svc_models_pinned",
      help: "Models that are pinned: unloaded neither for another one nor when idle.",
      read: count(({ isPinned }) => isPinned === true),
    });
  }

  /** Shows how far requantizations are: `read` gives the done share (0 … 1) of each that is under way. */
  watchRequantizations(read: () => readonly number[]): void {
    addGauge(this.registry, {
      name: "svc_requantizations",
      help: "Models that are being requantized.",
      read: single(() => read().length),
    });
    addGauge(this.registry, {
      name: "svc_requantization_progress_ratio",
      help: "Progress of the slowest requantization, 0 to 1; 1 while none runs.",
      read: single(() => Math.min(1, ...read())),
    });
  }

  /** Shows the pools of upstream models: `read` returns their numbers. */
  watchUpstreams(read: () => readonly PoolStats[]): void {
    addUpstreamMetrics(this.registry, read);
  }

  /** Shows what callers have used. */
  watchUsage(options: UsageMetricsOptions): void {
    addUsageMetrics(this.registry, options);
  }

  /** Shows how many connection attempts the kernel has dropped: `read` gives those since the start. */
  watchDroppedConnections(read: () => number): void {
    addCounter(this.registry, {
      name: "svc_connections_dropped_total",
      help: "Connection attempts that the kernel dropped because a listen backlog was full, of all programs that share its counters.",
      read: single(read),
    });
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}

/** Process metrics that dashboards expect. The library's own set needs Node APIs that Bun lacks. */
function addProcess(registry: Registry): void {
  addGauge(registry, {
    name: "process_resident_memory_bytes",
    help: "Resident memory of the serving process.",
    read: single(() => process.memoryUsage.rss()),
  });
  const startSecs = Date.now() / 1000 - process.uptime();
  addGauge(registry, {
    name: "process_start_time_seconds",
    help: "When the serving process started, Unix time.",
    read: single(() => startSecs),
  });
  addCounter(registry, {
    name: "process_cpu_seconds_total",
    help: "Processor time of the serving process.",
    read: single(() => {
      const { user, system } = process.cpuUsage(); // microseconds
      return (user + system) / 1e6;
    }),
  });
}
