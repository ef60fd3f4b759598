// Fetches a model of the hub: from the cache if complete, otherwise by download.

import { itemAt } from "../core/assert.ts";
import { existsSync, mkdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../core/defined.ts";
import { formatRepo, type HubId } from "../core/hub-id.ts";
import { chooseModelFiles, type Wanted } from "../core/model-files.ts";
import {
  blobPath,
  cachedCommit,
  linkFile,
  repoFolder,
  snapshotFiles,
  snapshotPath,
  writeRef,
} from "./cache.ts";
import { download } from "./download.ts";
import { HubError } from "./error.ts";
import { withLock } from "./lock.ts";
import type { HubPlace } from "./place.ts";
import { listRepository, refusal, type RepoFile, type RepoListing } from "./repository.ts";

/** Default quantization among several files, as in llama.cpp's own tools. */
const USUAL_QUANT = "Q4_K_M";

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
  /** Receives log lines. */
  readonly log: (line: string) => void;
  /** Ask the hub even where the cache has the model. */
  readonly refresh?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** First delay after a failed attempt, milliseconds. */
  readonly retryMs?: number;
}

/** Absolute path of the model's file, the first one of a split model. Throws HubError. */
export async function fetchModel(id: HubId, options: FetchOptions): Promise<string> {
  const cached =
    options.refresh === true && !options.place.offline ? undefined : findCached(id, options.place);
  if (cached !== undefined) return cached;
  const { place } = options;
  if (place.offline) throw notCached(id, place);
  const { commit, files } = await fetchChosen(id, (listing) => chooseFiles(id, listing), options);
  return snapshotPath(place.cacheDir, id.repo, commit, itemAt(files, 0).path);
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
  const choose = ({ files }: RepoListing) => files.filter(({ path }) => names.includes(path));
  const { commit } = await fetchChosen(id, choose, options);
  return snapshotPath(place.cacheDir, id.repo, commit, ".");
}

/** Downloads some files of a repository into the cache. */
async function fetchChosen(
  id: HubId,
  choose: (listing: RepoListing) => readonly RepoFile[],
  options: FetchOptions,
): Promise<RepoListing> {
  const { cacheDir } = options.place;
  const token = options.token();
  const listing = await listRepository(options.place, id, token, options.signal);
  const chosen = { ...listing, files: choose(listing) };
  await fetchFiles(id, chosen, token, options);
  for (const { path, hash } of chosen.files) {
    linkFile(snapshotPath(cacheDir, id.repo, listing.commit, path), blobPath(cacheDir, id.repo, hash));
  }
  writeRef(cacheDir, id, listing.commit);
  return chosen;
}

function notCached(id: HubId, { cacheDir }: HubPlace): HubError {
  return new HubError(
    `${formatRepo(id)} is not in ${cacheDir}, and HF_HUB_OFFLINE forbids the download. Unset it, or copy the model there.`,
  );
}

/** The complete model in the cache; undefined otherwise. Uses no network. */
function findCached(id: HubId, { cacheDir }: HubPlace): string | undefined {
  const commit = cachedCommit(cacheDir, id);
  if (commit === undefined) return undefined;
  const chosen = chooseModelFiles(snapshotFiles(cacheDir, id.repo, commit), wantedOf(id), USUAL_QUANT);
  return chosen.ok ? snapshotPath(cacheDir, id.repo, commit, itemAt(chosen.parts, 0)) : undefined;
}

function wantedOf({ file, quant }: HubId): Wanted {
  return defined({ file, quant });
}

function chooseFiles(id: HubId, { files }: RepoListing): readonly RepoFile[] {
  const chosen = chooseModelFiles(
    files.map(({ path }) => path),
    wantedOf(id),
    USUAL_QUANT,
  );
  if (!chosen.ok) throw new HubError(`${formatRepo(id)}: ${chosen.what}. ${chosen.fix}`);
  return chosen.parts.flatMap((part) => files.filter(({ path }) => path === part));
}

async function fetchFiles(
  id: HubId,
  { commit, files }: RepoListing,
  token: string | undefined,
  options: FetchOptions,
): Promise<void> {
  const { place, log, signal, retryMs } = options;
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let doneBefore = 0;
  for (const { path, bytes, hash } of files) {
    const file = blobPath(place.cacheDir, id.repo, hash);
    const steps = path.split("/").map(encodeURIComponent);
    const url = [place.endpoint, id.repo, "resolve", commit, ...steps].join("/");
    const fetchIt = async (): Promise<void> => {
      if (existsSync(file)) return; // another process was faster
      checkSpace(file, bytes, id, place);
      await download(
        { url, token, bytes, hash, file },
        {
          onProgress: (fileBytes) => options.onProgress({ doneBytes: doneBefore + fileBytes, totalBytes }),
          refusal: (status) => refusal(status, id, place.endpoint, token !== undefined),
          signal,
          retryMs,
        },
      ).catch((error: unknown) => {
        throw error instanceof HubError ? new HubError(`${formatRepo(id)}: ${error.message}`) : error;
      });
    };
    if (!existsSync(file)) {
      const lock = join(
        place.cacheDir,
        ".locks",
        `models--${id.repo.replace("/", "--")}`,
        `${hash}.svc-lock`,
      );
      const onWait = (): void => log(`${formatRepo(id)}: another process is downloading it; waiting`);
      await withLock(lock, fetchIt, { onWait, signal });
    }
    doneBefore += bytes;
    options.onProgress({ doneBytes: doneBefore, totalBytes });
  }
}

/** Checks the disk space before the download. */
function checkSpace(file: string, bytes: number, id: HubId, { cacheDir }: HubPlace): void {
  const folder = repoFolder(cacheDir, id.repo);
  mkdirSync(folder, { recursive: true });
  const { bavail, bsize } = statfsSync(folder);
  const there = statSync(`${file}.svc-partial`, { throwIfNoEntry: false })?.size ?? 0;
  const free = bavail * bsize;
  if (bytes - there <= free) return;
  const megabytes = (count: number): string => `${Math.ceil(count / 1e6)} MB`;
  throw new HubError(
    `${formatRepo(id)} needs ${megabytes(bytes - there)} more, but ${cacheDir} has ${megabytes(free)} free. Free disk space, or set hf_cache to another folder.`,
  );
}
