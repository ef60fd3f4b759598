// Models that were pulled, served beside the configured ones without a restart: their records are read again once they change, so
// `svc pull` and `svc rm` of another process count too.

import { realpathSync } from "node:fs";
import { defaultModel } from "../config/resolve.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import type { Models, ServedModel } from "../engine/models.ts";
import { snapshotPath } from "../hub/cache.ts";
import { type HubPlace, hubPlace } from "../hub/place.ts";
import { type PulledModel, recordedModels, recordedMs, recordsVersion } from "../hub/records.ts";
import { configuredFiles } from "./configured-files.ts";
import type { ModelOptions } from "./model-files.ts";

/** Where a server keeps models of the hub. */
export function serverHubPlace(settings: Settings): HubPlace {
  return hubPlace(processEnvironment(), settings.models[0]?.device.hf_cache);
}

/** Brings the served models up to date with the records; undefined where only configured models are served. */
export function pulledModels(
  { settings }: ModelOptions,
  serve: (entry: ModelSettings) => ServedModel,
): ((models: Models) => void) | undefined {
  if (settings.server.models_mutable === false) return undefined;
  const { cacheDir } = serverHubPlace(settings);
  const served = new Map<string, PulledModel>(); // by id
  let version = 0;
  return (models) => {
    const now = recordsVersion(cacheDir);
    if (now === version) return;
    version = now;
    // The one that was pulled last comes first in the list.
    const records = recordedModels(cacheDir)
      .filter(({ isServed }) => isServed)
      .toSorted((a, b) => recordedMs(cacheDir, a) - recordedMs(cacheDir, b));
    const wanted = new Map(records.map((record) => [record.id, record]));
    for (const [id, before] of served) {
      if (JSON.stringify(wanted.get(id)) === JSON.stringify(before)) continue;
      served.delete(id);
      void models.remove(id);
    }
    const configured = configuredFiles(settings);
    const taken = new Set(models.ids());
    for (const [id, record] of wanted) {
      if (taken.has(id)) continue;
      const file = realpathSync(snapshotPath(cacheDir, record.repo, record.commit, record.files[0] ?? ""));
      if (configured.has(file)) continue;
      served.set(id, record);
      models.add({ ...serve(entryOf(record, cacheDir)), root: record.repo, isLazy: true });
    }
  };
}

function entryOf(
  { id, repo, commit, files: [file = ""], projector, draft }: PulledModel,
  cacheDir: string,
): ModelSettings {
  const pathOf = (path: string): string => snapshotPath(cacheDir, repo, commit, path);
  const model = defaultModel(pathOf(file));
  const format = {
    ...model.format,
    ...(projector === undefined ? {} : { mmproj: pathOf(projector) }),
    ...(draft === undefined ? {} : { draft: pathOf(draft) }),
  };
  return { ...model, alias: id, format };
}
