// What the web interface shows of the last day before it was opened: samples of the metrics that its charts read, and lines of the
// log. In memory, within limits.ts.

import type { LoggedLine, MetricsColumns } from "../core/telemetry.ts";
import {
  LOG_LINE_AGE_MS,
  LOG_LINE_CHARS_MAX,
  LOG_LINES_MAX,
  OLDER_EVERY,
  OLDER_SAMPLES_MAX,
  SAMPLE_MS,
  SAMPLES_MAX,
} from "./limits.ts";

interface Sample {
  /** Unix time, seconds. */
  readonly at: number;
  readonly values: ReadonlyMap<string, number>;
}

/** Metrics of which samples are kept: those of the charts in ui/pages/metrics-series.ts. */
const KEPT =
  /^(?<name>svc_(?:decode_tokens_total|tools_deferred_tokens_total|tools_found_total|context_edits_total|context_edit_tokens_total|thinking_closed_total|prefill_tokens_total|running_sequences|queue_depth|kv_cells(?:_used|_kept)?|engine_resident_memory_bytes|time_to_first_token_seconds_bucket|inter_token_latency_seconds_bucket)|http_requests_total|http_requests_in_flight|process_resident_memory_bytes)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;

/** Samples of the metrics, dense for the last hour. */
export class MetricsDay {
  private readonly read: () => Promise<string>;
  private readonly recent: Sample[] = [];
  private readonly older: Sample[] = [];
  private left = 0; // samples that have left `recent`

  /** `read` returns the metrics in the text exposition format. */
  constructor(read: () => Promise<string>) {
    this.read = read;
  }

  /** Takes samples until the returned function is called. */
  start(): () => void {
    const take = (): void => void this.take(Date.now() / 1000).catch(() => undefined); // the next one may succeed
    take();
    const timer = setInterval(take, SAMPLE_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** Takes one sample. */
  async take(at: number): Promise<void> {
    this.recent.push({ at, values: sums(await this.read()) });
    if (this.recent.length <= SAMPLES_MAX) return;
    const oldest = this.recent.shift();
    if (oldest !== undefined && this.left++ % OLDER_EVERY === 0) this.older.push(oldest);
    if (this.older.length > OLDER_SAMPLES_MAX) this.older.shift();
  }

  columns(): MetricsColumns {
    const samples = [...this.older, ...this.recent];
    const names = new Set(samples.flatMap(({ values }) => [...values.keys()]));
    return {
      at: samples.map(({ at }) => at),
      series: Object.fromEntries(
        [...names].map((name) => [name, samples.map(({ values }) => values.get(name) ?? null)]),
      ),
    };
  }
}

/** Sums over all labels but `le`, which stays in the name. */
function sums(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const { name, labels = "", value } = KEPT.exec(line)?.groups ?? {};
    if (name === undefined) continue;
    const bound = /(?:^|,)le="(?<bound>[^"]*)"/.exec(labels)?.groups?.["bound"];
    const key = bound === undefined ? name : `${name}{le="${bound}"}`;
    values.set(key, (values.get(key) ?? 0) + Number(value));
  }
  return values;
}

/** Names of sessions in paths: clients choose them, and other keys' clients read this log. */
const SESSION_NAMES = /(?<=\/v1\/(?:sessions|containers)\/)[^\s/?"]+/g;

/** The latest lines of the log, without names of sessions. */
export class LogDay {
  private readonly clock: () => number;
  private readonly lines: LoggedLine[] = [];

  /** `clock` returns the Unix time in milliseconds. */
  constructor(clock: () => number = Date.now) {
    this.clock = clock;
  }

  add(text: string): void {
    const shown = text.replaceAll(SESSION_NAMES, "*").slice(0, LOG_LINE_CHARS_MAX);
    this.lines.push({ at: this.clock() / 1000, text: shown });
    if (this.lines.length > LOG_LINES_MAX) this.lines.shift();
  }

  list(): readonly LoggedLine[] {
    const since = (this.clock() - LOG_LINE_AGE_MS) / 1000;
    return this.lines.filter(({ at }) => at >= since);
  }
}
