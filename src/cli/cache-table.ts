// Tables of downloaded models and of deletions, for a terminal.

import type { CachedFile, Deleted } from "../hub/cache.ts";
import { columns } from "./table.ts";
import { sizeText } from "../core/size-text.ts";

/** One line for each file; a sentence for an empty cache. */
export function cacheTable(files: readonly CachedFile[], cacheDir: string): string {
  if (files.length === 0) return `No GGUF models in ${cacheDir}. svc pull owner/name downloads one.\n`;
  const rows = files.map(({ repo, refs, commit, path, bytes, usedMs }) => [
    repo,
    refs.length > 0 ? refs.join(",") : commit.slice(0, 8),
    path,
    sizeText(bytes),
    new Date(usedMs).toISOString().slice(0, 10),
  ]);
  return columns([["REPOSITORY", "REVISION", "FILE", "SIZE", "LAST USED"], ...rows]);
}

/** Deleted files and the space they freed. */
export function deletedText({ files, freedBytes }: Deleted): string {
  const lines = files.map(({ repo, path }) => `deleted ${repo} ${path}`);
  return `${[...lines, `${sizeText(freedBytes)} freed`].join("\n")}\n`;
}
