// /ui/day/…: what the web interface shows of the last day before it was opened. Hidden from the API's document.

import { Elysia } from "elysia";
import { ServiceError } from "../../core/error.ts";
import type { HttpDeps } from "../deps.ts";

const HIDDEN = { detail: { hide: true } };

/** Routes of the last day. */
export function uiDayRoutes({ day }: HttpDeps) {
  return new Elysia()
    .get(
      "/ui/day/metrics",
      () => {
        if (day?.metrics !== undefined) return Response.json(day.metrics());
        throw new ServiceError("metrics_unavailable", "metrics are switched off by --disable-metrics");
      },
      HIDDEN,
    )
    .get(
      "/ui/day/traces",
      () => {
        if (day?.traces !== undefined) return Response.json({ traces: day.traces() });
        throw new ServiceError(
          "metrics_unavailable",
          "traces are off; start the server with --traces or --otlp-endpoint",
        );
      },
      HIDDEN,
    )
    .get("/ui/day/log", () => Response.json({ lines: day?.log() ?? [] }), HIDDEN);
}
