// Files that a call produced. The server reads them, so hostile names, links and pipes are rejected: names that leave the folder,
// links to other files, pipes without an end.

import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { PRODUCED_BYTES_MAX, PRODUCED_FILE_BYTES_MAX, PRODUCED_FILES_MAX } from "./limits.ts";
import { defined } from "../core/defined.ts";
import { isMissing } from "../core/reason.ts";
import { WORKDIR_ENTRIES_MAX } from "../sandbox/limits.ts";
import { walkTree } from "../sandbox/walk.ts";
import { contentOf, formatOf } from "./formats.ts";
import type { FileFault, OutputFile, ProducedFile } from "./types.ts";

/** Files of a folder with the state that reveals changes, by name. */
export type Snapshot = ReadonlyMap<string, string>;

/** Folders of tools and the system, which are not reported; neither are names with a leading dot. */
const SKIPPED = new Set([
  "skills",
  "__pycache__",
  "node_modules",
  "target",
  "tmp",
  "temp",
  "cache",
  "venv",
  "env",
]);

/** Build products, which are not reported. */
const SKIPPED_FORMATS = new Set(["pyc", "pyo", "o", "so", "dylib", "dll", "rlib", "rmeta", "d", "class"]);

/** Entries that make a folder one of a version control system, or an environment that a package manager fills. */
const MARKERS = new Set([".git", ".hg", ".svn", "pyvenv.cfg", "conda-meta", "node_modules"]);
const FOREIGN_DEPTH_MAX = 8;

interface Listing {
  readonly files: Snapshot;
  /** Folders with an entry of MARKERS. */
  readonly marked: ReadonlySet<string>;
}

/** Snapshot of the folder, as far as it is within the bounds of a walk. An aborted signal ends the walk. */
export async function snapshot(folder: string, signal?: AbortSignal): Promise<Snapshot> {
  return (await list(folder, signal)).files;
}

async function list(folder: string, signal: AbortSignal | undefined): Promise<Listing> {
  const files = new Map<string, string>();
  const marked = new Set<string>();
  await walkTree(folder, {
    ...defined({ signal }),
    entriesMax: WORKDIR_ENTRIES_MAX,
    isWanted: (name, parent) => {
      const text = name.toString();
      if (MARKERS.has(text)) marked.add(parent.toString());
      return !text.startsWith(".") && !SKIPPED.has(text) && isUtf8(name);
    },
    visit: (path, state) => {
      const name = path.toString();
      if (state.isFile() && !SKIPPED_FORMATS.has(formatOf(name, undefined)))
        files.set(name, `${state.size} ${state.mtimeMs} ${state.ino}`);
      return true;
    },
  });
  return { files, marked };
}

/** The outermost marked folder that a file lies in; the working directory itself is none. */
function foreignFolder(name: string, marked: ReadonlySet<string>): string | undefined {
  let at = name.indexOf("/");
  for (let depth = 0; at > 0 && depth < FOREIGN_DEPTH_MAX; depth++) {
    if (marked.has(name.slice(0, at))) return name.slice(0, at);
    at = name.indexOf("/", at + 1);
  }
  return undefined;
}

/** Files of a call, and what it left behind beside them. */
export interface Production {
  readonly files: readonly ProducedFile[];
  /** New and changed files above the limit. */
  readonly filesLeftOut: number;
  /** New folders of other programs (repositories, environments), whose files are not reported. */
  readonly folders: readonly string[];
}

/**
 * The requested files in order, each with its content or its fault; then those that are new or changed since `before`, by name. Of
 * too many the newest of the working directory itself are reported, then the newest of its folders.
 */
export async function produced(
  folder: string,
  before: Snapshot,
  outputs: readonly OutputFile[],
  signal?: AbortSignal,
): Promise<Production> {
  const { files: now, marked } = await list(folder, signal);
  const asked = new Set(outputs.map(({ name }) => normalize(name)));
  const folders = new Set<string>();
  const own: Changed[] = [];
  for (const [name, state] of now) {
    if (before.get(name) === state || asked.has(name)) continue;
    const foreign = foreignFolder(name, marked);
    if (foreign === undefined) own.push(changedFile(name, state));
    else folders.add(foreign);
  }
  for (const name of before.keys()) folders.delete(foreignFolder(name, folders) ?? "");
  const kept = own.sort(byWorth).slice(0, Math.max(0, PRODUCED_FILES_MAX - outputs.length));
  const names = kept.map(({ name }) => ({ name })).sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    files: await readAll(folder, [...outputs, ...names]),
    filesLeftOut: own.length - kept.length,
    folders: [...folders].sort(),
  };
}

interface Changed {
  readonly name: string;
  readonly depth: number;
  readonly mtimeMs: number;
}

function changedFile(name: string, state: string): Changed {
  return { name, depth: name.split("/").length, mtimeMs: Number(state.split(" ")[1]) };
}

/** Files of the working directory itself first, and the newest first. */
function byWorth(a: Changed, b: Changed): number {
  return Math.min(a.depth, 2) - Math.min(b.depth, 2) || b.mtimeMs - a.mtimeMs || (a.name < b.name ? -1 : 1);
}

/** The requested files, each with its content or its fault. */
export async function readAll(
  folder: string,
  outputs: readonly OutputFile[],
): Promise<readonly ProducedFile[]> {
  const files: ProducedFile[] = [];
  let left = PRODUCED_BYTES_MAX;
  for (const [index, output] of outputs.entries()) {
    const isTooMany = index >= PRODUCED_FILES_MAX;
    const file = isTooMany
      ? fault(output, "too_large", `one call reports at most ${PRODUCED_FILES_MAX} files`)
      : await readOne(folder, output, Math.min(left, PRODUCED_FILE_BYTES_MAX));
    if ("content" in file) left -= file.content.byteLength;
    files.push(file);
  }
  return files;
}

/** `./a//b` is `a/b`. */
function normalize(name: string): string {
  return name
    .split("/")
    .filter((step) => step !== "" && step !== ".")
    .join("/");
}

async function readOne(folder: string, output: OutputFile, bytesMax: number): Promise<ProducedFile> {
  const name = normalize(output.name);
  const isInside =
    !output.name.startsWith("/") && !output.name.includes("\0") && !name.split("/").includes("..");
  if (name === "" || !isInside) {
    return fault(output, "invalid_path", "the name must be a path inside the working directory, without ..");
  }
  try {
    const root = await realpath(folder);
    const path = await realpath(join(root, name));
    if (!path.startsWith(`${root}/`))
      return fault(output, "invalid_path", "it lies outside the working directory");
    return await readRegular({ root, path, output: { ...output, name }, bytesMax });
  } catch (error) {
    if (isMissing(error)) return fault(output, "not_produced", "it was not created");
    return fault(output, "read_failed", "it cannot be read");
  }
}

interface Reading {
  readonly root: string;
  readonly path: string;
  readonly output: OutputFile;
  readonly bytesMax: number;
}

async function readRegular({ root, path, output, bytesMax }: Reading): Promise<ProducedFile> {
  // Must not block on a pipe, nor follow a link that replaced the file.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => path);
    if (!opened.startsWith(`${root}/`))
      return fault(output, "invalid_path", "it lies outside the working directory");
    const state = await file.stat();
    if (!state.isFile()) return fault(output, "read_failed", "it is not a file");
    if (state.size > bytesMax) {
      return fault(output, "too_large", `it has ${state.size} bytes; at most ${bytesMax} are accepted`);
    }
    const buffer = Buffer.alloc(state.size);
    const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, 0);
    const content = buffer.subarray(0, bytesRead);
    const format = formatOf(output.name, output.format);
    return { name: output.name, format, content, ...contentOf(format, content) };
  } finally {
    await file.close();
  }
}

function fault({ name, format }: OutputFile, code: FileFault, message: string): ProducedFile {
  return { name, format: formatOf(name, format), error: { code, message: `${name}: ${message}` } };
}
