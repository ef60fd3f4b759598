// The trace of a request: the context that its client sent, and its own span.

import type { Trace } from "../core/caller.ts";
import type { ObservedRequest } from "../core/telemetry.ts";
import type { Span } from "../core/tracing.ts";

/** W3C trace context: version, trace id, parent id, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace headers of a request, for servers that work for it. */
export function traceOf(requestId: string, headers: Headers): Trace {
  const traceparent = headers.get("traceparent");
  if (traceparent === null || !TRACEPARENT.test(traceparent)) return { requestId };
  const tracestate = headers.get("tracestate");
  const isUsable = tracestate !== null && TRACESTATE.test(tracestate);
  return { requestId, traceparent, ...(isUsable ? { tracestate } : {}) };
}

/** The span of an answered request. */
export function requestSpan(request: ObservedRequest, startMs: number): Span {
  const { method, route, path, status, model, key, error, id } = request;
  return {
    name: `${method} ${route ?? path}`,
    startMs,
    endMs: performance.now(),
    attributes: {
      "http.request.method": method,
      "http.route": route ?? "",
      "http.response.status_code": status,
      "gen_ai.request.model": model,
      "svc.request_id": id,
      ...(key === undefined ? {} : { "user.name": key }),
    },
    ...(error === undefined ? {} : { error }),
  };
}
