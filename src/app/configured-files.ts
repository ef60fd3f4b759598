// Files of the configured models on this machine, which clients must not delete.

import { existsSync, realpathSync } from "node:fs";
import { isAbsolute } from "node:path";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import { parseHubId } from "../core/hub-id.ts";
import { partPaths } from "../core/model-files.ts";
import { cachedModel } from "../hub/fetch-model.ts";
import { hubPlace } from "../hub/place.ts";

/** Name of the model that uses a file, by the file's real path. */
export function configuredFiles(settings: Settings): ReadonlyMap<string, string> {
  const { mtp_model: draft } = settings.runtime;
  const files = settings.models.flatMap((model) =>
    [...modelParts(model), model.format.mmproj, model.format.draft, draft].flatMap((path) =>
      path === undefined || !existsSync(path) ? [] : [[realpathSync(path), modelName(model)] as const],
    ),
  );
  return new Map(files);
}

function modelParts(model: ModelSettings): readonly string[] {
  const file = isAbsolute(model.model_id) ? model.model_id : cachedFile(model);
  if (file === undefined) return [];
  return partPaths(file);
}

function cachedFile({
  model_id,
  quantization: { quant },
  format,
  device,
}: ModelSettings): string | undefined {
  const id = parseHubId(model_id);
  if (id === undefined) return undefined;
  return cachedModel(
    { ...id, ...defined({ quant, file: format.quantized_file }) },
    hubPlace(processEnvironment(), device.hf_cache),
  );
}
