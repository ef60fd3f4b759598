// The wire of requantization and calibration.

import { type Static, Type } from "@sinclair/typebox";
import { CALIBRATION_ROWS_MAX } from "../shared/limits.ts";
import { orNull } from "../shared/check.ts";

const OPEN = { additionalProperties: true } as const;
const model = orNull(Type.String({ description: "The model; `default` or absent takes the default model." }));
const rows = (description: string) =>
  orNull(Type.Integer({ minimum: 0, maximum: CALIBRATION_ROWS_MAX, description }));

export const ReIsqRequest = Type.Object(
  {
    ggml_type: Type.String({ minLength: 1, description: "What to quantize to.", examples: ["Q4_K_M"] }),
    model_id: model,
  },
  { $id: "ReIsqRequest", examples: [{ ggml_type: "Q4_K_M" }], ...OPEN },
);

export const ReIsqResponse = Type.Object(
  {
    status: Type.Literal("requantizing"),
    model_id: Type.String(),
    ggml_type: Type.String(),
  },
  { $id: "ReIsqResponse", description: "It has begun; the model goes on answering and then changes over." },
);

export const CalibrationStartRequest = Type.Object(
  {
    model_id: model,
    max_rows: rows("Rows after which a layer counts no more; 0 or absent: never."),
    min_rows: rows("Rows that each layer must have seen before the statistics are used."),
  },
  { $id: "CalibrationStartRequest", examples: [{ min_rows: 1000 }], ...OPEN },
);

export const CalibrationApplyRequest = Type.Object(
  {
    model_id: model,
    save_cimatrix: orNull(
      Type.String({ minLength: 1, description: "Also write the statistics to a file of this name." }),
    ),
  },
  { $id: "CalibrationApplyRequest", examples: [{ save_cimatrix: "imatrix.gguf" }], ...OPEN },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const CalibrationStatus = Type.Object(
  {
    collecting: Type.Boolean(),
    layers: count("Weight matrices of the model's layers."),
    layers_tracking: count("Those that have statistics."),
    min_rows: count("Rows that one of these has seen: the fewest."),
    max_rows: count("The most."),
    total_rows: count("All together."),
  },
  { $id: "CalibrationStatus" },
);
export type CalibrationStatus = Static<typeof CalibrationStatus>;
