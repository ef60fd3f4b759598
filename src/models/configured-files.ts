// Files of the configured models on this machine, which clients must not delete.

import { modelName } from "../config/model-name.ts";
import type { Settings } from "../config/settings.ts";
import { partPaths } from "../core/model-files.ts";
import { modelOnDisk } from "./model-files.ts";
import { realPathOf } from "./stats-of.ts";

/** Name of the model that uses a file, by the file's real path. */
export function configuredFiles(settings: Settings): ReadonlyMap<string, string> {
  const { mtp_model: draft } = settings.runtime;
  const files = settings.models.flatMap((model) =>
    [...partsOf(modelOnDisk(model)), model.format.mmproj, model.format.draft, draft].flatMap((path) =>
      path === undefined ? [] : [[realPathOf(path), modelName(model)] as const],
    ),
  );
  return new Map(files);
}

function partsOf(path: string | undefined): readonly string[] {
  return path === undefined ? [] : partPaths(path);
}
