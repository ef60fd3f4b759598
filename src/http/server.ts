// Builds the HTTP application and listens. The order below matters: error handling first, because the framework does
// not apply it to what was registered before, then what every answer carries, then the routes as the documentation lists them.

import { assert } from "../core/assert.ts";
import { type AnyElysia, Elysia } from "elysia";
import { ServiceError } from "../core/error.ts";
import { CONNECTION_IDLE_SECS, REQUEST_BODY_BYTES_MAX } from "./limits.ts";
import { compatWarnings } from "./compat.ts";
import type { HttpDeps } from "./deps.ts";
import { DOCS_PATH, docsRoutes } from "./docs.ts";
import { HeldRuns } from "./held-runs.ts";
import { errorResponse, refusedResponse, toServiceError, unroutedResponse } from "./errors.ts";
import { newGate } from "./gate.ts";
import { CORS_HEADERS, preflightAnswer } from "./hooks/cors.ts";
import { idHeaders } from "./hooks/request-id.ts";
import { cameOn } from "./connection.ts";
import { observed, observing } from "./observe.ts";
import { completeDetails } from "./openapi-routes.ts";
import { ApiComponents, openapiHook } from "./openapi.ts";
import { adapterRoutes } from "./routes/adapters.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { infillRoutes } from "./routes/infill.ts";
import { ollamaModelRoutes } from "./routes/ollama-models.ts";
import { ollamaRoutes } from "./routes/ollama.ts";
import { rerankRoutes } from "./routes/rerank.ts";
import { type RouteTable, routeTable } from "./route-table.ts";
import { chatRoutes } from "./routes/chat.ts";
import { completionRoutes } from "./routes/completions.ts";
import { embeddingRoutes } from "./routes/embeddings.ts";
import { containerRoutes, fileRoutes } from "./routes/files.ts";
import { healthRoutes } from "./routes/health.ts";
import { hubRoutes } from "./routes/hub.ts";
import { imageRoutes } from "./routes/images.ts";
import { usageRoutes } from "./routes/usage.ts";
import { weightRoutes } from "./routes/weights.ts";
import { skillRoutes } from "./routes/skills.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { mcpOfferRoutes } from "./routes/mcp-offers.ts";
import { messagesRoutes } from "./routes/messages.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { modelRoutes } from "./routes/models.ts";
import { tuneRoutes } from "./routes/tune.ts";
import { responseRoutes } from "./routes/responses.ts";
import { speechRoutes } from "./routes/speech.ts";
import { systemRoutes } from "./routes/system.ts";
import { uiDayRoutes } from "./routes/ui-day.ts";
import { noHistoryRoute, uiHistoryRoutes } from "./routes/ui-history.ts";
import { uiMcpRoutes } from "./routes/ui-mcp.ts";
import { uiRunRoutes } from "./routes/ui-runs.ts";
import { uiRoutes } from "./ui.ts";

/**
 * Bun's own limit, bytes. Above it Bun answers 413 with an empty body, so it lies far above ours, which answers with
 * the error object. Nothing reads a body beyond our limit.
 */
const TRANSPORT_BODY_BYTES_MAX = REQUEST_BODY_BYTES_MAX * 1024;

/** Routes with one signature, in the order of the API's document: generation first. */
const ROUTES = [
  completionRoutes,
  messagesRoutes,
  responseRoutes,
  embeddingRoutes,
  rerankRoutes,
  infillRoutes,
  ollamaRoutes,
  ollamaModelRoutes,
  imageRoutes,
  speechRoutes,
  approvalRoutes,
  sessionRoutes,
  fileRoutes,
  containerRoutes,
  skillRoutes,
  mcpOfferRoutes,
  modelRoutes,
  tuneRoutes,
  hubRoutes,
  adapterRoutes,
  weightRoutes,
  systemRoutes,
  usageRoutes,
  metricsRoutes,
  healthRoutes,
] as const;

/** The application: `app.handle(request)` answers in process, `listen` puts it on a port. */
export function createHttp(deps: HttpDeps): AnyElysia {
  const components = new ApiComponents();
  let table: RouteTable | undefined; // made at the end, when all routes are known
  const gate = newGate(deps);
  const runs = new HeldRuns();
  const routes = (): RouteTable => (table ??= routeTable(app.routes, components.schemas));
  // Without this the framework takes the path from the 11th character of the URL on, wherever a short host name ends.
  const app: AnyElysia = new Elysia({ handler: { standardHostname: false } })
    .wrap(
      observing({
        ...deps,
        routes,
        servedAs: compatWarnings(deps.log),
        refused: (refusal, seen) => refusedResponse(refusal, seen, deps.requestIdHeader !== false),
      }),
    )
    .onError(({ code, error, request }) => {
      if (code === "NOT_FOUND") return unroutedResponse(request, routes());
      const seen = observed();
      return errorResponse(
        toServiceError(error, (line) => deps.log(`${seen?.id} ${line}`)),
        {},
        seen?.path,
      );
    })
    .onRequest(({ set }) => {
      const seen = observed();
      if (seen !== undefined && deps.requestIdHeader !== false) Object.assign(set.headers, idHeaders(seen));
      Object.assign(set.headers, CORS_HEADERS);
    })
    .onRequest(({ request }) => {
      const seen = observed();
      assert(seen !== undefined, "every request is observed");
      gate.check(request, seen.rule);
      checkPath(seen.path);
      if (request.method !== "OPTIONS") return undefined;
      return preflightAnswer(request.headers, gate.isPageAllowed(request, seen.rule));
    })
    .use(chatRoutes(deps, components, runs));
  for (const routesOf of ROUTES) app.use(routesOf(deps, components));
  app.use(openapiHook(components, DOCS_PATH)).use(docsRoutes()); // of two routes with one path the later answers
  if (deps.ui !== false) app.use(interfaceRoutes(deps, runs));
  completeDetails(app.routes, routes(), components);
  for (const [method, path] of routes().modelRoutes)
    deps.metrics?.watchRoute(method, path, deps.models()[0]?.id ?? "none");
  return app;
}

/** The web interface and the routes of its own data. */
function interfaceRoutes(deps: HttpDeps, runs: HeldRuns) {
  const routes = new Elysia()
    .use(uiRoutes())
    .use(uiRunRoutes(deps, runs))
    .use(uiDayRoutes(deps))
    .use(uiMcpRoutes(deps));
  return routes.use(deps.history === undefined ? noHistoryRoute() : uiHistoryRoutes(deps.history));
}

/** The framework decodes ids in paths and reports one that cannot be decoded as an internal error. */
function checkPath(path: string): void {
  if (!path.includes("%")) return;
  try {
    decodeURIComponent(path);
  } catch {
    throw new ServiceError("invalid_request", "the path is not percent-encoded UTF-8");
  }
}

/** Client address of requests over a UNIX socket: its other end is on this machine. */
const SOCKET_PEER = "127.0.0.1";

export interface ListenOptions {
  readonly hostname: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** A UNIX socket instead of both. */
  readonly socket?: { readonly path: string; readonly mode: number } | undefined;
  /** A connection is closed on which no request has come whole, but for its body, so long after the last was answered. */
  readonly idleSecs?: number;
}

/** A server on a port or a UNIX socket. */
export interface Listening {
  readonly hostname: string;
  /** 0 of a socket. */
  readonly port: number;
  /** Takes no new connections; resolves when the open ones are done, or at once when they are cut. */
  stop(cutConnections: boolean): Promise<void>;
}

/** Request handler: an application, or a function. */
export interface Handler {
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/** Listens, or throws what Bun throws: `code` is `EADDRINUSE` for a port that is taken. */
export function listen(app: Handler, options: ListenOptions): Listening {
  const { hostname, port, socket, idleSecs = CONNECTION_IDLE_SECS } = options;
  const shared = {
    fetch: (request: Request, connections: Bun.Server<unknown>) => {
      connections.timeout(request, 0); // a long answer that is not streamed sends nothing for minutes
      cameOn(request, {
        peer: () => (socket ? SOCKET_PEER : (connections.requestIP(request)?.address ?? "")),
        peerPort: () => connections.requestIP(request)?.port ?? 0,
        ownPort: connections.port ?? port,
        answered: () => connections.timeout(request, idleSecs), // or it would be kept without end
      });
      return app.fetch(request);
    },
    maxRequestBodySize: TRANSPORT_BODY_BYTES_MAX,
    development: false,
  } as const;
  const server = socket
    ? withMode(socket.mode, () => Bun.serve({ ...shared, unix: socket.path }))
    : Bun.serve({
        ...shared,
        hostname,
        port,
        idleTimeout: idleSecs, // a socket's connection without a request ends after the runtime's own 10 s
        ipv6Only: hostname === "::", // IPv4 has a listener of its own, whose clients have IPv4 addresses
        reusePort: false, // otherwise a second server would share the port without a word
      });
  return {
    hostname,
    port: server.port ?? 0,
    stop: (cutConnections) => server.stop(cutConnections),
  };
}

/** Makes files with these permissions from their first moment. */
function withMode<T>(mode: number, work: () => T): T {
  const before = process.umask(0o777 & ~mode);
  try {
    return work();
  } finally {
    process.umask(before);
  }
}
