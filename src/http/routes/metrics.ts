// GET /metrics: metrics in the Prometheus text exposition format.

import { Elysia } from "elysia";
import { ServiceError } from "../../core/error.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";

/** Metrics routes. */
export function metricsRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().get("/metrics", () => metricsText(deps), {
    detail: {
      operationId: "metrics",
      description: "Text format of Prometheus; see `docs/operating.md` for the names.",
      tags: ["Operating"],
      summary: "Prometheus metrics",
      responses: components.textAnswer("The metrics in the text exposition format."),
    },
  });
}

async function metricsText({ metrics }: HttpDeps): Promise<Response> {
  if (metrics === undefined) {
    throw new ServiceError(
      "metrics_unavailable",
      "metrics are disabled; start the server without --disable-metrics to enable them",
    );
  }
  return new Response(await metrics.text(), { headers: { "content-type": metrics.contentType } });
}
