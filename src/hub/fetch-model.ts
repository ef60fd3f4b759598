// Fetches a model of the hub: from the cache if complete, otherwise by download.

import { itemAt } from "../core/assert.ts";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { defined } from "../core/defined.ts";
import { formatRepo, type HubId } from "../core/hub-id.ts";
import { chooseModelFiles, modelGroups } from "../core/model-files.ts";
import { fileUrl, type HubAccess, refusal } from "./api.ts";
import { cachedCommit, cachedCommits, linkFile, snapshotFiles, snapshotPath, writeRef } from "./cache.ts";
import { ContentChanged, download } from "./download.ts";
import { HubError } from "./error.ts";
import { GENERATION_CONFIG } from "./generation-config.ts";
import { withLock } from "./lock.ts";
import type { HubPlace } from "./place.ts";
import {
  type Companions,
  filesOf,
  modelId,
  type ModelPlan,
  NO_COMPANIONS,
  planModel,
  USUAL_QUANT,
} from "./plan.ts";
import { recordModel } from "./records.ts";
import { listRepository, type RepoFile, type RepoListing } from "./repository.ts";
import { blobOf, checkRoom } from "./room.ts";

/** Progress of a download, over all files of the model. */
export interface Progress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface FetchOptions {
  readonly place: HubPlace;
  /** Called when a token is needed. */
  readonly token: () => string | undefined;
  readonly onProgress: (progress: Progress) => void;
  /** Bytes of one file so far. */
  readonly onFile?: (path: string, bytes: number) => void;
  /** Receives log lines. */
  readonly log: (line: string) => void;
  /** Ask the hub even where the cache has the model. */
  readonly refresh?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** First delay after a failed attempt, milliseconds. */
  readonly retryMs?: number;
  /** Largest size of all downloaded models, bytes; absent: as the disk allows. */
  readonly maxBytes?: number | undefined;
  /** What other downloads of this process have yet to write, bytes. */
  readonly reservedBytes?: () => number;
  /** What is downloaded with the model; absent: nothing. */
  readonly companions?: Companions;
  /** Whether servers shall serve it from now on; absent: no. */
  readonly isServed?: boolean;
  /** Chooses among the models of a repository where a name means none of them; absent: the usual quantization. */
  readonly choose?: ChooseModel;
}

/** The file that is meant, and a note that says why; undefined where there is no choice to make. */
export type ChooseModel = (
  id: HubId,
  listing: RepoListing,
  access: HubAccess,
) => Promise<{ readonly file: string; readonly note: string } | undefined>;

/** A model of the hub whose files are known. */
export interface FetchPlan extends ModelPlan {
  readonly id: HubId;
  readonly listing: Pick<RepoListing, "commit" | "files">;
  readonly token: string | undefined;
  /** Name of the model: `owner/name:Q4_K_M`. */
  readonly model: string;
  /** Of a plain URL: plans it again, after its content has changed. */
  readonly again?: () => Promise<FetchPlan>;
}

/** Absolute path of the model's file, the first one of a split model. Throws HubError. */
export async function fetchModel(id: HubId, options: FetchOptions): Promise<string> {
  const cached =
    options.refresh === true && !options.place.offline ? undefined : cachedModel(id, options.place);
  if (cached !== undefined) {
    const { named, repo, revision = "" } = id;
    if (named !== undefined && !cached.startsWith(snapshotPath(options.place.cacheDir, repo, revision, ".")))
      options.log(
        `${named} means a newer revision of ${repo} in this release; the downloaded one is served until "svc pull ${named}" fetches it`,
      );
    return cached;
  }
  return fetchPlanned(await planFetch(id, options.companions ?? NO_COMPANIONS, options), options);
}

/** Asks the hub which files a model has. Throws HubError. */
export async function planFetch(
  id: HubId,
  companions: Companions,
  options: FetchOptions,
): Promise<FetchPlan> {
  const { place } = options;
  if (place.offline) throw notCached(id, place);
  const token = options.token();
  const access = accessOf(options, token);
  const listing = await listRepository(id, access);
  const names = modelGroups(listing.files.map(({ path }) => path)).map(({ name }) => name);
  const isOpen = id.quant === undefined && id.file === undefined && names.length > 1;
  const chosen = isOpen ? await options.choose?.(id, listing, access) : undefined;
  if (chosen !== undefined) options.log(chosen.note);
  const plan = planModel(chosen === undefined ? id : { ...id, file: chosen.file }, listing, companions);
  return { id, listing, token, model: modelId(id, itemAt(plan.parts, 0).path, names), ...plan };
}

/** Downloads the files of a plan and records them; returns the path of the model's first one. Throws HubError. */
export async function fetchPlanned(plan: FetchPlan, options: FetchOptions): Promise<string> {
  const { id, listing, token, model, parts, projector, draft, adapters } = plan;
  const sampling = listing.files.filter(({ path }) => path === GENERATION_CONFIG);
  try {
    await fetchFiles(id, { ...listing, files: [...filesOf(plan), ...sampling] }, token, options);
  } catch (error) {
    if (!(error instanceof ContentChanged) || plan.again === undefined) throw error;
    const { again: _, ...fresh } = await plan.again(); // once: a file that changes all the time is never complete
    options.log(`${model}: the file has changed; starting again`);
    return fetchPlanned(fresh, options);
  }
  recordModel(options.place.cacheDir, {
    id: model,
    repo: id.repo,
    commit: listing.commit,
    files: parts.map(({ path }) => path),
    ...defined({ projector: projector?.path, draft: draft?.path }),
    ...(adapters.length === 0 ? {} : { adapters: adapters.map(({ path }) => path) }),
    isServed: options.isServed ?? false,
  });
  return snapshotPath(options.place.cacheDir, id.repo, listing.commit, itemAt(plan.parts, 0).path);
}

/** The hub as the options have it. */
export function accessOf(
  { place, signal, retryMs }: Pick<FetchOptions, "place" | "signal" | "retryMs">,
  token: string | undefined,
): HubAccess {
  return { endpoint: place.endpoint, token, signal, retryMs };
}

/** Folder with the named files of a repository; missing ones are skipped. Throws HubError. */
export async function fetchFolder(
  id: HubId,
  names: readonly string[],
  options: FetchOptions,
): Promise<string> {
  const { place } = options;
  const cached = cachedCommit(place.cacheDir, id);
  const there = cached === undefined ? [] : snapshotFiles(place.cacheDir, id.repo, cached);
  if (cached !== undefined && names.every((name) => there.includes(name)))
    return snapshotPath(place.cacheDir, id.repo, cached, ".");
  if (place.offline) throw notCached(id, place);
  const token = options.token();
  const listing = await listRepository(id, accessOf(options, token));
  return fetchListed(id, listing, (path) => names.includes(path), { ...options, token: () => token });
}

/** Files of a repository that a conversion reads. */
export const CONVERTED = /^[^/]+\.(?:safetensors|json|txt|jinja|model|tiktoken)$/;

/** Folder of a repository with weights in safetensors, its configuration and its tokenizer. Throws HubError. */
export async function fetchSafetensors(id: HubId, options: FetchOptions): Promise<string> {
  const { place } = options;
  if (place.offline) {
    const cached = cachedCommit(place.cacheDir, id);
    const there = cached === undefined ? [] : snapshotFiles(place.cacheDir, id.repo, cached);
    if (cached !== undefined && there.some(isSafetensors))
      return snapshotPath(place.cacheDir, id.repo, cached, ".");
    throw notCached(id, place);
  }
  const token = options.token();
  const listing = await listRepository(id, accessOf(options, token));
  if (!listing.files.some(({ path }) => CONVERTED.test(path) && isSafetensors(path)))
    throw new HubError(
      `${formatRepo(id)} has no safetensors to convert. Name another repository.`,
      "hub_model_not_found",
    );
  return fetchListed(id, listing, (path) => CONVERTED.test(path), { ...options, token: () => token });
}

/** Downloads some files of a repository; returns their folder. */
async function fetchListed(
  id: HubId,
  listing: RepoListing,
  isWanted: (path: string) => boolean,
  options: FetchOptions,
): Promise<string> {
  const files = listing.files.filter(({ path }) => isWanted(path));
  await fetchFiles(id, { ...listing, files }, options.token(), options);
  return snapshotPath(options.place.cacheDir, id.repo, listing.commit, ".");
}

/** Whether a file holds weights that svc convert takes. */
function isSafetensors(path: string): boolean {
  return path.endsWith(".safetensors");
}

function notCached(id: HubId, { cacheDir }: HubPlace): HubError {
  return new HubError(
    `${formatRepo(id)} is not in ${cacheDir}, and HF_HUB_OFFLINE forbids the download. Unset it, or copy the model there.`,
  );
}

/** The complete model in the cache, of a name of the catalogue that of an earlier release, too; undefined otherwise. Uses no network. */
export function cachedModel(id: HubId, { cacheDir }: Pick<HubPlace, "cacheDir">): string | undefined {
  const commit = cachedCommit(cacheDir, id);
  const earlier = id.named === undefined ? [] : cachedCommits(cacheDir, id.repo);
  const wanted = defined({ file: id.file, quant: id.quant });
  for (const one of commit === undefined ? earlier : [commit, ...earlier]) {
    const chosen = chooseModelFiles(snapshotFiles(cacheDir, id.repo, one), wanted, USUAL_QUANT);
    if (chosen.ok) return snapshotPath(cacheDir, id.repo, one, itemAt(chosen.parts, 0));
  }
  return undefined;
}

/** Downloads some files of a repository into the cache, one after the other. */
async function fetchFiles(
  id: HubId,
  listing: FetchPlan["listing"],
  token: string | undefined,
  options: FetchOptions,
): Promise<void> {
  const { cacheDir } = options.place;
  const { commit, files } = listing;
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  checkRoom(files, id, options);
  let doneBefore = 0;
  for (const file of files) {
    const onBytes = (bytes: number): void => {
      options.onFile?.(file.path, bytes);
      options.onProgress({ doneBytes: doneBefore + bytes, totalBytes });
    };
    await fetchFile(id, { file, commit, token, onBytes }, options);
    onBytes(file.bytes);
    doneBefore += file.bytes;
  }
  for (const file of files) {
    linkFile(snapshotPath(cacheDir, id.repo, commit, file.path), blobOf(cacheDir, id.repo, file));
  }
  writeRef(cacheDir, id, commit);
}

interface OneFile {
  readonly file: RepoFile;
  readonly commit: string;
  readonly token: string | undefined;
  readonly onBytes: (bytes: number) => void;
}

/** Downloads the content of a file unless it is there; another process that does so is waited for. */
async function fetchFile(
  id: HubId,
  { file, commit, token, onBytes }: OneFile,
  options: FetchOptions,
): Promise<void> {
  const { place, log, signal, retryMs } = options;
  const { path, bytes, hash } = file;
  const blob = blobOf(place.cacheDir, id.repo, file);
  if (existsSync(blob)) return;
  const url = fileUrl(place.endpoint, { repo: id.repo, commit, path });
  const fetchIt = async (): Promise<void> => {
    if (existsSync(blob)) return; // another process was faster
    await download(
      { url, token, bytes, hash, file: blob, open: file.elsewhere?.open, version: file.elsewhere?.version },
      {
        onProgress: onBytes,
        refusal: (status) => refusal(status, id, { endpoint: place.endpoint, token }),
        signal,
        retryMs,
      },
    ).catch((error: unknown) => {
      if (!(error instanceof HubError) || error instanceof ContentChanged) throw error;
      throw new HubError(`${formatRepo(id)}: ${error.message}`, error.code, error.retryAfterSecs);
    });
  };
  const folder = `models--${id.repo.replace("/", "--")}`;
  const lock = join(place.cacheDir, ".locks", folder, `${basename(blob)}.svc-lock`);
  const onWait = (): void => log(`${formatRepo(id)}: another process is downloading it; waiting`);
  await withLock(lock, fetchIt, { onWait, signal });
}
