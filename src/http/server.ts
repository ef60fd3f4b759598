// Builds the HTTP application and listens. The order below matters: error handling first, because the framework does
// not apply it to what was registered before, then what every answer carries, then the routes.

import { type AnyElysia, Elysia } from "elysia";
import { REQUEST_BODY_BYTES_MAX } from "../core/limits.ts";
import type { HttpDeps } from "./deps.ts";
import { DOCS_PATH, docsRoutes } from "./docs.ts";
import { errorResponse, type RouteTable, routeTable, toServiceError, unroutedResponse } from "./errors.ts";
import { corsHook } from "./hooks/cors.ts";
import { REQUEST_ID_HEADER, requestId } from "./hooks/request-id.ts";
import { ApiComponents, openapiHook } from "./openapi.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { chatRoutes } from "./routes/chat.ts";
import { completionRoutes } from "./routes/completions.ts";
import { embeddingRoutes } from "./routes/embeddings.ts";
import { containerRoutes, fileRoutes } from "./routes/files.ts";
import { healthRoutes } from "./routes/health.ts";
import { skillRoutes } from "./routes/skills.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { messagesRoutes } from "./routes/messages.ts";
import { modelRoutes } from "./routes/models.ts";
import { responseRoutes } from "./routes/responses.ts";

/**
 * Bun's own limit, bytes. Above it Bun answers 413 with an empty body, so it lies far above ours, which answers with
 * the error object. Nothing reads a body beyond our limit.
 */
const TRANSPORT_BODY_BYTES_MAX = REQUEST_BODY_BYTES_MAX * 1024;

/** The application: `app.handle(request)` answers in process, `listen` puts it on a port. */
export function createHttp(deps: HttpDeps): AnyElysia {
  const components = new ApiComponents();
  let table: RouteTable | undefined; // made at the first miss, when all routes are known
  // Without this the framework takes the path from the 11th character of the URL on, wherever a short host name ends.
  const app = new Elysia({ handler: { standardHostname: false } })
    .onError(({ code, error, request, set }) => {
      if (code === "NOT_FOUND") return unroutedResponse(request, (table ??= routeTable(app.routes)));
      const id = String(set.headers[REQUEST_ID_HEADER]);
      const serviceError = toServiceError(error, (line) => deps.log(`${id} ${line}`));
      return errorResponse(serviceError, {}, new URL(request.url).pathname);
    })
    .onRequest(({ request, set }) => {
      set.headers[REQUEST_ID_HEADER] = requestId(request);
    })
    .use(corsHook())
    .use(healthRoutes(components))
    .use(modelRoutes(deps, components))
    .use(chatRoutes(deps, components))
    .use(approvalRoutes(deps, components))
    .use(completionRoutes(deps, components))
    .use(messagesRoutes(deps, components))
    .use(responseRoutes(deps, components))
    .use(embeddingRoutes(deps, components))
    .use(fileRoutes(deps, components))
    .use(containerRoutes(deps, components))
    .use(sessionRoutes(deps, components))
    .use(skillRoutes(deps, components))
    .use(openapiHook(components, DOCS_PATH))
    .use(docsRoutes()); // after the plugin: of two routes with one path the later answers
  return app;
}

export interface ListenOptions {
  readonly hostname: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/** A server on a port. */
export interface Listening {
  readonly hostname: string;
  readonly port: number;
  /** Takes no new connections; resolves when the open ones are done, or at once when they are cut. */
  stop(cutConnections: boolean): Promise<void>;
}

/** What answers requests: an application, or a single handler. */
export interface Handler {
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/** Listens, or throws what Bun throws: `code` is `EADDRINUSE` for a port that is taken. */
export function listen(app: Handler, options: ListenOptions): Listening {
  const server = Bun.serve({
    hostname: options.hostname,
    port: options.port,
    fetch: app.fetch,
    idleTimeout: 0, // a long answer that is not streamed sends nothing for minutes
    reusePort: false, // otherwise a second server would share the port without a word
    maxRequestBodySize: TRANSPORT_BODY_BYTES_MAX,
    development: false,
  });
  return {
    hostname: options.hostname,
    port: server.port ?? options.port,
    stop: (cutConnections) => server.stop(cutConnections),
  };
}
