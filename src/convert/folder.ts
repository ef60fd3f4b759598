// Links in a folder with a model: a repository from a third party can hold some that lead anywhere, and the converter reads what they lead
// to. They must stay within the folder, or lead to the contents of its own repository in the hub's cache, as that lays them out.

import { readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { ENTRIES_MAX } from "./limits.ts";

/** A snapshot in the hub's cache (src/hub/cache.ts); its contents are beside it. */
const SNAPSHOT = /^(?<repository>.+[\\/]models--[^\\/]+)[\\/]snapshots[\\/][0-9a-f]{40}$/;

/** The real folder, and the files outside of it that its links lead to. Throws a sentence that names a link that leads elsewhere. */
export function readableFiles(source: string): readonly string[] {
  const folder = realpathSync(source);
  const repository = SNAPSHOT.exec(folder)?.groups?.["repository"];
  const contents = repository === undefined ? undefined : join(repository, "blobs");
  const outside = new Set<string>();
  for (const link of linksIn(folder)) {
    const target = targetOf(link);
    const name = relative(folder, link);
    if (target === undefined)
      throw new Error(`${name} is a link to a file that does not exist. Copy the whole folder.`);
    if (target === folder || target.startsWith(folder + sep)) continue;
    if (dirname(target) !== contents || !statSync(target).isFile())
      throw new Error(
        `${name} is a link that leads out of the folder. Put the file itself in its place; what it leads to would become readable to the model's code and part of the converted file.`,
      );
    outside.add(target);
  }
  return [...new Set([source, folder, ...outside])];
}

/** All links, also in folders within. */
function linksIn(folder: string): readonly string[] {
  const links: string[] = [];
  const folders = [folder];
  let entries = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of readdirSync(next, { withFileTypes: true })) {
      if (++entries > ENTRIES_MAX)
        throw new Error(
          `the folder holds more than ${ENTRIES_MAX} files. Copy the model's files into a folder of their own.`,
        );
      const path = join(next, entry.name);
      if (entry.isSymbolicLink()) links.push(path);
      else if (entry.isDirectory() && entry.name !== ".git") folders.push(path);
    }
  }
  return links;
}

function targetOf(link: string): string | undefined {
  try {
    return realpathSync(link);
  } catch {
    return undefined; // it leads nowhere, or in circles
  }
}
