import { describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { u32Field, writeGguf } from "../../src/lora/gguf-write.ts";
import type { CalibrationCounts } from "../../src/core/requantize.ts";
import { fileTypeNumber, type FileType } from "../../src/core/quantization.ts";
import { Requantizer, type Weights } from "../../src/quantize/requantizer.ts";
import { tempDir } from "../helpers/tmp.ts";
import { refusalCode } from "../helpers/refusal.ts";

const COUNTS: CalibrationCounts = { collecting: true, matrices: 2, rowsMin: 10, rowsMax: 20, rowsTotal: 30 };

interface Setup {
  readonly type?: FileType;
  readonly counts?: CalibrationCounts;
  readonly replaceEngine?: () => Promise<void>;
}

function setup({ type = "Q8_0", counts = COUNTS, replaceEngine }: Setup = {}) {
  const folder = tempDir();
  const file = join(folder, "model.gguf");
  const tensor = (name: string, shape: readonly number[]) => ({
    name,
    shape,
    type: 0 as const,
    chunks: () => [new Uint8Array(4 * shape.reduce((product, axis) => product * axis, 1))],
  });
  const tensors = [tensor("blk.0.attn_q.weight", [2, 2]), tensor("blk.0.attn_norm.weight", [2])];
  writeGguf(file, [u32Field("general.file_type", fileTypeNumber(type))], tensors);
  const copies: Weights[] = [];
  const log: string[] = [];
  const copying = Promise.withResolvers<void>();
  const requantizer = new Requantizer(
    {},
    {
      makeCopy: async (weights, onProgress) => {
        copies.push(weights);
        onProgress(500);
        await copying.promise;
      },
      replaceEngine: replaceEngine ?? (async () => {}),
      loadedFile: async () => file,
      startCalibration: async () => ({ ...COUNTS, matrices: 0, rowsMin: 0, rowsMax: 0, rowsTotal: 0 }),
      countCalibration: async () => counts,
      saveCalibration: async (path) => {
        writeFileSync(path, "statistics");
        return { ...counts, collecting: false };
      },
      newImportanceFile: () => join(folder, "importance.gguf"),
      workingDirectory: folder,
      log: (line) => void log.push(line),
    },
  );
  return { requantizer, copies, copying, log, folder };
}

describe("requantizing", () => {
  test("runs one at a time, with progress, and replaces the weights", async () => {
    const { requantizer, copying, copies } = setup();
    requantizer.start("Q4_K_M");
    expect(requantizer.progress).toEqual({ type: "Q4_K_M", permille: 500 });
    expect(await refusalCode(() => requantizer.start("Q4_0"))).toBe("requantization_in_progress");
    expect(requantizer.weights).toEqual({});
    copying.resolve();
    await requantizer.settled();
    expect([requantizer.progress, requantizer.weights]).toEqual([undefined, { type: "Q4_K_M" }]);
    expect(copies).toEqual([{ type: "Q4_K_M" }]);
  });

  test("a failure is logged and keeps the weights", async () => {
    const { requantizer, copying, log } = setup({
      replaceEngine: () => Promise.reject(new Error("no memory")),
    });
    copying.resolve();
    requantizer.start("Q4_0");
    await requantizer.settled();
    expect(requantizer.weights).toEqual({});
    expect(log.at(-1)).toContain("no memory");
  });

  test("types that need statistics are rejected without them", async () => {
    expect(await refusalCode(() => setup().requantizer.start("IQ2_XS"))).toBe("unsupported_value");
  });
});

describe("calibration", () => {
  test("is applied to the current type of the weights", async () => {
    const { requantizer, copies, folder } = setup();
    expect(await requantizer.startCalibration({ min: 10, max: 0 })).toMatchObject({
      layers: 1,
      layersTracking: 0,
    });
    expect(await requantizer.applyCalibration("mine.gguf")).toEqual({
      collecting: false,
      layers: 1,
      layersTracking: 2,
      rowsMin: 10,
      rowsMax: 20,
      rowsTotal: 30,
    });
    expect(copies).toEqual([{ type: "Q8_0", importance: join(folder, "importance.gguf") }]);
    expect(existsSync(join(folder, "mine.gguf"))).toBe(true);
  });

  test("too few rows, unquantized weights and invalid names are rejected without writing", async () => {
    const { requantizer, folder } = setup();
    await requantizer.startCalibration({ min: 11, max: 0 });
    expect(await refusalCode(() => requantizer.applyCalibration(undefined))).toBe("calibration_not_ready");
    const empty = setup({ counts: { ...COUNTS, matrices: 0 } }).requantizer;
    expect(await refusalCode(() => empty.applyCalibration(undefined))).toBe("calibration_not_ready");
    const whole = setup({ type: "F16" }).requantizer;
    expect(await refusalCode(() => whole.applyCalibration(undefined))).toBe("calibration_not_ready");
    for (const name of ["../x", "/x", "", ".hidden", "a/b", "a\0b"]) {
      expect([name, await refusalCode(() => setup().requantizer.applyCalibration(name))]).toEqual([
        name,
        "invalid_request",
      ]);
    }
    const taken = setup();
    writeFileSync(join(taken.folder, "taken.gguf"), "x");
    expect(await refusalCode(() => taken.requantizer.applyCalibration("taken.gguf"))).toBe("invalid_request");
    expect(existsSync(join(folder, "importance.gguf"))).toBe(false);
  });
});
