// Which models of a repository fit this machine: sizes from the hub's listing, the shape of the cache and the weights from the header
// of one file. What `owner/name` alone means is chosen by it.

import { shownAddress } from "../core/shown-address.ts";
import { totalmem } from "node:os";
import { defaultModel } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { itemAt } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { freeMemory, memoryLimit } from "../core/free-memory.ts";
import type { GgufHeader } from "../core/gguf.ts";
import { tensorBytes } from "../core/gguf-facts.ts";
import type { HubEstimate, HubFit, HubMachine, HubModelChoice, HubRepositoryDetails } from "../core/hub.ts";
import { formatRepo, type HubId } from "../core/hub-id.ts";
import { fileRoles, type ModelGroup, modelGroups } from "../core/model-files.ts";
import type { Card } from "../engine/claims.ts";
import { type EstimatedFile, memoryEstimate, tokenTable } from "../engine/memory-fit.ts";
import type { HubAccess } from "../hub/api.ts";
import { cachedModel, type ChooseModel } from "../hub/fetch-model.ts";
import type { HubPlace } from "../hub/place.ts";
import { AUTO_COMPANIONS, filesOf, modelId, type ModelPlan, planModel } from "../hub/plan.ts";
import { remoteHeader } from "../hub/remote-header.ts";
import { listRepository, type RepoFile, type RepoListing } from "../hub/repository.ts";
import { cacheBytes, diskFreeBytes, missingBytes } from "../hub/room.ts";
import {
  estimated,
  lackText,
  type MachineRoom,
  NOT_ESTIMATED,
  qualityOf,
  readShare,
  recommendation,
} from "./estimate.ts";
import { optionsToEstimate } from "./file-facts.ts";

/** Facts of this machine that take a moment to find: each is found once. */
export interface MachineFacts {
  /** The accelerators; empty without one. */
  readonly cards: () => Promise<readonly Card[]>;
  /** Speed of main memory, bytes/s; undefined where it cannot be measured. Never rejects. */
  readonly bytesPerSecond: () => Promise<number | undefined>;
}

export interface HubFitOptions {
  readonly settings: Settings;
  readonly cacheDir: string;
  readonly machine: MachineFacts;
}

type FitOptions = HubFitOptions & { readonly place: HubPlace };

/** The room for models on this machine. */
export function hubMachine(settings: Settings, { cacheDir }: HubPlace): HubMachine {
  return {
    memory_total_bytes: memoryTotal(),
    memory_free_bytes: Math.floor(freeMemory()),
    disk_free_bytes: diskFreeBytes(cacheDir),
    models_bytes: cacheBytes(cacheDir),
    models_max_bytes: settings.server.models_max_bytes ?? null,
  };
}

function memoryTotal(): number {
  return Math.min(totalmem(), memoryLimit());
}

/** A repository, what its models take of this machine, and which one to use. Throws HubError. */
export async function repositoryDetails(
  id: HubId,
  access: HubAccess,
  options: FitOptions,
): Promise<HubRepositoryDetails> {
  void options.machine.bytesPerSecond(); // measured while the hub is asked; it never rejects
  const listing = await listRepository(id, access);
  const { models, estimate } = await estimateModels(id, listing, access, options);
  const roles = fileRoles(listing.files.map(({ path }) => path));
  return {
    ...listing.repository,
    downloaded: models.some(({ downloaded }) => downloaded),
    revision: id.revision ?? "main",
    commit: listing.commit,
    models: [...models],
    files: listing.files.map(({ path, bytes }) => ({
      path,
      size_bytes: bytes,
      role: roles.get(path) ?? "other",
    })),
    machine: hubMachine(options.settings, options.place),
    estimate,
  };
}

interface Estimates {
  /** The smallest first. */
  readonly models: readonly HubModelChoice[];
  readonly estimate: HubEstimate;
}

async function estimateModels(
  id: HubId,
  listing: RepoListing,
  access: HubAccess,
  options: FitOptions,
): Promise<Estimates> {
  const groups = modelGroups(listing.files.map(({ path }) => path)).filter(
    ({ parts, total }) => parts.length === total,
  );
  const cards = await options.machine.cards();
  const speed = groups.length === 0 ? undefined : await options.machine.bytesPerSecond();
  const room: MachineRoom = { freeBytes: freeMemory(), cards, bytesPerSecond: speed };
  const names = groups.map(({ name }) => name);
  const usual = usualModel(id, listing);
  const parts = groups.length === 0 ? [] : await partHeaders(id, listing, groups, usual, access);
  const share = readShare(parts);
  const found = groups.map((group) => {
    const plan = planModel({ repo: id.repo, file: group.name }, listing, AUTO_COMPANIONS);
    const file = parts[0] === undefined ? undefined : estimatedFile(plan, parts, options);
    return choiceOf({ id, group, plan, names }, { file, share, room }, options.place);
  });
  const lackOf = (group: ModelGroup): string => {
    const plan = planModel({ repo: id.repo, file: group.name }, listing, AUTO_COMPANIONS);
    return parts[0] === undefined ? "" : lackText(estimatedFile(plan, parts, options), room);
  };
  const models = found.toSorted((a, b) => a.size_bytes - b.size_bytes);
  const idOf = (name: string | undefined): string | undefined => name && modelId(id, name, names);
  const isClosed = listing.repository.access === "gated" && parts[0] === undefined && groups.length > 0;
  const best = isClosed ? closed(id, access) : recommendation(models, idOf(usual));
  const meant = idOf(downloadedOf(id, names, options.place)) ?? best.recommended ?? idOf(usual);
  const [first] = models;
  const smallest = groups.find(({ name }) => idOf(name) === first?.id);
  const lack = first?.fit !== "fits" && smallest !== undefined ? lackOf(smallest) : "";
  return {
    models: models.map((one) => ({ ...one, is_default: one.id === meant })),
    estimate: {
      ...best,
      reason: lack === "" ? best.reason : `${best.reason}; of it, ${lack}`,
      memory_bytes_per_second: speed ?? null,
      devices: cards.map(({ name, bytes }) => ({ name, memory_bytes: bytes })),
    },
  };
}

/** Its files are listed for everybody, and read by those who have asked. */
function closed({ repo }: HubId, { endpoint, token }: HubAccess): ReturnType<typeof recommendation> {
  const who = token === undefined ? "no token is configured; store one with svc login" : "the token has none";
  const place = `${shownAddress(endpoint)}/${repo}`;
  return {
    recommended: null,
    reason: `its files can be read with access only, requested at ${place}; ${who}`,
  };
}

interface Chosen {
  readonly id: HubId;
  readonly group: ModelGroup;
  readonly plan: ModelPlan;
  readonly names: readonly string[];
}

interface Basis {
  readonly file: EstimatedFile | undefined;
  readonly share: number | undefined;
  readonly room: MachineRoom;
}

function choiceOf(
  { id, group, plan, names }: Chosen,
  { file, share, room }: Basis,
  { cacheDir }: HubPlace,
): Omit<HubModelChoice, "is_default"> {
  const size = bytesOf(plan.parts);
  const memory = file && memoryEstimate(file, room.freeBytes);
  return {
    id: modelId(id, group.name, names),
    quantization: group.quant ?? null,
    files: [...group.parts],
    size_bytes: size,
    projector: plan.projector?.path ?? null,
    draft: plan.draft?.path ?? null,
    download_bytes: missingBytes(filesOf(plan), id.repo, cacheDir),
    memory_bytes: memory ?? null,
    fit: fitOf(memory, room.cards),
    quality: qualityOf(group.quant ?? null),
    ...(file === undefined ? NOT_ESTIMATED : estimated(file, { modelBytes: size, share }, room)),
    downloaded: missingBytes(plan.parts, id.repo, cacheDir) === 0,
  };
}

/** Chooses what `owner/name` alone means where a repository has several models. */
export function modelChooser(options: FitOptions): ChooseModel {
  return async (id, listing, access) => {
    const { models, estimate } = await estimateModels(id, listing, access, options);
    const meant = models.find((one) => one.is_default);
    const [file] = meant?.files ?? [];
    if (meant === undefined || file === undefined) return undefined;
    const at = models.indexOf(meant);
    const other = (models[at - 1] ?? models[at + 1] ?? meant).id;
    const why = meant.id === estimate.recommended ? estimate.reason : "it is downloaded";
    const repo = formatRepo(id);
    const note = `auto: ${meant.id} of ${models.length} models: ${why}. Name another to override: ${other}; svc estimate ${repo} lists all.`;
    return { file, note };
  };
}

/** The file that `owner/name` alone means to a machine that is not known; undefined where a choice is needed. */
function usualModel(id: HubId, listing: RepoListing): string | undefined {
  try {
    return planModel({ repo: id.repo }, listing, AUTO_COMPANIONS).parts[0]?.path;
  } catch {
    return undefined; // several fit
  }
}

/** The one of a repository's models that is on this machine, and answers to `owner/name`. */
function downloadedOf(
  { repo, revision }: HubId,
  names: readonly string[],
  place: HubPlace,
): string | undefined {
  const path = cachedModel({ repo, ...defined({ revision }) }, place);
  return path === undefined ? undefined : names.find((name) => path.endsWith(`/${name}`));
}

function bytesOf(files: readonly RepoFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * The header of one model, of a split one with that of its second part: the first may hold no tensors. All models of a repository are
 * taken to be alike.
 */
async function partHeaders(
  { repo }: HubId,
  { commit }: RepoListing,
  groups: readonly ModelGroup[],
  usual: string | undefined,
  access: HubAccess,
): Promise<readonly GgufHeader[]> {
  const whole = groups.filter(({ total }) => total === 1);
  const candidates = whole.length > 0 ? whole : groups;
  const group = candidates.find(({ name }) => name === usual) ?? itemAt(candidates, 0);
  const headers: GgufHeader[] = [];
  for (const path of group.parts.slice(0, 2)) {
    const header = await remoteHeader({ repo, commit, path }, access);
    if (header === undefined) break;
    headers.push(header);
  }
  return headers;
}

function estimatedFile(
  plan: ModelPlan,
  headers: readonly GgufHeader[],
  { settings, cacheDir }: HubFitOptions,
): EstimatedFile {
  const entry = defaultModel(itemAt(plan.parts, 0).path);
  const options = optionsToEstimate(entry, undefined, { settings, cacheDir });
  const read = headers.flatMap(({ tensors }) => [...tensors.values()]);
  const readBytes = read.reduce((sum, tensor) => sum + (tensorBytes(tensor) ?? 0), 0);
  const { bytes, isOutput } = tokenTable(headers);
  const scale = readBytes === 0 ? 0 : bytesOf(plan.parts) / readBytes; // the headers may be of another type of weights
  return {
    metadata: headers[0]?.fields ?? new Map(),
    weightBytes: bytesOf(filesOf(plan)),
    options,
    table: { bytes: Math.round(bytes * scale), isOutput },
  };
}

/** Whether a model fits main memory and the cards together: what does not fit the cards runs on the CPU. */
export function fitOf(memory: number | undefined, cards: readonly Card[]): HubFit {
  if (memory === undefined) return "unknown";
  const onMachine = memory - cards.reduce((sum, { bytes }) => sum + bytes, 0);
  if (onMachine <= freeMemory()) return "fits";
  return onMachine <= memoryTotal() ? "tight" : "too_large";
}
