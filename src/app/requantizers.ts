// Requantization of served models: from settings to one requantizer for each model.

import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../core/error.ts";
import { type ModelOptions, weightsFile } from "../models/model-files.ts";
import { ownWeights } from "./models.ts";
import { modelName } from "../config/model-name.ts";
import type { CalibrationCounts, Requantizing } from "../core/requantize.ts";
import { textInfo } from "../engine/abilities.ts";
import type { CalibrationCommand } from "../engine/protocol.ts";
import { ManagedModel } from "../engine/managed-model.ts";
import type { Models } from "../engine/models.ts";
import { Requantizer } from "../quantize/requantizer.ts";

/** One for each model. */
export function createRequantizers(models: Models, options: ModelOptions): ReadonlyMap<string, Requantizer> {
  const { settings, cacheDir, log } = options;
  const signal = new AbortController().signal;
  return new Map(
    settings.models.flatMap((entry) => {
      const id = modelName(entry);
      const { model } = models.resolve(id);
      if (!(model instanceof ManagedModel)) return [];
      const calibrate = async (command: CalibrationCommand): Promise<CalibrationCounts> => {
        await model.load();
        const engine = model.loadedEngine;
        if (engine !== undefined) return engine.calibrate(command);
        throw new ServiceError("model_unavailable", "the model was unloaded meanwhile; try again");
      };
      const requantizer = new Requantizer(ownWeights(entry), {
        makeCopy: async (wanted, onProgress) =>
          void (await weightsFile(entry, wanted, options, { signal, onProgress })),
        replaceEngine: () => model.replace(),
        loadedFile: async () => textInfo(await model.load()).modelPath,
        startCalibration: (rowsMax) => calibrate({ type: "start", rowsMax }),
        countCalibration: async () => model.loadedEngine?.calibrate({ type: "count" }),
        saveCalibration: (file) => calibrate({ type: "save", file }),
        newImportanceFile: () => {
          const folder = join(cacheDir, "quantized");
          mkdirSync(folder, { recursive: true });
          return join(folder, `${id.replaceAll(/[^A-Za-z0-9._-]/g, "_")}-${randomUUID()}.imatrix.gguf`);
        },
        workingDirectory: process.cwd(),
        log: (line) => log(`${id}: ${line}`),
      });
      return [[id, requantizer] as const];
    }),
  );
}

/** The requantizers by the names that requests use. */
export function requantizing(models: Models, requantizers: ReadonlyMap<string, Requantizer>): Requantizing {
  const of = (name: string): readonly [string, Requantizer] => {
    const { id } = models.able("generates", name, "model_id");
    const found = requantizers.get(id);
    if (found === undefined) {
      const message = `the model "${id}" runs on upstream servers, so svc cannot change its weights; name a model that runs here`;
      throw new ServiceError("unsupported_capability", message, { param: "model_id" });
    }
    return [id, found];
  };
  return {
    requantize: (name, type) => {
      const [model, requantizer] = of(name);
      requantizer.start(type);
      return { model, type };
    },
    progress: (name) => requantizers.get(models.resolve(name, "model_id").id)?.progress, // of a model of any kind
    startCalibration: async (name, rows) => of(name)[1].startCalibration(rows),
    calibration: async (name) => of(name)[1].calibration(),
    applyCalibration: async (name, saveAs) => of(name)[1].applyCalibration(saveAs),
  };
}
