// Anything thrown → the error envelope. The only place that makes an error response. Bugs are logged
// with their stack and reach the client as `internal_error` without detail.

import { ERROR_TABLE, type ErrorData, ServiceError } from "../core/error.ts";
import type { ObservedRequest } from "../core/telemetry.ts";
import { CORS_HEADERS } from "./hooks/cors.ts";
import { idHeaders } from "./hooks/request-id.ts";
import { observed } from "./observe.ts";
import type { RouteTable } from "./route-table.ts";
import { pathOf } from "./target.ts";

/** Takes one line of log output. */
export type LogLine = (line: string) => void;

/** Suggested pause before a retry where the thrower named none, seconds. */
const RETRY_AFTER_SECS = 1;

/** The ServiceError that a thrown value stands for; what is not one is logged and becomes `internal_error`. */
export function toServiceError(thrown: unknown, log: LogLine): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  log(`internal error: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
  return new ServiceError(
    "internal_error",
    "the request failed with an internal error; the server's log has the details",
    {
      cause: thrown,
    },
  );
}

/** The same for an error that has no response to itself because the answer has begun. */
export function toErrorData(thrown: unknown, log: LogLine): ErrorData {
  return toServiceError(thrown, log).toData();
}

/** Paths of the dialect whose clients show an error only if `type: "error"` stands beside it. */
const TYPED_ERRORS = /^\/v1\/messages(\/|$)/;

/** Paths of Ollama's dialect, where the error is its text. */
const TEXT_ERRORS = /^\/api\//;

/** What Ollama's clients may ask for beyond what is served; each with what to do instead. */
const OLLAMA_ABSENT = /^\/api\/(create|copy|push|pull|delete|blobs)(\/|$)/;

/** The error response of a ServiceError; `path` is what was requested, where it is known. */
export function errorResponse(
  error: ServiceError,
  headers: Readonly<Record<string, string>> = {},
  path = "",
): Response {
  const [status] = ERROR_TABLE[error.code];
  const seen = observed();
  if (seen !== undefined) seen.error = error.code;
  const mayRetry = status === 429 || status === 503;
  const retryAfterSecs = error.retryAfterSecs ?? (mayRetry ? RETRY_AFTER_SECS : undefined);
  const retry = retryAfterSecs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterSecs)) };
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  const last = status === 408 ? { connection: "close" } : {}; // the rest of the body would be taken for a request
  const body = bodyOf(error, path);
  return Response.json(body, { status, headers: { ...retry, ...challenge, ...last, ...headers } });
}

/** The answer to a request that is not let in. Pages of any origin may read it; the connection of one too many is closed. */
export function refusedResponse(refusal: ServiceError, seen: ObservedRequest, withId: boolean): Response {
  const headers = {
    ...CORS_HEADERS,
    ...(withId ? idHeaders(seen) : {}),
    ...(refusal.code === "too_many_connections" ? { connection: "close" } : {}),
  };
  return errorResponse(refusal, headers, seen.path);
}

function bodyOf(error: ServiceError, path: string): object {
  if (TEXT_ERRORS.test(path)) return { error: error.message };
  return { ...(TYPED_ERRORS.test(path) ? { type: "error" } : {}), ...error.toBody() };
}

/** Paths of llama-server, vLLM, TGI and TEI whose bodies are others than those of the paths here. */
const FOREIGN_PATHS: ReadonlyMap<string, string> = new Map([
  ["/completion", "/v1/completions"],
  ["/generate", "/v1/completions"],
  ["/generate_stream", "/v1/completions"],
  ["/embed", "/v1/embeddings"],
  ["/embedding", "/v1/embeddings"],
  ["/reranking", "/v1/rerank"],
  ["/v1/reranking", "/v1/rerank"],
  ["/score", "/v1/rerank"],
  ["/v1/score", "/v1/rerank"],
  ["/slots", "/metrics"],
  ["/props", "/v1/models"],
  ["/info", "/v1/models"],
  ["/ping", "/health"],
  ["/healthz", "/health"],
  ["/v1/health", "/health"],
  ["/version", "/api/version"],
]);

/** 405 with Allow for a known path, 404 for any other. */
export function unroutedResponse(request: Request, table: RouteTable): Response {
  const pathname = observed()?.path ?? pathOf(request.url);
  const absent = OLLAMA_ABSENT.exec(pathname)?.[1];
  if (absent !== undefined && table.match(pathname) === undefined) {
    const message = `this server does not ${absent === "blobs" ? "take blobs" : `${absent} models`} over HTTP; name models when it starts: svc serve -m MODEL`;
    return errorResponse(new ServiceError("route_not_found", message), {}, pathname);
  }
  const allowed = table.match(pathname)?.methods.join(", ");
  if (allowed === undefined) {
    const candidates = [
      FOREIGN_PATHS.get(pathname),
      `/v1${pathname}`,
      pathname.replace(/^\/api\/v\d/, "/v1"),
    ];
    const meant = candidates.find((path) => path !== undefined && table.match(path) !== undefined);
    const advice = meant === undefined ? "GET /docs lists the routes" : `use ${meant}`;
    return errorResponse(
      new ServiceError("route_not_found", `there is no route ${request.method} ${pathname}; ${advice}`),
      {},
      pathname,
    );
  }
  return errorResponse(
    new ServiceError("method_not_allowed", `${pathname} does not support ${request.method}; use ${allowed}`),
    { allow: allowed },
    pathname,
  );
}
