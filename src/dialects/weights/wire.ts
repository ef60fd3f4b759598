// Converts bodies of requantization and calibration to and from core types.

import type { Json } from "../../core/json.ts";
import { ServiceError } from "../../core/error.ts";
import { FILE_TYPE_NAMES, type FileType, fileTypeOf } from "../../core/quantization.ts";
import type { CalibrationRows, CalibrationStatus as CoreStatus } from "../../core/requantize.ts";
import { checker, describeValue } from "../shared/check.ts";
import {
  CalibrationApplyRequest,
  CalibrationStartRequest,
  type CalibrationStatus,
  ReIsqRequest,
} from "./schema.ts";

const checkReIsq = checker(ReIsqRequest);
const checkStart = checker(CalibrationStartRequest);
const checkApply = checker(CalibrationApplyRequest);

/** Parses the body of a requantization request; throws a ServiceError naming the field at fault. */
export function parseReIsq(json: Json): { readonly model: string; readonly type: FileType } {
  const { ggml_type: name, model_id: model } = checkReIsq(json);
  const type = fileTypeOf(name);
  if (type !== undefined) return { model: model ?? "default", type };
  const message = `ggml_type must be one of ${FILE_TYPE_NAMES.join(", ")}; got ${describeValue(name)}`;
  throw new ServiceError("unsupported_value", message, { param: "ggml_type" });
}

/** Parses the body of a calibration start; throws a ServiceError naming the field at fault. */
export function parseCalibrationStart(json: Json): {
  readonly model: string;
  readonly rows: CalibrationRows;
} {
  const { model_id: model, max_rows: max, min_rows: min } = checkStart(json);
  const rows = { min: min ?? 0, max: max ?? 0 };
  if (rows.max > 0 && rows.min > rows.max) {
    const message = `min_rows ${rows.min} exceeds max_rows ${rows.max}, after which layers stop collecting; send min_rows at most max_rows`;
    throw new ServiceError("contradictory_fields", message, { param: "min_rows" });
  }
  return { model: model ?? "default", rows };
}

/** Parses the body of a calibration apply; throws a ServiceError naming the field at fault. */
export function parseCalibrationApply(json: Json): {
  readonly model: string;
  readonly saveAs: string | undefined;
} {
  const { model_id: model, save_cimatrix: saveAs } = checkApply(json);
  return { model: model ?? "default", saveAs: saveAs ?? undefined };
}

/** The wire form of a calibration status. */
export function calibrationBody(status: CoreStatus): CalibrationStatus {
  return {
    collecting: status.collecting,
    layers: status.layers,
    layers_tracking: status.layersTracking,
    min_rows: status.rowsMin,
    max_rows: status.rowsMax,
    total_rows: status.rowsTotal,
  };
}
