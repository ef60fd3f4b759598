// Walks a folder tree that code of a model wrote: bounded in entries, depth and time, without following links. Every walk of
// such a tree in the server is this one.

import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { codeOf } from "../core/reason.ts";
import { WALK_CHUNK, WALK_MS_MAX, WORKDIR_DEPTH_MAX } from "./limits.ts";

const SLASH = Buffer.from("/");

export interface WalkOptions {
  /** Entries after which it stops. */
  readonly entriesMax: number;
  /** Default: limits.ts, WALK_MS_MAX. */
  readonly msMax?: number;
  /** Whether to look at an entry, and into it if it is a folder, by its name and its parent's path. Default: all. */
  readonly isWanted?: (name: Buffer, parent: Buffer) => boolean;
  /** Ends the walk. */
  readonly signal?: AbortSignal;
  /** Called for each wanted entry with its path below the root. False stops the walk. */
  readonly visit: (path: Buffer, state: Stats) => boolean;
}

/** `stopped`: by `visit` or the signal. The others name the bound that the tree exceeds; entries beyond it were not visited. */
export type WalkEnd = "whole" | "entries" | "depth" | "time" | "stopped";

/** A folder below the root; names are bytes, because not all are UTF-8. */
interface Folder {
  readonly path: Buffer;
  readonly depth: number;
}

/** Visits the entries of `root`. A tree that exceeds the depth is visited to that depth. */
export async function walkTree(root: string, options: WalkOptions): Promise<WalkEnd> {
  const { entriesMax, msMax = WALK_MS_MAX, isWanted = () => true, visit, signal } = options;
  const deadline = performance.now() + msMax;
  const folders: Folder[] = [{ path: Buffer.alloc(0), depth: 0 }];
  let entries = 0;
  let isTooDeep = false;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const { path: parent, depth } = next;
    const listed = await list(root, parent);
    if (listed === "too_deep") isTooDeep = true;
    const names = listed === "too_deep" ? [] : listed.filter((name) => isWanted(name, parent));
    entries += names.length;
    if (entries > entriesMax) return "entries";
    for (let at = 0; at < names.length; at += WALK_CHUNK) {
      const paths = names.slice(at, at + WALK_CHUNK).map((name) => below(parent, name));
      const states = await Promise.all(paths.map((path) => stateOf(root, path)));
      for (const [index, path] of paths.entries()) {
        const state = states[index];
        if (state === undefined) continue;
        if (!visit(path, state)) return "stopped";
        if (!state.isDirectory()) continue;
        if (depth + 1 < WORKDIR_DEPTH_MAX) folders.push({ path, depth: depth + 1 });
        else isTooDeep = true;
      }
      if (performance.now() > deadline) return "time";
    }
    if (signal?.aborted === true) return "stopped";
  }
  return isTooDeep ? "depth" : "whole";
}

function below(parent: Buffer, name: Buffer): Buffer {
  return parent.byteLength === 0 ? name : Buffer.concat([parent, SLASH, name]);
}

function placeOf(root: string, path: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), path]);
}

/** Names in a folder; none where it was deleted meanwhile. `too_deep`: its path is longer than the kernel permits. */
async function list(root: string, path: Buffer): Promise<readonly Buffer[] | "too_deep"> {
  try {
    return await readdir(placeOf(root, path), { encoding: "buffer" });
  } catch (error) {
    return codeOf(error) === "ENAMETOOLONG" ? "too_deep" : [];
  }
}

async function stateOf(root: string, path: Buffer): Promise<Stats | undefined> {
  return lstat(placeOf(root, path)).catch(() => undefined);
}
