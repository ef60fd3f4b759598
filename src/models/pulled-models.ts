// Models that were pulled, served beside the configured ones without a restart: their records are read again once they change, so
// `svc pull` and `svc rm` of another process count too.

import type { ModelSettings } from "../config/settings.ts";
import type { Models } from "../engine/models.ts";
import type { ServedModel } from "../engine/served-model.ts";
import { snapshotPath } from "../hub/cache.ts";
import { type PulledModel, recordedModels, recordedMs, recordsVersion } from "../hub/records.ts";
import { type FoundModel, type ServedFiles, serveFound } from "./found-models.ts";
import { serverHubPlace } from "./locate.ts";
import type { ModelOptions } from "./model-files.ts";

/** Brings the served models up to date with the records; undefined where only configured models are served. */
export function pulledModels(
  { settings }: ModelOptions,
  serve: (entry: ModelSettings) => ServedModel,
): ((models: Models) => void) | undefined {
  if (settings.server.models_mutable === false) return undefined;
  const { cacheDir } = serverHubPlace(settings);
  const served: ServedFiles = new Map(); // by id
  let version = 0;
  return (models) => {
    const now = recordsVersion(cacheDir);
    if (now === version) return;
    version = now;
    // The one that was pulled last comes first in the list.
    const records = recordedModels(cacheDir)
      .filter(({ isServed }) => isServed)
      .toSorted((a, b) => recordedMs(cacheDir, a) - recordedMs(cacheDir, b));
    const wanted = new Map(records.map((record) => [record.id, foundOf(record, cacheDir)]));
    serveFound(models, wanted, { settings, serve, served });
  };
}

function foundOf(
  { id, repo, commit, files: [file = ""], projector, draft }: PulledModel,
  cacheDir: string,
): FoundModel {
  const pathOf = (path: string): string => snapshotPath(cacheDir, repo, commit, path);
  return {
    path: pathOf(file),
    ...(projector === undefined ? {} : { mmproj: pathOf(projector) }),
    ...(draft === undefined ? {} : { draft: pathOf(draft) }),
    names: [id],
    root: repo,
  };
}
