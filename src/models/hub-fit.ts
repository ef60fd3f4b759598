// Which models of a repository fit this machine: sizes from the hub's listing, the shape of the cache from the first bytes of a
// file.

import { totalmem } from "node:os";
import { textOptions } from "../config/engine-options.ts";
import { defaultModel } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { itemAt } from "../core/assert.ts";
import { freeMemory, memoryLimit } from "../core/free-memory.ts";
import { readFirstFields } from "../core/gguf.ts";
import { fieldProblem } from "../core/model-problem.ts";
import type { HubFit, HubMachine, HubModelChoice } from "../core/hub.ts";
import type { HubId } from "../core/hub-id.ts";
import { modelGroups } from "../core/model-files.ts";
import type { Card } from "../engine/claims.ts";
import type { Metadata } from "../engine/cache-layers.ts";
import { memoryEstimate } from "../engine/memory-fit.ts";
import { firstBytes, type HubAccess } from "../hub/api.ts";
import { REMOTE_HEADER_BYTES } from "../hub/limits.ts";
import type { HubPlace } from "../hub/place.ts";
import { AUTO_COMPANIONS, filesOf, modelId, type ModelPlan, planModel } from "../hub/plan.ts";
import type { RepoFile, RepoListing } from "../hub/repository.ts";
import { cacheBytes, diskFreeBytes, missingBytes } from "../hub/room.ts";

export interface HubFitOptions {
  readonly settings: Settings;
  readonly cacheDir: string;
  /** The accelerators; undefined until an engine has looked for them. */
  readonly cards: () => readonly Card[] | undefined;
}

/** The room for models on this machine. */
export function hubMachine({ settings }: HubFitOptions, { cacheDir }: HubPlace): HubMachine {
  return {
    memory_total_bytes: Math.min(totalmem(), memoryLimit()),
    memory_free_bytes: Math.floor(freeMemory()),
    disk_free_bytes: diskFreeBytes(cacheDir),
    models_bytes: cacheBytes(cacheDir),
    models_max_bytes: settings.server.models_max_bytes ?? null,
  };
}

/** The models of a repository, the smallest first. */
export async function modelChoices(
  id: HubId,
  listing: RepoListing,
  access: HubAccess,
  options: HubFitOptions & { readonly place: HubPlace },
): Promise<readonly HubModelChoice[]> {
  const groups = modelGroups(listing.files.map(({ path }) => path)).filter(
    ({ parts, total }) => parts.length === total,
  );
  if (groups.length === 0) return [];
  const names = groups.map(({ name }) => name);
  const usual = usualModel(id, listing);
  const metadata = await remoteMetadata(id, listing, usual ?? itemAt(names, 0), access);
  const { cacheDir } = options.place;
  const choices = groups.map((group): HubModelChoice => {
    const plan = planModel({ repo: id.repo, file: group.name }, listing, AUTO_COMPANIONS);
    const memory = metadata === undefined ? undefined : estimate(plan, metadata, options);
    return {
      id: modelId(id, group.name, names),
      quantization: group.quant ?? null,
      files: [...group.parts],
      size_bytes: bytesOf(plan.parts),
      projector: plan.projector?.path ?? null,
      draft: plan.draft?.path ?? null,
      download_bytes: missingBytes(filesOf(plan), id.repo, cacheDir),
      memory_bytes: memory ?? null,
      fit: fitOf(memory, options.cards() ?? []),
      is_default: group.name === usual,
      downloaded: missingBytes(plan.parts, id.repo, cacheDir) === 0,
    };
  });
  return choices.toSorted((a, b) => a.size_bytes - b.size_bytes);
}

/** The file that `owner/name` alone means; undefined where a choice is needed. */
function usualModel(id: HubId, listing: RepoListing): string | undefined {
  try {
    return planModel({ repo: id.repo }, listing, AUTO_COMPANIONS).parts[0]?.path;
  } catch {
    return undefined; // several fit
  }
}

function bytesOf(files: readonly RepoFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** What precedes the vocabulary in a file of the hub; all models of a repository are taken to be alike. */
async function remoteMetadata(
  { repo }: HubId,
  { commit }: RepoListing,
  path: string,
  access: HubAccess,
): Promise<Metadata | undefined> {
  const steps = path.split("/").map(encodeURIComponent);
  const url = [access.endpoint, repo, "resolve", commit, ...steps].join("/");
  const start = await firstBytes(url, REMOTE_HEADER_BYTES, access);
  if (start === undefined) return undefined;
  try {
    const fields = readFirstFields(start);
    return fieldProblem(fields) === undefined ? fields : undefined; // its load will say what is wrong
  } catch {
    return undefined; // not a GGUF file, which its pull will say
  }
}

function estimate(plan: ModelPlan, metadata: Metadata, { settings, cacheDir }: HubFitOptions): number {
  const options = textOptions(
    defaultModel(itemAt(plan.parts, 0).path),
    { settings, cacheDir, verbosity: 0 },
    {
      modelPath: undefined,
      adapterPath: undefined,
      chatTemplate: undefined,
      rpcEndpoints: [],
      backends: () => undefined,
    },
  );
  return memoryEstimate(metadata, bytesOf(filesOf(plan)), options, freeMemory());
}

/** Whether a model fits main memory and the cards together: what does not fit the cards runs on the CPU. */
export function fitOf(memory: number | undefined, cards: readonly Card[]): HubFit {
  if (memory === undefined) return "unknown";
  const onMachine = memory - cards.reduce((sum, { bytes }) => sum + bytes, 0);
  if (onMachine <= freeMemory()) return "fits";
  return onMachine <= Math.min(totalmem(), memoryLimit()) ? "tight" : "too_large";
}
