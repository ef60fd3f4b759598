// Sends spans to a collector of OpenTelemetry, in batches: OTLP over HTTP, in JSON. What cannot be sent is dropped, and the log says
// how much.

import { reasonOf } from "../core/reason.ts";
import type { SpanValue } from "../core/tracing.ts";
import { VERSION } from "../core/version.ts";
import { type PlacedSpan, unixMs } from "./collector.ts";
import { EXPORT_BATCH_MAX, EXPORT_EVERY_MS, EXPORT_QUEUE_MAX, EXPORT_TIMEOUT_MS } from "./limits.ts";

export interface ExporterOptions {
  /** Base address; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly log: (line: string) => void;
}

export interface Exporter {
  readonly take: (span: PlacedSpan) => void;
  /** Sends what waits, once. */
  close(): Promise<void>;
}

/** An exporter that sends every few seconds. */
export function otlpExporter({ endpoint, headers, log }: ExporterOptions): Exporter {
  const url = `${endpoint.replace(/\/+$/, "").replace(/\/v1\/traces$/, "")}/v1/traces`;
  let waiting: PlacedSpan[] = [];
  let dropped = 0;
  const send = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, EXPORT_BATCH_MAX);
      waiting = waiting.slice(EXPORT_BATCH_MAX);
      const problem = await problemOf(url, headers, batch);
      if (problem === undefined) continue;
      dropped += batch.length + waiting.length;
      waiting = []; // the collector is not there: trying again costs memory, and later spans are worth more
      log(`traces: ${url} ${problem}; ${dropped} spans dropped so far`);
    }
  };
  let sending: Promise<void> = Promise.resolve();
  const next = (): Promise<void> => (sending = sending.then(send));
  const timer = setInterval(() => void next(), EXPORT_EVERY_MS);
  timer.unref();
  return {
    take: (span) => {
      if (waiting.length < EXPORT_QUEUE_MAX) waiting.push(span);
      else dropped++;
    },
    close: () => {
      clearInterval(timer);
      return next();
    },
  };
}

/** Sends a batch; what went wrong, if something did. */
async function problemOf(
  url: string,
  headers: Readonly<Record<string, string>>,
  batch: readonly PlacedSpan[],
): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(otlpBody(batch)),
      signal: AbortSignal.timeout(EXPORT_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.ok ? undefined : `answers with status ${response.status}`;
  } catch (error) {
    return `does not answer (${reasonOf(error)})`;
  }
}

const KIND_INTERNAL = 1;
const KIND_SERVER = 2;
const STATUS_ERROR = 2;

/** An ExportTraceServiceRequest, as the mapping of protobuf to JSON has it. */
export function otlpBody(spans: readonly PlacedSpan[]): object {
  const resource = { attributes: attributesOf({ "service.name": "svc", "service.version": VERSION }) };
  const scopeSpans = [{ scope: { name: "svc", version: VERSION }, spans: spans.map(spanOf) }];
  return { resourceSpans: [{ resource, scopeSpans }] };
}

function spanOf(span: PlacedSpan): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentId === undefined ? {} : { parentSpanId: span.parentId }),
    name: span.name,
    kind: span.isRequest ? KIND_SERVER : KIND_INTERNAL,
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: attributesOf(span.attributes ?? {}),
    ...(span.error === undefined ? {} : { status: { code: STATUS_ERROR, message: span.error } }),
  };
}

/** 64-bit numbers are texts in protobuf's JSON. */
function nanoseconds(momentMs: number): string {
  return String(BigInt(Math.round(unixMs(momentMs) * 1000)) * 1000n);
}

function attributesOf(attributes: Readonly<Record<string, SpanValue>>): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: SpanValue): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } };
}
