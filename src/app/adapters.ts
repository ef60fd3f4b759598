// LoRA adapters of the composition root: from settings to registries in front of the models.

import { basename } from "node:path";
import type { AdapterLoad } from "../core/adapter.ts";
import { defined } from "../core/defined.ts";
import { reasonOf } from "../core/reason.ts";
import { companionAdapters } from "../models/locate.ts";
import { adapterPath, type ModelOptions } from "../models/model-files.ts";
import { loraParts } from "../config/lora-entry.ts";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings } from "../config/settings.ts";
import { assert } from "../core/assert.ts";
import { textInfo } from "../engine/abilities.ts";
import { ResidentAdapters } from "../engine/adapters.ts";
import type { Models } from "../engine/models.ts";
import { AdaptedModels } from "../lora/adapted-models.ts";
import { convertInProcess } from "../lora/convert-process.ts";
import { AdapterRegistry } from "../lora/registry.ts";
import { prepareAdapter, type SourceOptions } from "../lora/source.ts";

/** Whether adapters can be used with a model: it asks for that, or has some from the start. */
function hasAdapters({ adapter }: ModelSettings): boolean {
  return adapter.enable_lora || (adapter.lora ?? []).length > 0;
}

/** Adapters in the engines, by the id of each model that can have some. */
export function residentAdapters({ settings, log }: ModelOptions): ReadonlyMap<string, ResidentAdapters> {
  return new Map(
    settings.models.filter(hasAdapters).map((model) => {
      const id = modelName(model);
      return [id, new ResidentAdapters((line) => log(`${id}: ${line}`))];
    }),
  );
}

/** The served models with their adapters in front of them. */
export function createAdapters(
  models: Models,
  resident: ReadonlyMap<string, ResidentAdapters>,
  options: ModelOptions,
): AdaptedModels {
  const { settings } = options;
  const { lora_adapter_root: root, allow_runtime_lora_updating: isMutable } = settings.server;
  const registries = new Map<string, AdapterRegistry>();
  for (const model of settings.models) {
    const id = modelName(model);
    const host = resident.get(id);
    if (host === undefined) continue;
    const { lora_max_adapters, lora_max_rank, lora_max_bytes } = model.adapter;
    const limits = { adaptersMax: lora_max_adapters, rankMax: lora_max_rank, bytesMax: lora_max_bytes };
    const source = sourceOptions(models, model, options);
    const rooted = root === undefined ? source : { ...source, root };
    registries.set(
      id,
      new AdapterRegistry({ limits, host, prepare: (path) => prepareAdapter(path, rooted) }),
    );
  }
  return new AdaptedModels({
    models: () => models.list(),
    resolve: (name) => models.textModel(name),
    registries,
    isMutable,
  });
}

function sourceOptions(models: Models, model: ModelSettings, { cacheDir }: ModelOptions): SourceOptions {
  return {
    bytesMax: model.adapter.lora_max_bytes,
    cacheDir,
    baseModel: async () => {
      const { modelPath } = textInfo(await models.load(modelName(model)));
      assert(modelPath !== undefined, "only models that run on this machine have adapters");
      return modelPath;
    },
    convert: convertInProcess,
  };
}

/** Loads the adapters that settings name, then those of the models' repositories. Throws the reason why a named one can't be. */
export async function loadAdapters(
  adapted: AdaptedModels,
  models: Models,
  options: ModelOptions,
): Promise<void> {
  for (const model of options.settings.models) {
    const source = { ...sourceOptions(models, model, options), isTrusted: true };
    const load = async (request: AdapterLoad, path: () => Promise<string>): Promise<string | undefined> => {
      try {
        await adapted.preload(modelName(model), request, async () => prepareAdapter(await path(), source));
        return undefined;
      } catch (error) {
        return `${modelName(model)}: the adapter ${request.alias} could not be loaded: ${reasonOf(error)}`;
      }
    };
    for (const entry of model.adapter.lora ?? []) {
      const { alias, source: from, revision } = loraParts(entry);
      const request = { alias, source: from, inPlace: false, ...defined({ revision }) };
      const failure = await load(request, () => adapterPath({ source: from, revision }, model, options));
      if (failure !== undefined) throw new Error(failure);
    }
    for (const path of companionAdapters(model)) {
      const alias = basename(path, ".gguf");
      const failure = await load({ alias, source: basename(path), inPlace: false }, async () => path);
      if (failure !== undefined) options.log(failure);
    }
  }
}
