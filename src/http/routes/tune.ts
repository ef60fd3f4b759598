// POST /v1/models/tune: measures settings of a model on this machine.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ServiceError } from "../../core/error.ts";
import { TUNE_PROFILES } from "../../core/measure.ts";
import { checker, isPresent, orNull } from "../../dialects/shared/check.ts";
import { readOptionalJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";

const TuneProfileRequest = Type.Union(
  TUNE_PROFILES.map((profile) => Type.Literal(profile)),
  {
    $id: "TuneProfileRequest",
    description:
      "Goal for `max_seqs`: `quality` keeps each answer nearly as fast as it is alone, `fast` maximizes total tokens per second, `balanced` (default) is between them.",
  },
);

/** Fields of the specification that would change the configured model. */
const FIXED = {
  cpu: orNull(Type.Boolean()),
  dtype: orNull(Type.String()),
  hf_revision: orNull(Type.String()),
  max_batch_size: orNull(Type.Integer({ minimum: 0 })),
  max_image_length: orNull(Type.Integer({ minimum: 0 })),
  max_num_images: orNull(Type.Integer({ minimum: 0 })),
  max_seq_len: orNull(Type.Integer({ minimum: 0 })),
  requested_isq: orNull(Type.String()),
  token_source: orNull(Type.String()),
};

const TuneModelRequest = Type.Object(
  {
    model_id: orNull(
      Type.String({
        minLength: 1,
        description: "A name that requests accept as `model`; the default model if omitted.",
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

const Rate = Type.Object(
  { mean: Type.Number(), sd: Type.Number({ description: "Standard deviation of the runs." }) },
  { $id: "TuneRate", description: "Tokens per second." },
);

const Measurement = Type.Object(
  {
    setting: Type.Union([Type.Literal("threads"), Type.Literal("ubatch"), Type.Literal("max_seqs")]),
    value: Type.Integer(),
    prompt_tokens_per_second: Type.Union([Rate, Type.Null()], { description: "Prefill speed." }),
    answer_tokens_per_second: Type.Union([Rate, Type.Null()], {
      description: "Decode speed of all sequences together.",
    }),
  },
  { $id: "TuneMeasurement" },
);

const TuneModelResponse = Type.Object(
  {
    model_id: Type.String(),
    profile: TuneProfileRequest,
    measurements: Type.Array(Measurement),
    recommended: Type.Object({
      threads: Type.Integer(),
      threads_batch: Type.Integer(),
      ubatch: Type.Integer(),
      max_seqs: Type.Integer(),
    }),
    toml: Type.String({ description: "The recommended settings as TOML." }),
    undecided: Type.Array(Type.String(), {
      description:
        "Settings without a recommendation because their runs varied too much, as on a busy machine; current values are kept.",
    }),
    complete: Type.Boolean({ description: "False if the time limit ended the measurements early." }),
    disturbed: Type.Boolean({ description: "True if other requests ran during the measurements." }),
  },
  { $id: "TuneModelResponse" },
);

const checkTune = checker(TuneModelRequest);

/** Tuning route. */
export function tuneRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post(
    "/v1/models/tune",
    async ({ request }) => {
      refuseWhileDraining(deps);
      const body = checkTune(await readOptionalJsonObject(request));
      refuseFixed(body);
      return Response.json(
        await deps.tune(body.model_id ?? "default", body.profile ?? "balanced", request.signal),
      );
    },
    {
      parse: "none",
      detail: {
        operationId: "tune_model",
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

function refuseFixed(body: TuneModelRequest): void {
  for (const name of Object.keys(FIXED) as (keyof typeof FIXED)[]) {
    if (!isPresent(body[name])) continue;
    const message = `${name} is not supported: the model is measured as it is configured; set it in the configuration and omit it here`;
    throw new ServiceError("unsupported_value", message, { param: name });
  }
}
