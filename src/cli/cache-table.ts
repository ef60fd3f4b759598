// The downloaded models as a table, and what deleting one did, as text for a terminal.

import type { CachedFile, Deleted } from "../hub/cache.ts";
import { megabytes } from "../hub/progress.ts";

/** One line a file under a line of titles; a sentence where there is none. */
export function cacheTable(files: readonly CachedFile[], cacheDir: string): string {
  if (files.length === 0) return `There are no GGUF models in ${cacheDir}.\n`;
  const rows = files.map(({ repo, refs, commit, path, bytes, usedMs }) => [
    repo,
    refs.length > 0 ? refs.join(",") : commit.slice(0, 8),
    path,
    megabytes(bytes),
    new Date(usedMs).toISOString().slice(0, 10),
  ]);
  const lines = [["REPOSITORY", "REVISION", "FILE", "SIZE", "LAST USED"], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const text = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  return `${text.map((line) => line.trimEnd()).join("\n")}\n`;
}

/** What was deleted. */
export function deletedText({ files, freedBytes }: Deleted): string {
  const lines = files.map(({ repo, path }) => `deleted ${repo} ${path}`);
  return `${[...lines, `${megabytes(freedBytes)} freed`].join("\n")}\n`;
}
