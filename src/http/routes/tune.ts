// POST /v1/models/tune: measures settings of a model on this machine.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ServiceError } from "../../core/error.ts";
import { formatRepo, parseHubId } from "../../core/hub-id.ts";
import { RECOMMENDED, TuneModelResponse, TuneProfileRequest, type TuneReport } from "../../core/measure.ts";
import { modelEntry } from "../../core/model-entry.ts";
import { orNull } from "../../core/schema-fields.ts";
import { checker, isPresent } from "../../dialects/shared/check.ts";
import { readOptionalJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { hubFor } from "../hub.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";

const mustBeNull = { description: "Must be null." };

/** Fields of the specification that would change the configured model. */
const FIXED = {
  cpu: orNull(Type.Boolean(mustBeNull)),
  dtype: orNull(Type.String(mustBeNull)),
  hf_revision: orNull(Type.String(mustBeNull)),
  max_batch_size: orNull(Type.Integer({ minimum: 0, ...mustBeNull })),
  max_image_length: orNull(Type.Integer({ minimum: 0, ...mustBeNull })),
  max_num_images: orNull(Type.Integer({ minimum: 0, ...mustBeNull })),
  max_seq_len: orNull(Type.Integer({ minimum: 0, ...mustBeNull })),
  requested_isq: orNull(Type.String(mustBeNull)),
  token_source: orNull(Type.String(mustBeNull)),
};

const TuneModelRequest = Type.Object(
  {
    model_id: orNull(
      Type.String({
        minLength: 1,
        description:
          "A name that requests accept as `model`, or `owner/name` on the hub, which is estimated without a download; the default model if omitted.",
      }),
    ),
    profile: orNull(TuneProfileRequest),
    ...FIXED,
  },
  {
    $id: "TuneModelRequest",
    description: "The model is measured as it is configured; other fields must be null.",
    additionalProperties: true,
    examples: [{ model_id: "default", profile: "balanced" }],
  },
);
type TuneModelRequest = Static<typeof TuneModelRequest>;

const checkTune = checker(TuneModelRequest);

/** Tuning route. */
export function tuneRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post(
    "/v1/models/tune",
    async ({ request }) => {
      refuseWhileDraining(deps);
      const body = checkTune(await readOptionalJsonObject(request));
      refuseFixed(body);
      return Response.json(await tuned(body, deps, request));
    },
    {
      parse: "none",
      detail: {
        operationId: "tune_model",
        description:
          "Takes minutes. The settings in use stay as they are; the answer has the best ones as TOML. A model of the hub that is not on this machine is estimated instead: its sizes and speed, and what to use.",
        tags: ["Models"],
        summary: "Measure settings of a model in a separate engine and recommend the best",
        requestBody: components.optionalBody(TuneModelRequest),
        responses: {
          ...components.answers(
            "The measurements and recommended settings. Takes minutes.",
            TuneModelResponse,
          ),
          409: components.error("`tuning_conflict`"),
        },
      },
    },
  );
}

/** The measurements of a model that is served, else the estimate of one that the hub has. */
async function tuned(body: TuneModelRequest, deps: HttpDeps, request: Request): Promise<TuneReport> {
  const [name, profile] = [body.model_id ?? "default", body.profile ?? "balanced"];
  const id = parseHubId(name);
  try {
    return await deps.tune(name, profile, request.signal);
  } catch (error) {
    const isUnknown = error instanceof ServiceError && error.code === "model_not_found";
    if (!isUnknown || id === undefined || deps.hub === undefined) throw error;
  }
  const estimate = await hubFor(deps, request).repository(formatRepo(id), request.signal);
  const model =
    estimate.models.find((one) => one.id === name) ?? estimate.models.find((one) => one.is_default);
  return {
    model_id: model?.id ?? name,
    profile,
    measurements: [],
    recommended: {},
    toml: model === undefined ? "" : modelEntry(estimate, model),
    undecided: [...RECOMMENDED],
    complete: true,
    disturbed: false,
    estimate,
  };
}

function refuseFixed(body: TuneModelRequest): void {
  for (const name of Object.keys(FIXED) as (keyof typeof FIXED)[]) {
    if (!isPresent(body[name])) continue;
    const message = `${name} is not supported: the model is measured as it is configured; set it in the configuration and omit it here`;
    throw new ServiceError("unsupported_value", message, { param: name });
  }
}
