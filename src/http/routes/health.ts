// GET /health and / : the server is up. Says nothing about models, so it answers before any is loaded.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { ApiComponents } from "../openapi.ts";

const HealthResponse = Type.Object({ status: Type.Literal("ok") }, { $id: "HealthResponse" });

/** Health routes. */
export function healthRoutes(components: ApiComponents) {
  const detail = {
    tags: ["Health"],
    summary: "Whether the server is up",
    responses: components.answers("The server is up.", HealthResponse),
  };
  return new Elysia()
    .get("/health", () => Response.json({ status: "ok" }), { detail: { ...detail, operationId: "health" } })
    .get("/", () => Response.json({ status: "ok" }), { detail: { ...detail, operationId: "root" } });
}
