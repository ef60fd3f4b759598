// The hub's cache folder, in the layout of the hub's own tools:
//
//   models--OWNER--NAME/blobs/ETAG                    a file's content, named by its hash
//   models--OWNER--NAME/snapshots/COMMIT/path/FILE    a link to it
//   models--OWNER--NAME/refs/REVISION                 the commit of a branch or tag
//
// @huggingface/hub has a reader of this layout, but it fails for repositories without refs (downloads of a fixed commit) and
// skips subfolders of a snapshot, where parts of split files often are.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { type HubId } from "../core/hub-id.ts";
import { chooseModelFiles } from "../core/model-files.ts";
import { writeWhole } from "../core/whole-file.ts";

const COMMIT = /^[0-9a-f]{40}$/;
const MAIN = "main";

/** A file of a downloaded snapshot. */
export interface CachedFile {
  readonly repo: string;
  readonly commit: string;
  /** Branches and tags of the commit at the time of the download. */
  readonly refs: readonly string[];
  /** Path within the repository. */
  readonly path: string;
  /** Absolute path of the link and of the content. */
  readonly link: string;
  readonly blob: string;
  readonly bytes: number;
  /** Last read or write of the content, milliseconds, in the file system's precision. */
  readonly usedMs: number;
}

/** Folder of one repository. */
export function repoFolder(cacheDir: string, repo: string): string {
  return join(cacheDir, `models--${repo.replace("/", "--")}`);
}

/** Branch, tag or commit. */
export function revisionOf({ revision }: HubId): string {
  return revision ?? MAIN;
}

/** The commit of a revision at its last download; undefined without one. */
export function cachedCommit(cacheDir: string, id: HubId): string | undefined {
  const revision = revisionOf(id);
  const folder = repoFolder(cacheDir, id.repo);
  if (COMMIT.test(revision)) return revision;
  try {
    const commit = readFileSync(join(folder, "refs", revision), "utf8").trim();
    return COMMIT.test(commit) ? commit : undefined;
  } catch {
    return undefined; // never downloaded
  }
}

/** Commits of a repository that are in the cache, the last one first. */
export function cachedCommits(cacheDir: string, repo: string): readonly string[] {
  const folder = join(repoFolder(cacheDir, repo), "snapshots");
  if (!existsSync(folder)) return [];
  const madeMs = (commit: string): number => statSync(join(folder, commit)).mtimeMs;
  return readdirSync(folder)
    .filter((name) => COMMIT.test(name))
    .toSorted((a, b) => madeMs(b) - madeMs(a));
}

/** Complete files of a snapshot. */
export function snapshotFiles(cacheDir: string, repo: string, commit: string): readonly string[] {
  const folder = join(repoFolder(cacheDir, repo), "snapshots", commit);
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const isFile = (path: string): boolean =>
    statSync(join(folder, path), { throwIfNoEntry: false })?.isFile() ?? false;
  return paths.filter(isFile).map((path) => path.replaceAll(sep, "/"));
}

/** Absolute path of a file of a snapshot. */
export function snapshotPath(cacheDir: string, repo: string, commit: string, path: string): string {
  return join(repoFolder(cacheDir, repo), "snapshots", commit, path);
}

/** Absolute path of a content. */
export function blobPath(cacheDir: string, repo: string, etag: string): string {
  return join(repoFolder(cacheDir, repo), "blobs", etag);
}

/** Links a content as a file of a snapshot. */
export function linkFile(link: string, blob: string): void {
  mkdirSync(dirname(link), { recursive: true });
  const target = relative(dirname(link), blob);
  const aside = `${link}.${process.pid}`;
  rmSync(aside, { force: true });
  symlinkSync(target, aside);
  renameSync(aside, link);
}

/** Records the commit of a branch or tag. */
export function writeRef(cacheDir: string, id: HubId, commit: string): void {
  const revision = revisionOf(id);
  if (revision === commit) return;
  const file = join(repoFolder(cacheDir, id.repo), "refs", revision);
  mkdirSync(dirname(file), { recursive: true });
  writeWhole(file, commit);
}

/** All GGUF files in the cache, by repository, commit and path; with `isAll`, all files. */
export function listCache(cacheDir: string, isAll = false): readonly CachedFile[] {
  if (!existsSync(cacheDir)) return [];
  const folders = readdirSync(cacheDir).filter((name) => name.startsWith("models--"));
  return folders
    .sort()
    .flatMap((name) => listRepo(cacheDir, name.slice("models--".length).replace("--", "/"), isAll));
}

function listRepo(cacheDir: string, repo: string, isAll = false): readonly CachedFile[] {
  const folder = repoFolder(cacheDir, repo);
  const snapshots = join(folder, "snapshots");
  if (!existsSync(snapshots)) return [];
  const refs = readRefs(join(folder, "refs"));
  return readdirSync(snapshots).flatMap((commit) =>
    snapshotFiles(cacheDir, repo, commit)
      .filter((path) => isAll || /\.gguf$/i.test(path))
      .sort()
      .map((path) => {
        const link = snapshotPath(cacheDir, repo, commit, path);
        const { size, atimeMs, mtimeMs } = statSync(link);
        const own = refs.filter((ref) => ref.commit === commit).map(({ name }) => name);
        const usedMs = Math.max(atimeMs, mtimeMs);
        return { repo, commit, refs: own, path, link, blob: realpathSync(link), bytes: size, usedMs };
      }),
  );
}

function readRefs(folder: string): readonly { readonly name: string; readonly commit: string }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return { name: relative(folder, file), commit: readFileSync(file, "utf8").trim() };
    });
}

/** Files that are worth a line in the report of a deletion. */
const WEIGHTS = /\.(?:gguf|safetensors)$/i;

/** Result of a deletion. */
export interface Deleted {
  readonly files: readonly CachedFile[];
  /** Bytes of contents that no other snapshot uses. */
  readonly freedBytes: number;
}

/**
 * Deletes a whole repository or, if the name has them, one revision or the files of one model. Returns no files if nothing
 * matches. `check` may throw before.
 */
export function deleteCached(
  cacheDir: string,
  id: HubId,
  check: (files: readonly CachedFile[]) => void = () => undefined,
): Deleted {
  const isWhole = id.revision === undefined && id.file === undefined && id.quant === undefined;
  const all = listRepo(cacheDir, id.repo, isWhole);
  const files = all.filter((file) => (isWhole ? WEIGHTS.test(file.path) : isMeant(file, id, all)));
  check(files);
  if (!isWhole) return { files, freedBytes: deleteFiles(cacheDir, files) };
  rmSync(repoFolder(cacheDir, id.repo), { recursive: true, force: true });
  return { files, freedBytes: bytesOf(files) };
}

/** Deletes files and their contents, unless another snapshot uses them; returns the bytes of deleted contents. */
export function deleteFiles(cacheDir: string, files: readonly CachedFile[]): number {
  for (const { link } of files) rmSync(link, { force: true });
  const kept = new Set(listCache(cacheDir, true).map(({ blob }) => blob));
  const freed = files.filter(({ blob }) => !kept.has(blob));
  for (const { blob } of freed) rmSync(blob, { force: true });
  for (const repo of new Set(files.map((file) => file.repo))) removeEmptyRepo(cacheDir, repo);
  return bytesOf(freed);
}

/** Deletes the folder of a repository without contents. */
function removeEmptyRepo(cacheDir: string, repo: string): void {
  const folder = repoFolder(cacheDir, repo);
  const blobs = join(folder, "blobs");
  if (existsSync(blobs) && readdirSync(blobs).length > 0) return;
  const snapshots = join(folder, "snapshots");
  const commits = existsSync(snapshots) ? readdirSync(snapshots) : [];
  if (commits.every((commit) => snapshotFiles(cacheDir, repo, commit).length === 0))
    rmSync(folder, { recursive: true, force: true });
}

function isMeant(file: CachedFile, id: HubId, all: readonly CachedFile[]): boolean {
  const { revision } = id;
  if (revision !== undefined && file.commit !== revision && !file.refs.includes(revision)) return false;
  if (id.file === undefined && id.quant === undefined) return true;
  const paths = all.filter(({ commit }) => commit === file.commit).map(({ path }) => path);
  const chosen = chooseModelFiles(paths, id);
  return chosen.ok && chosen.parts.includes(file.path);
}

/** Total bytes of distinct contents; snapshots may share one. */
function bytesOf(files: readonly CachedFile[]): number {
  const sizes = new Map(files.map(({ blob, bytes }) => [blob, bytes]));
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}
