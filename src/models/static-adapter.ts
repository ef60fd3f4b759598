// Adapters that apply to every answer of a model (legacy_lora).

import { join } from "node:path";
import { defined } from "../core/defined.ts";
import { reasonOf } from "../core/reason.ts";
import { adapterPath, type ModelOptions } from "./model-files.ts";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings } from "../config/settings.ts";
import { convertInProcess } from "../lora/convert-process.ts";
import { readOrder } from "../lora/order.ts";
import { ADAPTER_FILES, prepareAdapter } from "../lora/source.ts";

/**
 * Path of the converted adapter that `legacy_lora` of a model names, of all adapters together where `legacy_lora_order` names
 * several; undefined without one. `baseModel`: the model's GGUF file. Throws an Error with the reason.
 */
export async function staticAdapter(
  model: ModelSettings,
  baseModel: string | undefined,
  options: ModelOptions,
): Promise<string | undefined> {
  const { legacy_lora: source, legacy_lora_order: orderFile, lora_max_bytes: bytesMax } = model.adapter;
  if (source === undefined) return undefined;
  if (baseModel === undefined)
    throw new Error("legacy_lora needs a model's file; the built-in model has none.");
  const names = orderFile === undefined ? undefined : readOrder(orderFile);
  const files = names?.flatMap((name) => ADAPTER_FILES.map((file) => join(name, file)));
  try {
    const path = await adapterPath({ source, ...defined({ files }) }, model, options);
    const prepared = await prepareAdapter(
      names === undefined ? path : names.map((name) => join(path, name)),
      {
        bytesMax,
        cacheDir: options.cacheDir,
        baseModel: () => Promise.resolve(baseModel),
        convert: convertInProcess,
        isTrusted: true,
      },
    );
    return prepared.file;
  } catch (error) {
    const reason = reasonOf(error);
    throw new Error(`${modelName(model)}: legacy_lora could not be applied: ${reason}`, { cause: error });
  }
}
