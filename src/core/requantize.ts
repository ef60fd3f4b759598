// Requantization of served models: requests and progress.

import type { FileType } from "./quantization.ts";

/** Statistics of a calibration in an engine. */
export interface CalibrationCounts {
  readonly collecting: boolean;
  /** Weight matrices that have statistics. */
  readonly matrices: number;
  /** Rows collected by a matrix: minimum, maximum, and the total of all. */
  readonly rowsMin: number;
  readonly rowsMax: number;
  readonly rowsTotal: number;
}

/** Progress of a calibration. A layer is a weight matrix here. */
export interface CalibrationStatus {
  readonly collecting: boolean;
  /** Matrices that can be followed, and those that have statistics. */
  readonly layers: number;
  readonly layersTracking: number;
  /** Rows through one of the latter: the fewest and the most; and through all together. */
  readonly rowsMin: number;
  readonly rowsMax: number;
  readonly rowsTotal: number;
}

/** A requantization that has been taken on. */
export interface RequantizationStart {
  readonly model: string;
  readonly type: FileType;
}

/** A requantization under way. */
export interface RequantizationProgress {
  readonly type: FileType;
  /** Of the copy; an engine with it has still to take over at 1000. */
  readonly permille: number;
}

/** Commands about a model, each given a name that requests may use. All throw ServiceError. */
export interface Requantizing {
  /** Begins to quantize the original weights to another type; the model answers meanwhile, then changes over. */
  requantize(name: string, type: FileType): RequantizationStart;
  /** Progress of the running requantization of a model. */
  progress(name: string): RequantizationProgress | undefined;
  /** Begins to collect importance statistics from what the model answers. */
  startCalibration(name: string, rows: CalibrationRows): Promise<CalibrationStatus>;
  calibration(name: string): Promise<CalibrationStatus>;
  /** Ends the collection and requantizes with it. `saveAs` names a file for the statistics, in the working directory. */
  applyCalibration(name: string, saveAs: string | undefined): Promise<CalibrationStatus>;
}

/** Rows that each matrix must see before the statistics are used, and after which it stops counting (0: never). */
export interface CalibrationRows {
  readonly min: number;
  readonly max: number;
}
