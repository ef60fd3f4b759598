// GGUF files that svc has made of a repository's safetensors, kept beside them in the cache folder of the hub's tools, with a record: so
// lists, limits and deletion count them as downloaded ones. Knows nothing of conversion.

import { basename, join } from "node:path";
import type { HubId } from "../core/hub-id.ts";
import { blobPath, cachedCommit, linkFile, repoFolder, snapshotFiles, snapshotPath } from "./cache.ts";
import { HubError } from "./error.ts";
import { CONVERTED } from "./fetch-model.ts";
import { withLock } from "./lock.ts";
import { modelId } from "./plan.ts";
import { recordModel, recordOf } from "./records.ts";
import { cacheBytes, diskFreeBytes } from "./room.ts";
import { sizeText } from "../core/size-text.ts";

/** Makes a GGUF file. */
export interface Conversion {
  readonly cacheDir: string;
  readonly id: HubId;
  /** Writes the file, which does not exist. */
  readonly write: (output: string) => Promise<void>;
  /** Type of the weights of a file, for its name: `BF16`. */
  readonly typeOf: (file: string) => string | undefined;
  /** Whether servers shall serve it from now on. */
  readonly isServed: boolean;
  readonly onWait: () => void;
  readonly signal: AbortSignal;
}

/** The GGUF file of a repository whose safetensors are on this machine; makes it unless another process has. */
export async function convertedFile({ cacheDir, id, ...how }: Conversion): Promise<string> {
  const commit = cachedCommit(cacheDir, id) ?? "";
  const { repo } = id;
  const find = (): string | undefined =>
    snapshotFiles(cacheDir, repo, commit)
      .map((path) => snapshotPath(cacheDir, repo, commit, path))
      .find((path) => path.endsWith(".gguf") && recordOf(cacheDir, repo, path) !== undefined);
  const made = blobPath(cacheDir, repo, `converted-${commit}.gguf`);
  const lock = join(cacheDir, ".locks", basename(repoFolder(cacheDir, repo)), `${commit}.svc-lock`);
  return withLock(
    lock,
    async () => {
      const found = find();
      if (found !== undefined) return found;
      const sources = snapshotFiles(cacheDir, repo, commit).filter((path) => CONVERTED.test(path));
      await how.write(made);
      const type = how.typeOf(made);
      const name = `${basename(repo)}${type === undefined ? "" : `-${type}`}.gguf`;
      const link = snapshotPath(cacheDir, repo, commit, name);
      linkFile(link, made);
      const record = { repo, commit, files: [name], sources, isServed: how.isServed };
      recordModel(cacheDir, { id: modelId(id, name, [name]), ...record });
      return link;
    },
    how,
  );
}

/** Throws HubError(model_storage_full) where the disk, or the limit for models, has no room for a converted file. */
export function checkConvertedRoom(
  bytes: number,
  folder: string,
  limit?: { readonly cacheDir: string; readonly maxBytes: number },
): void {
  const free = diskFreeBytes(folder);
  if (bytes > free)
    throw new HubError(
      `the converted file needs about ${sizeText(bytes)}, but ${folder} has ${sizeText(free)} beside the reserve that stays free. Free disk space, or convert on another disk.`,
      "model_storage_full",
    );
  if (limit === undefined) return;
  const left = limit.maxBytes - cacheBytes(limit.cacheDir);
  if (bytes > left)
    throw new HubError(
      `the converted file needs about ${sizeText(bytes)}, but of --models-max-bytes (${sizeText(limit.maxBytes)}) only ${sizeText(Math.max(0, left))} are left. Delete a model, or raise --models-max-bytes.`,
      "model_storage_full",
    );
}
