// Requantization and calibration of served models.

import { Elysia } from "elysia";
import type { CalibrationStatus as CoreStatus } from "../../core/requantize.ts";
import {
  CalibrationApplyRequest,
  CalibrationStartRequest,
  CalibrationStatus,
  ReIsqRequest,
  ReIsqResponse,
} from "../../dialects/weights/schema.ts";
import {
  calibrationBody,
  parseCalibrationApply,
  parseCalibrationStart,
  parseReIsq,
} from "../../dialects/weights/wire.ts";
import { readJsonObject, readOptionalJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";

const TAGS = ["Models"];

/** Requantization and calibration routes. Their paths have no version, as in the specification. */
export function weightRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().use(requantizeRoute(deps, components)).use(calibrationRoutes(deps, components));
}

function requantizeRoute({ requantizing }: HttpDeps, components: ApiComponents) {
  return new Elysia().post(
    "/re_isq",
    async ({ request }) => {
      const { model, type } = parseReIsq(await readJsonObject(request));
      const started = requantizing.requantize(model, type);
      return Response.json({ status: "requantizing", model_id: started.model, ggml_type: started.type });
    },
    {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "requantize",
        description:
          "Converts the weights to another type while the model serves; requests change over when it is done.",
        tags: TAGS,
        summary: "Requantize a served model",
        requestBody: components.body(ReIsqRequest),
        responses: components.answers("Requantization has started.", ReIsqResponse),
      },
    },
  );
}

async function answer(counting: Promise<CoreStatus>): Promise<Response> {
  return Response.json(calibrationBody(await counting));
}

function calibrationRoutes({ requantizing }: HttpDeps, components: ApiComponents) {
  const responses = components.answers("State of the calibration.", CalibrationStatus);
  return new Elysia()
    .get(
      "/calibration/status",
      ({ query }) => answer(requantizing.calibration(query["model_id"] ?? "default")),
      {
        detail: {
          operationId: "get_calibration",
          description: "Whether statistics are collected, and from how much text so far.",
          tags: TAGS,
          summary: "Get the state of the calibration",
          parameters: [
            {
              name: "model_id",
              in: "query",
              required: false,
              description: "Model id; the default model if omitted.",
              schema: { type: "string" },
            },
          ],
          responses,
        },
      },
    )
    .post(
      "/calibration/start",
      async ({ request }) => {
        const { model, rows } = parseCalibrationStart(await readOptionalJsonObject(request));
        return answer(requantizing.startCalibration(model, rows));
      },
      {
        parse: "none",
        detail: {
          operationId: "start_calibration",
          description: "The statistics say which weights matter for this server's requests.",
          tags: TAGS,
          summary: "Collect importance statistics from served requests",
          requestBody: components.optionalBody(CalibrationStartRequest),
          responses,
        },
      },
    )
    .post(
      "/calibration/apply",
      async ({ request }) => {
        const { model, saveAs } = parseCalibrationApply(await readOptionalJsonObject(request));
        return answer(requantizing.applyCalibration(model, saveAs));
      },
      {
        parse: "none",
        detail: {
          operationId: "apply_calibration",
          description: "The new weights serve when they are ready.",
          tags: TAGS,
          summary: "Requantize with the collected statistics",
          requestBody: components.optionalBody(CalibrationApplyRequest),
          responses,
        },
      },
    );
}
