// Traces of requests, from settings.

import type { Settings } from "../config/settings.ts";
import type { ShownTrace, Tracer } from "../core/tracing.ts";
import { TraceCollector } from "../traces/collector.ts";
import { otlpExporter } from "../traces/otlp.ts";

/** What follows requests. */
export interface Traces {
  /** Absent where traces are off. */
  readonly tracer?: Tracer;
  readonly list?: () => readonly ShownTrace[];
  close(): Promise<void>;
}

export function openTraces({ server }: Settings, log: (line: string) => void): Traces {
  const { traces, otlp_endpoint: endpoint, otlp_headers: lines = [] } = server;
  if (!traces && endpoint === undefined) return { close: async () => undefined };
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const exporter = endpoint === undefined ? undefined : otlpExporter({ endpoint, headers, log });
  const collector = new TraceCollector(exporter?.take);
  return { tracer: collector, list: () => collector.list(), close: async () => exporter?.close() };
}
