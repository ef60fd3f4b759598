// Defaults of requests to one model: of its settings, its file, its repository and svc.

import { dirname, isAbsolute, join } from "node:path";
import { templateFile } from "../config/chat-template.ts";
import { presetOf } from "../config/preset.ts";
import type { ModelSettings } from "../config/settings.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { parseHubId } from "../core/hub-id.ts";
import { BASE_ANSWER_TOKENS, type Preset, type PresetLayers, SVC_PRESET } from "../core/preset.ts";
import { fileSampling } from "../core/recommended.ts";
import { cachedGenerationConfig, GENERATION_CONFIG, readGenerationConfig } from "../hub/generation-config.ts";
import { modelPath, placeOf } from "./locate.ts";
import { kindOf } from "./model-files.ts";

interface PresetOptions {
  readonly settings: Parameters<typeof templateFile>[1];
  readonly cacheDir: string;
}

/** The defaults of a model. What its makers recommend is read once its file is there. An upstream server has its own. */
export function modelPreset(model: ModelSettings, options: PresetOptions): () => PresetLayers {
  const { generation_config: _, ...defaults } = model.defaults;
  const settings = presetOf(defaults);
  if (model.kind === "upstream" || kindOf(model) !== "text") return () => ({ settings });
  let ofFile: PresetLayers | undefined;
  return () => ({ settings, svc: SVC_PRESET, ...(ofFile ??= fileLayers(model, options)) });
}

/** Defaults by a model's file; undefined while it is not on this machine. */
function fileLayers(model: ModelSettings, { settings, cacheDir }: PresetOptions): PresetLayers | undefined {
  const path = modelPath(model, cacheDir);
  if (path === undefined) return undefined;
  try {
    const { fields } = readGgufHeader(path);
    const isBase = !fields.has("tokenizer.chat_template") && templateFile(model, settings) === undefined;
    const svc = isBase ? { ...SVC_PRESET, max_tokens: BASE_ANSWER_TOKENS } : SVC_PRESET;
    if (!model.defaults.generation_config) return { svc };
    return { svc, file: fileSampling(fields), repository: ofRepository(model, path) };
  } catch {
    return undefined; // its load will say what is wrong
  }
}

/** A model that was pulled is named by its file, which lies in the folder of its repository. */
function ofRepository({ model_id: id, device }: ModelSettings, path: string): Preset {
  const named = isAbsolute(id) ? undefined : parseHubId(id);
  if (named === undefined) return readGenerationConfig(join(dirname(path), GENERATION_CONFIG));
  return cachedGenerationConfig(named, placeOf({ device })) ?? {};
}
