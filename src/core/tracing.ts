// Spans of requests: what took how long. Plain data, so that their sources (http, access) and readers (traces) do not depend on
// each other.

/** A value of an attribute. */
export type SpanValue = string | number | boolean | readonly string[];

/** A step of a request. */
export interface Span {
  readonly name: string;
  /** Of `performance.now()`, milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  /** Its place in the waterfall; those of the request itself have no parent among its spans. */
  readonly parent?: string;
  readonly attributes?: Readonly<Record<string, SpanValue>>;
  /** Why it failed. */
  readonly error?: string;
}

/** A request whose spans are kept. */
export interface RequestTrace {
  /** W3C trace context for servers that work for it. */
  readonly traceparent: string;
  add(span: Span): void;
  /** The request itself has ended; spans of what goes on without it may follow. */
  end(request: Span): void;
}

export interface Tracer {
  /** A request begins. `traceparent`: as its client sent it, where it did and it is one. */
  begin(request: { readonly id: string; readonly traceparent: string | undefined }): RequestTrace;
}

/** A trace as the web interface shows it. */
export interface ShownTrace {
  readonly traceId: string;
  readonly requestId: string;
  /** Unix time, seconds. */
  readonly at: number;
  readonly seconds: number;
  readonly name: string;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  readonly error?: string;
  readonly spans: readonly ShownSpan[];
}

export interface ShownSpan {
  readonly name: string;
  /** From the beginning of the request. */
  readonly startSeconds: number;
  readonly seconds: number;
  /** Steps above it. */
  readonly depth: number;
  readonly error?: string;
}
