// POST /v1/models/tune: which settings suit a model on this machine.

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
      "What `max_seqs` is chosen for: `quality` keeps each answer nearly as fast as it is alone, `fast` makes the most tokens altogether, `balanced` (default) lies between.",
  },
);

/** Fields of the interface that would describe another model than the configured one. */
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
        description: "A name that requests may use as `model`; default: the default one.",
      }),
    ),
    profile: orNull(TuneProfileRequest),
    ...FIXED,
  },
  {
    $id: "TuneModelRequest",
    description:
      "The model is measured as it is configured; the other fields are refused unless they are null.",
    additionalProperties: true,
    examples: [{ model_id: "default", profile: "balanced" }],
  },
);
type TuneModelRequest = Static<typeof TuneModelRequest>;

const Rate = Type.Object(
  { mean: Type.Number(), sd: Type.Number({ description: "Standard deviation of the runs." }) },
  { $id: "TuneRate", description: "Tokens a second." },
);

const Measurement = Type.Object(
  {
    setting: Type.Union([Type.Literal("threads"), Type.Literal("ubatch"), Type.Literal("max_seqs")]),
    value: Type.Integer(),
    prompt_tokens_per_second: Type.Union([Rate, Type.Null()], { description: "Reading a prompt." }),
    answer_tokens_per_second: Type.Union([Rate, Type.Null()], {
      description: "Writing, all sequences together.",
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
    toml: Type.String({ description: "The recommended settings as lines of a configuration." }),
    undecided: Type.Array(Type.String(), {
      description:
        "Settings whose runs did not agree, because the machine was too busy; present values are kept.",
    }),
    complete: Type.Boolean({ description: "False when time ran out before everything was measured." }),
    disturbed: Type.Boolean({ description: "True when requests were answered meanwhile." }),
  },
  { $id: "TuneModelResponse" },
);

const checkTune = checker(TuneModelRequest);

/** The route of tuning. */
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
        summary: "Measure a few settings with a model, in an engine of its own, and recommend the best",
        requestBody: components.optionalBody(TuneModelRequest),
        responses: {
          ...components.answers("What was measured and what follows. Takes minutes.", TuneModelResponse),
          409: components.error("`tuning_conflict`"),
        },
      },
    },
  );
}

function refuseFixed(body: TuneModelRequest): void {
  for (const name of Object.keys(FIXED) as (keyof typeof FIXED)[]) {
    if (!isPresent(body[name])) continue;
    const message = `${name}: a model is tuned as it is configured; set this in the configuration, and leave it out here`;
    throw new ServiceError("unsupported_value", message, { param: name });
  }
}
