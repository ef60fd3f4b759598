// Collects the spans of requests: keeps the last traces for the web interface, and passes spans on to an exporter.

import { randomBytes } from "node:crypto";
import type { RequestTrace, ShownSpan, ShownTrace, Span, Tracer } from "../core/tracing.ts";
import { TRACE_SPANS_MAX, TRACES_MAX } from "./limits.ts";

/** A span with its place in a trace. */
export interface PlacedSpan extends Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  /** It is the request itself. */
  readonly isRequest: boolean;
}

/** W3C trace context: version, trace id, parent id, flags. */
const PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

export class TraceCollector implements Tracer {
  private readonly kept: CollectedTrace[] = [];
  private readonly take: ((span: PlacedSpan) => void) | undefined;

  /** `take`: gets the spans of sampled requests; absent: none are exported. */
  constructor(take?: (span: PlacedSpan) => void) {
    this.take = take;
  }

  begin({
    id,
    traceparent,
  }: {
    readonly id: string;
    readonly traceparent: string | undefined;
  }): RequestTrace {
    const [, traceId = randomId(16), parentId, flags = "01"] = PARENT.exec(traceparent ?? "") ?? [];
    const isSampled = (parseInt(flags, 16) & 1) === 1; // the client's decision, where it made one
    const trace = new CollectedTrace({
      id,
      traceId,
      parentId,
      flags,
      take: isSampled ? this.take : undefined,
    });
    this.kept.push(trace);
    if (this.kept.length > TRACES_MAX) this.kept.shift();
    return trace;
  }

  /** The last ones that have ended, the newest first. */
  list(): readonly ShownTrace[] {
    return this.kept.flatMap((trace) => trace.shown() ?? []).toReversed();
  }
}

interface TraceOptions {
  readonly id: string;
  readonly traceId: string;
  readonly parentId: string | undefined;
  readonly flags: string;
  readonly take: ((span: PlacedSpan) => void) | undefined;
}

class CollectedTrace implements RequestTrace {
  readonly traceparent: string;
  private readonly options: TraceOptions;
  private readonly rootId = randomId(8);
  private readonly ids = new Map<string, string>(); // of the last span of each name that is a parent
  private readonly spans: Span[] = [];
  private root: Span | undefined;

  constructor(options: TraceOptions) {
    this.options = options;
    this.traceparent = `00-${options.traceId}-${this.rootId}-${options.flags}`;
  }

  add(span: Span): void {
    if (this.spans.length >= TRACE_SPANS_MAX) return;
    this.spans.push(span);
    const parentId = span.parent === undefined ? this.rootId : this.idOf(span.parent);
    this.options.take?.({
      ...span,
      traceId: this.options.traceId,
      spanId: this.idOf(span.name, true),
      parentId,
      isRequest: false,
    });
  }

  end(request: Span): void {
    this.root = request;
    const { traceId, parentId, take } = this.options;
    take?.({ ...request, traceId, spanId: this.rootId, parentId, isRequest: true });
  }

  shown(): ShownTrace | undefined {
    const { root } = this;
    if (root === undefined) return undefined;
    const seconds = (ms: number): number => Math.round(ms * 1000) / 1e6;
    const spans = this.spans.toSorted((one, other) => one.startMs - other.startMs || other.endMs - one.endMs);
    return {
      traceId: this.options.traceId,
      requestId: this.options.id,
      at: unixMs(root.startMs) / 1000,
      seconds: seconds(root.endMs - root.startMs),
      name: root.name,
      attributes: root.attributes ?? {},
      ...(root.error === undefined ? {} : { error: root.error }),
      spans: spans.map((span): ShownSpan => {
        return {
          name: span.name,
          startSeconds: seconds(span.startMs - root.startMs),
          seconds: seconds(span.endMs - span.startMs),
          depth: span.parent === undefined ? 1 : 2,
          ...(span.error === undefined ? {} : { error: span.error }),
        };
      }),
    };
  }

  /** Children end before their parent, which has its id from the first of them; a span that is over gives its id away. */
  private idOf(name: string, isOver = false): string {
    const id = this.ids.get(name) ?? randomId(8);
    if (isOver) this.ids.delete(name);
    else this.ids.set(name, id);
    return id;
  }
}

/** Unix time of a moment of `performance.now()`, milliseconds. */
export function unixMs(momentMs: number): number {
  return performance.timeOrigin + momentMs;
}

function randomId(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
