// Defaults of requests to each model: by its settings, else by the generation_config.json of its repository.

import { isAbsolute } from "node:path";
import { modelName } from "../config/model-name.ts";
import { presetOf } from "../config/preset.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { parseHubId } from "../core/hub-id.ts";
import type { Preset } from "../core/preset.ts";
import { cachedGenerationConfig } from "../hub/generation-config.ts";
import { hubPlace } from "../hub/place.ts";

/** Defaults by the id of a model; none for others. */
export function modelPresets({ models }: Settings): (model: string) => Preset {
  const byId = new Map(models.map((model) => [modelName(model), newPreset(model)]));
  return (id) => byId.get(id)?.() ?? {};
}

/** The defaults of one model. The file of its repository is read once it is there. */
function newPreset(model: ModelSettings): () => Preset {
  const { generation_config: isRead, ...defaults } = model.defaults;
  const configured = presetOf(defaults);
  const id = isRead && !isAbsolute(model.model_id) ? parseHubId(model.model_id) : undefined;
  if (id === undefined || model.kind === "upstream") return () => configured;
  let preset: Preset | undefined;
  return () => {
    if (preset !== undefined) return preset;
    const recommended = cachedGenerationConfig(id, hubPlace(processEnvironment(), model.device.hf_cache));
    if (recommended === undefined) return configured; // it is not downloaded yet
    return (preset = { ...recommended, ...configured });
  };
}
