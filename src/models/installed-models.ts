// Models of the hub on this machine: what there is, what serves it, and deletion.

import type { Settings } from "../config/settings.ts";
import { ServiceError } from "../core/error.ts";
import type { HubDeletedModel, HubInstalledModel } from "../core/hub.ts";
import { parseHubId } from "../core/hub-id.ts";
import { modelGroups } from "../core/model-files.ts";
import type { Models } from "../engine/models.ts";
import { type CachedFile, deleteFiles, listCache } from "../hub/cache.ts";
import type { HubPlace } from "../hub/place.ts";
import { modelId } from "../hub/plan.ts";
import { filesBeside, forgetModel, type PulledModel, recordedModels, touch } from "../hub/records.ts";
import { configuredFiles } from "./locate.ts";

interface Owner {
  readonly settings: Settings;
  readonly models: Models;
  readonly place: HubPlace;
}

/** A model on this machine, with what clients do not see. */
interface Installed {
  readonly id: string;
  readonly repo: string;
  readonly commit: string;
  readonly quant: string | undefined;
  readonly files: readonly CachedFile[];
  readonly record: PulledModel | undefined;
}

/** Complete models in the cache, by id. */
export function installedModels(owner: Owner): readonly HubInstalledModel[] {
  const configured = configuredFiles(owner.settings);
  return installed(owner).map((one) => {
    const servedAs = servedAsOf(one, owner, configured);
    return {
      id: one.id,
      object: "hub.model",
      repository: one.repo,
      commit: one.commit,
      quantization: one.quant ?? null,
      files: one.files.map(({ path }) => path),
      size_bytes: one.files.reduce((sum, { bytes }) => sum + bytes, 0),
      projector: one.record?.projector ?? null,
      draft: one.record?.draft ?? null,
      used_at: Math.floor(Math.max(...one.files.map(({ usedMs }) => usedMs)) / 1000),
      served_as: servedAs ?? null,
      is_removable: whyKept(one, owner, configured) === undefined,
    };
  });
}

/**
 * Deletes a model, or all models of a repository. A model of the configuration, and one that answers a request, stays. Throws
 * ServiceError.
 */
export async function removeModels(name: string, owner: Owner): Promise<HubDeletedModel> {
  const all = installed(owner);
  const meant = all.filter((one) => isMeant(one, name));
  if (meant.length === 0) {
    const message = `there is no model ${JSON.stringify(name.slice(0, 200))} on this machine; GET /v1/hub/models lists all`;
    throw new ServiceError("hub_model_not_found", message, { param: "model" });
  }
  const configured = configuredFiles(owner.settings);
  for (const one of meant) {
    const why = whyKept(one, owner, configured);
    if (why !== undefined) throw new ServiceError("model_in_use", `${one.id} ${why}`, { param: "model" });
  }
  const { cacheDir } = owner.place;
  // Records go first: without one the model is not served to requests that arrive meanwhile.
  const records = meant.flatMap(({ record }) => record ?? []);
  for (const record of records) forgetModel(cacheDir, record);
  await Promise.all(records.map(({ id }) => owner.models.remove(id)));
  const kept = new Set(recordedModels(cacheDir).flatMap((record) => companionsOf(record)));
  const companions = records.flatMap((record) => companionsOf(record)).filter((one) => !kept.has(one));
  const files = new Set([...meant.flatMap((one) => one.files.map(keyOf)), ...companions]);
  const freed = deleteFiles(
    cacheDir,
    listCache(cacheDir, true).filter((file) => files.has(keyOf(file))),
  );
  touch(cacheDir);
  return { id: name, object: "hub.model", deleted: true, freed_bytes: freed };
}

function installed({ place: { cacheDir } }: Owner): readonly Installed[] {
  const snapshots = Map.groupBy(listCache(cacheDir), ({ repo, commit }) => `${repo}\n${commit}`);
  const records = recordedModels(cacheDir);
  const models = [...snapshots.values()].flatMap((files) => modelsOf(files, records));
  return models.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function modelsOf(files: readonly CachedFile[], records: readonly PulledModel[]): readonly Installed[] {
  const [first] = files;
  if (first === undefined) return [];
  const { repo, commit, refs } = first;
  const groups = modelGroups(files.map(({ path }) => path)).filter(
    ({ parts, total }) => parts.length === total,
  );
  const names = groups.map(({ name }) => name);
  const revision = refs.includes("main") ? undefined : (refs[0] ?? commit);
  return groups.map(({ name, parts, quant }) => {
    const record = records.find((one) => one.repo === repo && one.commit === commit && one.files[0] === name);
    return {
      id: record?.id ?? modelId(revision === undefined ? { repo } : { repo, revision }, name, names),
      repo,
      commit,
      quant,
      files: files.filter(({ path }) => parts.includes(path)),
      record,
    };
  });
}

/** The id, a repository, or a revision of it. */
function isMeant({ id, repo, commit, files }: Installed, name: string): boolean {
  if (id === name) return true;
  const wanted = parseHubId(name);
  if (wanted?.repo !== repo || wanted.file !== undefined || wanted.quant !== undefined) return false;
  const { revision } = wanted;
  return revision === undefined || revision === commit || files.some(({ refs }) => refs.includes(revision));
}

function servedAsOf(
  { files, record }: Installed,
  { models }: Owner,
  configured: ReadonlyMap<string, string>,
): string | undefined {
  const byFile = files.map(({ blob }) => configured.get(blob)).find((name) => name !== undefined);
  if (byFile !== undefined) return byFile;
  return record !== undefined && models.ids().includes(record.id) ? record.id : undefined;
}

/** Why a model must not be deleted, after its name; undefined where it may. */
function whyKept(
  one: Installed,
  { models }: Owner,
  configured: ReadonlyMap<string, string>,
): string | undefined {
  const user = one.files.map(({ blob }) => configured.get(blob)).find((name) => name !== undefined);
  if (user !== undefined)
    return `is used by the configured model ${user}; take it out of the configuration first`;
  const runs = one.record === undefined ? 0 : models.activeRunsOf(one.record.id);
  return runs === 0 ? undefined : "answers requests; try again once they have ended";
}

function companionsOf(record: PulledModel): readonly string[] {
  const { repo, commit } = record;
  return filesBeside(record).map((path) => keyOf({ repo, commit, path }));
}

function keyOf({ repo, commit, path }: Pick<CachedFile, "repo" | "commit" | "path">): string {
  return `${repo}\n${commit}\n${path}`;
}
