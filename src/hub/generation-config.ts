// Sampling defaults that a model's repository recommends: generation_config.json, as transformers writes it.

import { readFileSync, statSync } from "node:fs";
import type { HubId } from "../core/hub-id.ts";
import type { Preset } from "../core/preset.ts";
import { configSampling } from "../core/recommended.ts";
import { cachedCommit, snapshotPath } from "./cache.ts";
import type { HubPlace } from "./place.ts";

/** The file's name in a repository. */
export const GENERATION_CONFIG = "generation_config.json";
/** Larger files are none of this kind, bytes. */
const BYTES_MAX = 1024 * 1024;

/** The defaults of a repository in the cache; undefined where it is not there, none where it recommends nothing usable. */
export function cachedGenerationConfig(id: HubId, { cacheDir }: HubPlace): Preset | undefined {
  const commit = cachedCommit(cacheDir, id);
  return commit === undefined
    ? undefined
    : readGenerationConfig(snapshotPath(cacheDir, id.repo, commit, GENERATION_CONFIG));
}

/** What such a file recommends; nothing where it is none. */
export function readGenerationConfig(path: string): Preset {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined || !file.isFile() || file.size > BYTES_MAX) return {};
  try {
    return configSampling(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return {};
  }
}
