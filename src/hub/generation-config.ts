// Sampling defaults that a model's repository recommends: generation_config.json, as transformers writes it.

import { readFileSync, statSync } from "node:fs";
import type { HubId } from "../core/hub-id.ts";
import type { Preset } from "../core/preset.ts";
import { cachedCommit, snapshotPath } from "./cache.ts";
import type { HubPlace } from "./place.ts";

/** The file's name in a repository. */
export const GENERATION_CONFIG = "generation_config.json";
/** Larger files are none of this kind, bytes. */
const BYTES_MAX = 1024 * 1024;

type Numbers = "temperature" | "top_p" | "top_k" | "min_p" | "repetition_penalty";

/** Values that svc samples with; what lies outside is ignored, as are all other fields. */
const TAKES: Readonly<Record<Numbers, (value: number) => boolean>> = {
  temperature: (value) => value >= 0 && value <= 2,
  top_p: (value) => value > 0 && value <= 1,
  top_k: (value) => Number.isInteger(value) && value >= 0,
  min_p: (value) => value >= 0 && value <= 1,
  repetition_penalty: (value) => value > 0,
};

/** The defaults of a repository in the cache; undefined where it is not there, none where it recommends nothing usable. */
export function cachedGenerationConfig(id: HubId, { cacheDir }: HubPlace): Preset | undefined {
  const commit = cachedCommit(cacheDir, id);
  return commit === undefined ? undefined : read(snapshotPath(cacheDir, id.repo, commit, GENERATION_CONFIG));
}

function read(path: string): Preset {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? Infinity) > BYTES_MAX) return {};
  let config: unknown;
  try {
    config = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
  if (typeof config !== "object" || config === null) return {};
  const values = new Map<string, unknown>(Object.entries(config));
  const taken = Object.entries(TAKES).filter(([key, takes]) => {
    const value = values.get(key);
    return typeof value === "number" && takes(value);
  });
  return Object.fromEntries(taken.map(([key]) => [key, values.get(key)]));
}
