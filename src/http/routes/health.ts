// Liveness: GET /health and /. Readiness: GET /ready.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { SERVER } from "../../core/caller.ts";
import { ServiceError } from "../../core/error.ts";
import type { HttpDeps } from "../deps.ts";
import { errorResponse } from "../errors.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";

const HealthResponse = Type.Object(
  { status: Type.Literal("ok") },
  { $id: "HealthResponse", description: "The server answers." },
);

/** An id that no session has: looking it up queries the state. */
const PROBE_SESSION = "svc-readiness-probe";

/** Health and readiness routes. */
export function healthRoutes(deps: HttpDeps, components: ApiComponents) {
  const detail = {
    tags: ["Health"],
    summary: "Liveness check",
    description: "For supervisors; needs no key. It answers whatever the models do.",
    responses: components.answers("The server is alive.", HealthResponse),
  };
  return new Elysia()
    .get("/health", () => Response.json({ status: "ok" }), { detail: { ...detail, operationId: "health" } })
    .get("/", ({ request }) => root(request, deps), { detail: { ...detail, operationId: "root" } })
    .get("/ready", () => ready(deps), {
      detail: {
        tags: ["Health"],
        operationId: "ready",
        description: "For load balancers and orchestrators; needs no key.",
        summary:
          "Readiness check: the default model is loaded, the server is not stopping, its state is available",
        responses: {
          ...components.answers("The server is ready.", HealthResponse),
          503: components.error(
            "The server is not ready: `model_unavailable`, `shutting_down` or `storage_unavailable`.",
          ),
        },
      },
    });
}

/** Redirects browsers to the web interface, or to the API documentation if it is disabled. */
function root({ headers }: Request, { ui = true }: HttpDeps): Response {
  if (headers.get("accept")?.includes("text/html") !== true) return Response.json({ status: "ok" });
  return new Response(null, { status: 302, headers: { location: ui ? "/ui/" : "/docs" } });
}

function ready(deps: HttpDeps): Response {
  try {
    refuseWhileDraining(deps);
    checkModel(deps);
    checkState(deps);
    return Response.json({ status: "ok" });
  } catch (error) {
    if (error instanceof ServiceError) return errorResponse(error);
    throw error;
  }
}

/** An unloaded model is ready: the next request loads it. One that is loading, or failed to load, is not. */
function checkModel({ models, control }: HttpDeps): void {
  const [first] = models();
  if (first === undefined) return;
  const { id, status, error } = control.status(first.id);
  if (status === "reloading") throw unavailable(`the model "${id}" is loading`);
  if (error !== undefined)
    throw unavailable(`the model "${id}" could not be loaded; the server's log says why`);
}

function unavailable(message: string): ServiceError {
  return new ServiceError("model_unavailable", message);
}

function checkState({ sessions }: HttpDeps): void {
  try {
    sessions(SERVER).get(PROBE_SESSION);
  } catch (cause) {
    if (cause instanceof ServiceError && cause.code !== "storage_unavailable") return; // it answered
    throw new ServiceError("storage_unavailable", "the server's state cannot be read", { cause });
  }
}
