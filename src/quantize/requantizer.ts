// Requantization and calibration of one served model: creates a quantized copy while the engine runs, then replaces the
// engine by one with the new weights. One at a time.
// Where both do not fit, nothing changes: unloading first would turn a request for smaller weights into an outage.

import { copyFileSync, constants } from "node:fs";
import { join } from "node:path";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { type GgufHeader, unsigned } from "../core/gguf.ts";
import { knowHeaders, readGgufHeader } from "../core/gguf-file.ts";
import { type FileType, fileTypeOfNumber, needsImportance } from "../core/quantization.ts";
import { codeOf, reasonOf } from "../core/reason.ts";
import type {
  CalibrationCounts,
  CalibrationRows,
  CalibrationStatus,
  RequantizationProgress,
} from "../core/requantize.ts";

/** Quantization of a model's weights before they are loaded; both absent: none. */
export interface Weights {
  readonly type?: FileType;
  /** File of an importance matrix. */
  readonly importance?: string;
  /** Text that an importance matrix is made of; without `importance`. */
  readonly calibration?: string;
}

export interface RequantizerDeps {
  /** Finds or creates the copy of the model with these weights. */
  readonly makeCopy: (weights: Weights, onProgress: (permille: number) => void) => Promise<void>;
  /** Replaces the engine by one with the current weights. */
  readonly replaceEngine: () => Promise<void>;
  /** The GGUF file of the loaded engine; loads the model if necessary. */
  readonly loadedFile: () => Promise<string>;
  readonly startCalibration: (rowsMax: number) => Promise<CalibrationCounts>;
  /** undefined while the model is not loaded. */
  readonly countCalibration: () => Promise<CalibrationCounts | undefined>;
  readonly saveCalibration: (file: string) => Promise<CalibrationCounts>;
  /** Path of a new statistics file that stays in use. */
  readonly newImportanceFile: () => string;
  /** Folder of files that clients save. */
  readonly workingDirectory: string;
  readonly log: (line: string) => void;
}

const NOTHING: CalibrationCounts = { collecting: false, matrices: 0, rowsMin: 0, rowsMax: 0, rowsTotal: 0 };
/** File types that gain nothing from importance statistics. */
const UNQUANTIZED = new Set<FileType>(["F32", "F16", "BF16"]);
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$/;

export class Requantizer {
  weights: Weights;
  private readonly deps: RequantizerDeps;
  private under: RequantizationProgress | undefined;
  private rows: CalibrationRows = { min: 0, max: 0 };
  private ended: Promise<void> = Promise.resolve();

  constructor(weights: Weights, deps: RequantizerDeps) {
    this.weights = weights;
    this.deps = deps;
  }

  /** The requantization in progress. */
  get progress(): RequantizationProgress | undefined {
    return this.under;
  }

  /** Resolves when the requantization in progress has ended, successfully or not. */
  settled(): Promise<void> {
    return this.ended;
  }

  /** Starts; the log has the result. Throws ServiceError when it cannot start. */
  start(type: FileType, importance = this.weights.importance): void {
    this.refuseSecond();
    const { calibration } = this.weights;
    if (needsImportance(type) && importance === undefined && calibration === undefined) {
      const message = `${type} needs importance statistics: calibrate the model first, or use another type`;
      throw new ServiceError("unsupported_value", message, { param: "ggml_type" });
    }
    this.under = { type, permille: 0 };
    this.ended = this.run({
      type,
      ...defined(importance === undefined ? { calibration } : { importance }),
    });
  }

  async startCalibration(rows: CalibrationRows): Promise<CalibrationStatus> {
    await this.deps.loadedFile();
    this.rows = rows;
    return this.statusOf(await this.deps.startCalibration(rows.max));
  }

  async calibration(): Promise<CalibrationStatus> {
    return this.statusOf((await this.deps.countCalibration()) ?? NOTHING);
  }

  /** Requantizes with the collected statistics; returns their counts. */
  async applyCalibration(saveAs: string | undefined): Promise<CalibrationStatus> {
    if (saveAs !== undefined && !FILE_NAME.test(saveAs)) {
      const message = "save_cimatrix must be a file name of letters, digits and . _ -";
      throw new ServiceError("invalid_request", message, { param: "save_cimatrix" });
    }
    this.refuseSecond();
    const type = await this.targetType();
    const counts = (await this.deps.countCalibration()) ?? NOTHING;
    if (counts.matrices === 0 || counts.rowsMin < this.rows.min) {
      const message = `the calibration has ${counts.rowsMin} rows and needs ${Math.max(1, this.rows.min)}; send more requests`;
      throw new ServiceError("calibration_not_ready", message);
    }
    const file = this.deps.newImportanceFile();
    const used = await this.deps.saveCalibration(file);
    if (saveAs !== undefined) this.copyOut(file, saveAs);
    this.start(type, file);
    return this.statusOf(used);
  }

  private refuseSecond(): void {
    if (this.under === undefined) return;
    const { type, permille } = this.under;
    const message = `the model is being requantized to ${type} (${Math.floor(permille / 10)} %); retry when it has finished`;
    throw new ServiceError("requantization_in_progress", message);
  }

  private async run(weights: Weights & { readonly type: FileType }): Promise<void> {
    const { makeCopy, replaceEngine, log } = this.deps;
    const { type } = weights;
    const before = this.weights;
    try {
      log(`requantizing to ${type}`);
      await makeCopy(weights, (permille) => (this.under = { type, permille }));
      this.weights = weights;
      await replaceEngine();
      log(`serving ${type} weights now`);
    } catch (error) {
      this.weights = before;
      log(`could not be requantized to ${type}: ${reasonOf(error)}`);
    } finally {
      this.under = undefined;
    }
  }

  /** The current type of the weights, which the statistics are for. */
  private async targetType(): Promise<FileType> {
    const field = (await this.loadedHeader()).fields.get("general.file_type");
    const number = field === undefined ? undefined : unsigned(field);
    const type = this.weights.type ?? (number === undefined ? undefined : fileTypeOfNumber(number));
    if (type !== undefined && !UNQUANTIZED.has(type)) return type;
    const message = "the model's weights are not quantized; quantize them with POST /re_isq first";
    throw new ServiceError("calibration_not_ready", message);
  }

  private async statusOf({ matrices, ...counts }: CalibrationCounts): Promise<CalibrationStatus> {
    const { tensors } = await this.loadedHeader();
    const layers = [...tensors.values()].filter(
      ({ name, shape }) => /^blk\..+\.weight$/.test(name) && shape.length > 1,
    );
    return { ...counts, layers: layers.length, layersTracking: matrices };
  }

  private async loadedHeader(): Promise<GgufHeader> {
    const file = await this.deps.loadedFile();
    await knowHeaders([file]);
    return readGgufHeader(file);
  }

  /** Never overwrites a file: a client chooses the name. */
  private copyOut(file: string, name: string): void {
    try {
      copyFileSync(file, join(this.deps.workingDirectory, name), constants.COPYFILE_EXCL);
    } catch (error) {
      const why =
        codeOf(error) === "EEXIST" ? "a file of this name exists" : "the working directory is not writable";
      throw new ServiceError("invalid_request", `save_cimatrix could not be written: ${why}`, {
        param: "save_cimatrix",
        cause: error,
      });
    }
  }
}
