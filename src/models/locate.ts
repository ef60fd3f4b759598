// Where the files of a model are on this machine, and which they are: the one place that knows. Nothing is downloaded here.

import { isAbsolute } from "node:path";
import { unpackBuiltinModel } from "../../ffi/embedded.ts";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import { defaultModel } from "../config/resolve.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import { type HubId, parseHubId } from "../core/hub-id.ts";
import { partPaths } from "../core/model-files.ts";
import { realPathOf } from "../core/readable.ts";
import { snapshotPath } from "../hub/cache.ts";
import { cachedModel } from "../hub/fetch-model.ts";
import { type HubPlace, hubPlace } from "../hub/place.ts";
import type { Companions } from "../hub/plan.ts";
import { recordOf } from "../hub/records.ts";

/** The repository and file that an entry names; undefined for a file of this machine. */
export function hubIdOf({
  model_id,
  quantization: { quant },
  format: { quantized_file: file },
}: ModelSettings): HubId | undefined {
  const id = isAbsolute(model_id) ? undefined : parseHubId(model_id);
  return id === undefined ? undefined : { ...id, ...defined({ quant, file }) };
}

/** Where an entry's models of the hub are kept. */
export function placeOf({ device }: Pick<ModelSettings, "device">): HubPlace {
  return hubPlace(processEnvironment(), device.hf_cache);
}

/** Where a server keeps models of the hub. */
export function serverHubPlace({ models: [first] }: Settings): HubPlace {
  return hubPlace(processEnvironment(), first?.device.hf_cache);
}

/** Path of an entry's model on this machine; undefined where it is not here, or inside the executable. */
export function modelOnDisk(model: ModelSettings): string | undefined {
  const id = hubIdOf(model);
  if (id !== undefined) return cachedModel(id, placeOf(model));
  return isAbsolute(model.model_id) ? model.model_id : undefined;
}

/** The same, with the one inside the executable, which is unpacked into `cacheDir`. */
export function modelPath(model: ModelSettings, cacheDir: string): string | undefined {
  return model.model_id === BUILTIN_MODEL_ID ? unpackBuiltinModel(cacheDir) : modelOnDisk(model);
}

/** All files of an entry whose weights are at a path: their parts, the projector, the draft model. */
export function filesOf(path: string | undefined, { format }: ModelSettings): readonly string[] {
  const { mmproj, draft } = format;
  return [...(path === undefined ? [] : partPaths(path)), ...[mmproj, draft].flatMap((file) => file ?? [])];
}

/** What an entry's model comes with, unless its settings name other files. */
export function companionsOf({ kind, format, adapter }: ModelSettings): Companions {
  const isAuto = format.companions === "auto";
  return {
    projector: isAuto && format.mmproj === undefined && kind !== "text" ? "auto" : "none",
    draft: isAuto && format.draft === undefined ? "auto" : "none",
    adapters: isAuto && adapter.enable_lora ? "auto" : "none",
  };
}

/** What was downloaded with an entry's model, as absolute paths; undefined for a model that was not downloaded. */
function downloadedWith(model: ModelSettings) {
  const id = hubIdOf(model);
  if (id === undefined) return undefined;
  const { cacheDir } = placeOf(model);
  const path = cachedModel(id, { cacheDir });
  const record = path === undefined ? undefined : recordOf(cacheDir, id.repo, path);
  if (record === undefined) return undefined;
  const pathOf = (file: string): string => snapshotPath(cacheDir, id.repo, record.commit, file);
  return { record, pathOf };
}

/** Adapters that were downloaded with an entry's model, and are wanted with it. */
export function companionAdapters(model: ModelSettings): readonly string[] {
  const found = companionsOf(model).adapters === "auto" ? downloadedWith(model) : undefined;
  return (found?.record.adapters ?? []).flatMap((file) => found?.pathOf(file) ?? []);
}

/** The entry with the projector and the draft model that were downloaded with its model. */
export function withCompanions(model: ModelSettings, { runtime }: Settings): ModelSettings {
  const downloaded = downloadedWith(model);
  if (downloaded === undefined) return model;
  const { record } = downloaded;
  const wanted = companionsOf(model);
  const pathOf = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : downloaded.pathOf(file);
  const found = defined({
    mmproj: wanted.projector === "auto" ? pathOf(record.projector) : undefined,
    draft: wanted.draft === "auto" && runtime.mtp_model === undefined ? pathOf(record.draft) : undefined,
  });
  return { ...model, format: { ...model.format, ...found } };
}

/** Names of the configured models that use files of this machine, which clients must not delete, by the files' real paths. */
export function configuredFiles({ models, runtime }: Settings): ReadonlyMap<string, string> {
  const { mtp_model: draft } = runtime;
  const files = models.flatMap((model) =>
    [...filesOf(modelOnDisk(model), model), ...(draft === undefined ? [] : [draft])].map(
      (path) => [realPathOf(path), modelName(model)] as const,
    ),
  );
  return new Map(files);
}

/** A model by its file, with what lies beside it. */
export interface FoundFiles {
  readonly path: string;
  readonly mmproj?: string;
  readonly draft?: string;
}

/** The entry that serves such a model under a name. */
export function entryOf({ path, mmproj, draft }: FoundFiles, id: string): ModelSettings {
  const model = defaultModel(path);
  return { ...model, alias: id, format: { ...model.format, ...defined({ mmproj, draft }) } };
}
