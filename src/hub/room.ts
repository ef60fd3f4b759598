// Disk space for models: what is free, what is used, and whether a download may begin.

import { mkdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { formatRepo, type HubId } from "../core/hub-id.ts";
import { namesIn } from "../core/readable.ts";
import { blobPath } from "./cache.ts";
import { partialPath } from "./download.ts";
import { HubError } from "./error.ts";
import { DISK_RESERVE_BYTES_MAX, DISK_RESERVE_SHARE } from "./limits.ts";
import type { HubPlace } from "./place.ts";
import type { RepoFile } from "./repository.ts";
import { sizeText } from "../core/size-text.ts";

interface Room {
  readonly place: HubPlace;
  readonly maxBytes?: number | undefined;
  readonly reservedBytes?: () => number;
}

/** Free bytes of the disk with the models, less the reserve that stays free. */
export function diskFreeBytes(cacheDir: string): number {
  mkdirSync(cacheDir, { recursive: true });
  const { bavail, blocks, bsize } = statfsSync(cacheDir);
  const reserve = Math.min(blocks * bsize * DISK_RESERVE_SHARE, DISK_RESERVE_BYTES_MAX);
  return Math.max(0, Math.floor(bavail * bsize - reserve));
}

/** Bytes of all contents in the cache, unfinished ones included. */
export function cacheBytes(cacheDir: string): number {
  const repositories = namesIn(cacheDir).filter((name) => name.startsWith("models--"));
  return repositories.reduce((sum, repository) => {
    const folder = join(cacheDir, repository, "blobs");
    return namesIn(folder).reduce((bytes, name) => bytes + sizeOf(join(folder, name)), sum);
  }, 0);
}

/** Bytes of some files that are not on this machine. */
export function missingBytes(files: readonly RepoFile[], repo: string, cacheDir: string): number {
  return files.reduce((sum, file) => {
    const blob = blobOf(cacheDir, repo, file);
    if (statSync(blob, { throwIfNoEntry: false }) !== undefined) return sum;
    return sum + Math.max(0, file.bytes - sizeOf(partialPath(blob)));
  }, 0);
}

/** Where the content of a file is kept. */
export function blobOf(cacheDir: string, repo: string, { hash, elsewhere }: RepoFile): string {
  return blobPath(cacheDir, repo, hash === "" && elsewhere !== undefined ? elsewhere.blob : hash);
}

/** Bytes of a content that are on this machine. */
export function heldBytes(blob: string): number {
  return sizeOf(blob) || sizeOf(partialPath(blob));
}

/** Deletes what has come of a content. */
export function discardPartial(blob: string): void {
  rmSync(partialPath(blob), { force: true });
}

/** Throws HubError(model_storage_full) where the disk, or the limit for models, has no room for what is missing of some files. */
export function checkRoom(files: readonly RepoFile[], id: HubId, room: Room): void {
  const { place, maxBytes, reservedBytes = () => 0 } = room;
  const missing = missingBytes(files, id.repo, place.cacheDir);
  if (missing === 0) return;
  const needed = missing + reservedBytes();
  const free = diskFreeBytes(place.cacheDir);
  if (needed > free) {
    throw new HubError(
      `${formatRepo(id)} needs ${sizeText(missing)} more, but ${place.cacheDir} has ${sizeText(Math.max(0, free - needed + missing))} for it beside other downloads and the reserve that stays free. Free disk space, or set --hf-cache to another folder.`,
      "model_storage_full",
    );
  }
  if (maxBytes === undefined) return;
  const used = cacheBytes(place.cacheDir) + needed - missing;
  if (used + missing <= maxBytes) return;
  throw new HubError(
    `${formatRepo(id)} needs ${sizeText(missing)} more, but of --models-max-bytes (${sizeText(maxBytes)}) only ${sizeText(Math.max(0, maxBytes - used))} are left. Delete a model, or raise --models-max-bytes.`,
    "model_storage_full",
  );
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
