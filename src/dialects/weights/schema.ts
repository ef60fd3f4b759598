// Wire schemas of requantization and calibration.

import { type Static, Type } from "@sinclair/typebox";
import { count, OPEN, orNull } from "../../core/schema-fields.ts";
import { CALIBRATION_ROWS_MAX } from "../shared/limits.ts";

const model = orNull(
  Type.String({ description: "Model id; `default` or absent selects the default model." }),
);
const rows = (description: string) =>
  orNull(Type.Integer({ minimum: 0, maximum: CALIBRATION_ROWS_MAX, description }));

export const ReIsqRequest = Type.Object(
  {
    ggml_type: Type.String({ minLength: 1, description: "Target quantization type.", examples: ["Q4_K_M"] }),
    model_id: model,
  },
  {
    $id: "ReIsqRequest",
    description: "Body of a request to requantize a model.",
    examples: [{ ggml_type: "Q4_K_M" }],
    ...OPEN,
  },
);

export const ReIsqResponse = Type.Object(
  {
    status: Type.Literal("requantizing"),
    model_id: Type.String({ description: "Model that was requantized." }),
    ggml_type: Type.String({ description: "New type of the weights." }),
  },
  {
    $id: "ReIsqResponse",
    description: "Requantization has started; the model keeps serving until it is replaced.",
  },
);

export const CalibrationStartRequest = Type.Object(
  {
    model_id: model,
    max_rows: rows("Rows after which a layer stops collecting; 0 or absent: no limit."),
    min_rows: rows("Rows that each layer must have collected before the statistics are used."),
  },
  {
    $id: "CalibrationStartRequest",
    description: "Body of a request to start the calibration.",
    examples: [{ min_rows: 1000 }],
    ...OPEN,
  },
);

export const CalibrationApplyRequest = Type.Object(
  {
    model_id: model,
    save_cimatrix: orNull(
      Type.String({ minLength: 1, description: "Also write the statistics to a file with this name." }),
    ),
  },
  {
    $id: "CalibrationApplyRequest",
    description: "Body of a request to use the calibration.",
    examples: [{ save_cimatrix: "imatrix.gguf" }],
    ...OPEN,
  },
);

export const CalibrationStatus = Type.Object(
  {
    collecting: Type.Boolean({ description: "Whether statistics are collected." }),
    layers: count("Weight matrices of the model's layers."),
    layers_tracking: count("Matrices with statistics."),
    min_rows: count("Fewest rows that a tracked matrix has collected."),
    max_rows: count("Most rows that a tracked matrix has collected."),
    total_rows: count("Rows over all tracked matrices."),
  },
  { $id: "CalibrationStatus", description: "State of the calibration." },
);
export type CalibrationStatus = Static<typeof CalibrationStatus>;
