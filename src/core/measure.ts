// Results of `svc bench` and `svc tune`.

import { type Static, Type } from "@sinclair/typebox";
import { HubRepositoryDetails } from "./hub.ts";
import type { ModelWork } from "./model-work.ts";

/** Goal if settings conflict. */
export const TUNE_PROFILES = ["quality", "balanced", "fast"] as const;
export type TuneProfile = (typeof TUNE_PROFILES)[number];

export const TuneProfileRequest = Type.Union(
  TUNE_PROFILES.map((profile) => Type.Literal(profile)),
  {
    $id: "TuneProfileRequest",
    description:
      "Goal for `max_seqs`: `quality` keeps each answer nearly as fast as it is alone, `fast` maximizes total tokens per second, `balanced` (default) is between them.",
  },
);

/** Tokens a second over several runs. */
const Rate = Type.Object(
  {
    mean: Type.Number({ description: "Mean of the measured values." }),
    sd: Type.Number({ description: "Standard deviation of the runs." }),
  },
  { $id: "TuneRate", description: "Tokens per second." },
);
export type Rate = Readonly<Static<typeof Rate>>;

/** What a machine gives to some threads. */
export interface MachineSpeed {
  /** Of reading memory. */
  readonly bytes_per_second: number;
  /** Multiply-adds of products with weights of the model's main type. */
  readonly products_per_second: number;
}

/** What a model has to do, and what the machine gives at the moment. */
export interface MachineReport {
  readonly work: ModelWork;
  readonly machine: MachineSpeed;
}

/** The speed that a machine allows. */
export interface RooflineLimit {
  readonly tokens_per_second: number;
  /** What allows no more. */
  readonly by: "memory" | "cores";
  /** The measured speed as a part of it. */
  readonly share: number;
}

/** One line of a bench. */
export interface BenchRow {
  /** prompt: tokens are read; answer: they are written. */
  readonly test: "prompt" | "answer";
  /** Tokens of each sequence. */
  readonly tokens: number;
  /** Tokens of each sequence that are in the cache before. */
  readonly depth: number;
  /** Sequences at the same time. */
  readonly concurrency: number;
  readonly repetitions: number;
  /** Whether the runs agree; false: the machine was too busy to tell. */
  readonly steady: boolean;
  /** Of all sequences together, over the fastest runs. */
  readonly tokens_per_second: Rate;
  /** Medians of the measurements before and after each of these runs; present if a roofline was asked for. */
  readonly machine?: MachineSpeed;
  readonly roofline?: RooflineLimit;
}

/** One line of a tuning: a setting at a value, and how fast the model was with it. */
const TuneMeasurement = Type.Object(
  {
    setting: Type.Union(
      [
        Type.Literal("threads"),
        Type.Literal("ubatch"),
        Type.Literal("mtp_n_predict"),
        Type.Literal("max_seqs"),
      ],
      { description: "The setting that was varied." },
    ),
    value: Type.Integer({ description: "For `mtp_n_predict`, 0 is without draft tokens." }),
    prompt_tokens_per_second: Type.Union([Rate, Type.Null()], { description: "Prefill speed." }),
    answer_tokens_per_second: Type.Union([Rate, Type.Null()], {
      description: "Decode speed of all sequences together.",
    }),
  },
  { $id: "TuneMeasurement", description: "A value of a setting, and the speed with it." },
);
export type TuneMeasurement = Readonly<Static<typeof TuneMeasurement>>;

/** Names as in `[runtime]` of a configuration. */
const RecommendedSettings = Type.Object(
  {
    threads: Type.Integer({ description: "Threads for decode." }),
    threads_batch: Type.Integer({ description: "Threads for prompts." }),
    ubatch: Type.Integer({ description: "Tokens computed at once." }),
    mtp_n_predict: Type.Optional(
      Type.Integer({
        description:
          "Draft tokens of the prediction head in the model's file; 0: `speculative` should be off. Absent for a model without a head, and where settings choose the drafts.",
      }),
    ),
    max_seqs: Type.Integer({ description: "Sequences generated at the same time." }),
  },
  { description: "Settings that measured best." },
);
export type RecommendedSettings = Readonly<Static<typeof RecommendedSettings>>;
export const RECOMMENDED = Object.keys(
  RecommendedSettings.properties,
) as readonly (keyof RecommendedSettings)[];

export const TuneModelResponse = Type.Object(
  {
    model_id: Type.String({ description: "Model that was measured." }),
    profile: TuneProfileRequest,
    measurements: Type.Array(TuneMeasurement),
    recommended: Type.Partial(RecommendedSettings),
    toml: Type.String({
      description:
        "The recommended settings as TOML, without undecided ones; with `estimate`, the `[[models]]` entry of the recommended model.",
    }),
    undecided: Type.Array(Type.KeyOf(RecommendedSettings), {
      description:
        "Settings without a recommendation because their runs varied too much, as on a busy machine; current values are kept.",
    }),
    complete: Type.Boolean({ description: "False if the time limit ended the measurements early." }),
    disturbed: Type.Boolean({ description: "True if other requests ran during the measurements." }),
    estimate: Type.Optional(HubRepositoryDetails),
  },
  { $id: "TuneModelResponse", description: "Measured settings and those to use." },
);
export type TuneReport = Readonly<Static<typeof TuneModelResponse>>;
