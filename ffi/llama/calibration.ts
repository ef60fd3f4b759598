// Importance statistics of a context: the mean square of each input of each weight matrix, collected during passes.

import type { CalibrationCounts } from "../../src/core/requantize.ts";
import type { Native } from "../library.ts";
import { cText, type Handle, nativeText } from "../text.ts";

export class LlamaCalibration {
  private readonly native: Native;
  private readonly context: Handle;

  constructor(native: Native, context: Handle) {
    this.native = native;
    this.context = context;
  }

  /** Clears the statistics and starts to collect; a matrix stops after `rowsMax` rows, 0: never. */
  start(rowsMax: number): void {
    this.native.svc_calibration_start(this.context, BigInt(rowsMax));
  }

  /** Stops collecting; keeps the statistics. */
  stop(): void {
    this.native.svc_calibration_stop(this.context);
  }

  counts(): CalibrationCounts {
    const out = new BigInt64Array(5);
    this.native.svc_calibration_status(this.context, out);
    const [collecting = 0, matrices = 0, rowsMin = 0, rowsMax = 0, rowsTotal = 0] = Array.from(out, Number);
    return { collecting: collecting === 1, matrices, rowsMin, rowsMax, rowsTotal };
  }

  /** Writes the statistics as an importance matrix. Throws an Error when they are empty or the file cannot be written. */
  save(path: string): void {
    if (this.native.svc_calibration_save(this.context, cText(path)) === 0) return;
    throw new Error(nativeText(this.native.svc_last_error()));
  }
}
