// Defaults of requests to one model: of its settings, its file, its repository and svc.

import { dirname, isAbsolute, join } from "node:path";
import { unpackBuiltinModel } from "../../ffi/embedded.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import { presetOf } from "../config/preset.ts";
import type { ModelSettings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { parseHubId } from "../core/hub-id.ts";
import { type Preset, type PresetLayers, SVC_PRESET } from "../core/preset.ts";
import { fileSampling } from "../core/recommended.ts";
import { cachedGenerationConfig, GENERATION_CONFIG, readGenerationConfig } from "../hub/generation-config.ts";
import { hubPlace } from "../hub/place.ts";
import { kindOf, modelOnDisk } from "./model-files.ts";

/** The defaults of a model. What its makers recommend is read once its file is there. An upstream server has its own. */
export function modelPreset(model: ModelSettings, cacheDir: string): () => PresetLayers {
  const { generation_config: isRead, ...defaults } = model.defaults;
  const settings = presetOf(defaults);
  if (model.kind === "upstream" || kindOf(model) !== "text") return () => ({ settings });
  if (!isRead) return () => ({ settings, svc: SVC_PRESET });
  let recommended: PresetLayers | undefined;
  return () => ({ settings, svc: SVC_PRESET, ...(recommended ??= recommendation(model, cacheDir)) });
}

/** What the makers of a model recommend; undefined while it is not on this machine. */
function recommendation(model: ModelSettings, cacheDir: string): PresetLayers | undefined {
  const isBuiltin = model.model_id === BUILTIN_MODEL_ID;
  const path = isBuiltin ? unpackBuiltinModel(cacheDir) : modelOnDisk(model);
  if (path === undefined) return undefined;
  try {
    return { file: fileSampling(readGgufHeader(path).fields), repository: ofRepository(model, path) };
  } catch {
    return undefined; // its load will say what is wrong
  }
}

/** A model that was pulled is named by its file, which lies in the folder of its repository. */
function ofRepository({ model_id: id, device }: ModelSettings, path: string): Preset {
  const named = isAbsolute(id) ? undefined : parseHubId(id);
  if (named === undefined) return readGenerationConfig(join(dirname(path), GENERATION_CONFIG));
  return cachedGenerationConfig(named, hubPlace(processEnvironment(), device.hf_cache)) ?? {};
}
