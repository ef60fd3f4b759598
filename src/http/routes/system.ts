// GET /v1/system/info and POST /v1/system/doctor: facts and checks of the machine.

import { Elysia } from "elysia";
import { DoctorReport, SystemInfo } from "../../core/system.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";

/** System routes. */
export function systemRoutes({ system }: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .get("/v1/system/info", async () => Response.json(await system.info()), {
      detail: {
        operationId: "system_info",
        description: "Version, processor, memory, devices, sandbox and the state of every model.",
        tags: ["Operating"],
        summary: "Describe the machine and the served models",
        responses: components.answers("Facts of the machine and the engines.", SystemInfo),
      },
    })
    .post("/v1/system/doctor", async () => Response.json(await system.doctor()), {
      parse: "none", // it takes no body, whatever is sent
      detail: {
        operationId: "system_doctor",
        description: "Each check with its result and, of a problem, the fix.",
        tags: ["Operating"],
        summary: "Check the installation",
        responses: components.answers("Results of all checks.", DoctorReport),
      },
    });
}
