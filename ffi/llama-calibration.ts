// Importance statistics of a context: how strongly each input of each matrix is used, collected from what is computed.

import type { CalibrationCounts } from "../src/engine/protocol.ts";
import type { Native } from "./library.ts";
import { cText, type Handle, nativeText } from "./text.ts";

export class LlamaCalibration {
  private readonly native: Native;
  private readonly context: Handle;

  constructor(native: Native, context: Handle) {
    this.native = native;
    this.context = context;
  }

  /** Begins to collect anew; a matrix stops after `rowsMax` rows, 0: never. */
  start(rowsMax: number): void {
    this.native.svc_calibration_start(this.context, BigInt(rowsMax));
  }

  /** Keeps what there is and collects no more. */
  stop(): void {
    this.native.svc_calibration_stop(this.context);
  }

  counts(): CalibrationCounts {
    const out = new BigInt64Array(5);
    this.native.svc_calibration_status(this.context, out);
    const [collecting = 0, matrices = 0, rowsMin = 0, rowsMax = 0, rowsTotal = 0] = Array.from(out, Number);
    return { collecting: collecting === 1, matrices, rowsMin, rowsMax, rowsTotal };
  }

  /** Writes the statistics as an importance matrix. Throws an Error when there are none or the file can't be written. */
  save(path: string): void {
    if (this.native.svc_calibration_save(this.context, cText(path)) === 0) return;
    throw new Error(nativeText(this.native.svc_last_error()));
  }
}
