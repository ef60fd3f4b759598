// Unpacks an upload into an empty folder and locates the skill in it. Never writes outside that folder: every path is
// validated, and every parent folder is created here.
// yauzl follows the central directory and holds one entry at a time; fflate and jszip unpack into memory, unzipper trusts local headers.

import { mkdir, open, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ServiceError } from "../core/error.ts";
import { syncFolder } from "../core/sync-folder.ts";
import { SKILL_BYTES_MAX, SKILL_FILE_BYTES_MAX } from "./limits.ts";
import type { SkillUpload } from "../core/skills.ts";
import { parseHead, type SkillHead } from "./frontmatter.ts";
import { invalidSkill, shown } from "./invalid.ts";
import { isPackerMetadata, PathSet, safePath } from "./paths.ts";
import { isZip, zipEntries } from "./zip.ts";

/** An unpacked skill. */
export interface Unpacked extends SkillHead {
  /** Folder of SKILL.md, relative to the upload's root; "" for the root. */
  readonly root: string;
  /** Paths relative to `root`, sorted. */
  readonly files: readonly string[];
}

/** Writes and checks an upload; everything is synced when this resolves. Throws `invalid_skill_upload`. */
export async function unpack(upload: SkillUpload, folder: string): Promise<Unpacked> {
  const paths = new PathSet();
  const written: string[] = [];
  let bytesLeft = SKILL_BYTES_MAX;
  for await (const { path, content, isProgram } of sources(upload)) {
    paths.add(path);
    written.push(path);
    bytesLeft -= await write(join(folder, path), content, { name: path, isProgram });
    if (bytesLeft < 0) throw invalidSkill(`a skill may have at most ${SKILL_BYTES_MAX} bytes, unpacked`);
  }
  const root = rootOf(written);
  const head = parseHead(await readFile(join(folder, root, "SKILL.md"), "utf8"));
  await syncFolders(folder, written);
  const inside = root === "" ? written : written.map((path) => path.slice(root.length + 1));
  return { ...head, root, files: inside.toSorted() };
}

interface Source {
  readonly path: string;
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly isProgram: boolean;
}

/** Files of a single archive, or the uploaded files. */
async function* sources({ files }: SkillUpload): AsyncGenerator<Source> {
  const [only, ...others] = files;
  if (only === undefined) throw invalidSkill("files is required: a zip archive, or the files of one folder");
  const first = only.pieces.find(({ length }) => length > 0) ?? new Uint8Array();
  if (others.length === 0 && (only.path.toLowerCase().endsWith(".zip") || isZip(first))) {
    yield* zipEntries(Buffer.concat(only.pieces));
    return;
  }
  for (const { path, pieces } of files) {
    if (!isPackerMetadata(path)) yield { path: safePath(path), content: pieces, isProgram: false };
  }
}

interface Target {
  /** Name in the upload. */
  readonly name: string;
  readonly isProgram: boolean;
}

/** Writes a new file and returns its size, bytes. */
async function write(path: string, content: Source["content"], { name, isProgram }: Target): Promise<number> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, "wx", isProgram ? 0o755 : 0o644);
  let bytes = 0;
  try {
    for await (const piece of content) {
      bytes += piece.byteLength;
      if (bytes > SKILL_FILE_BYTES_MAX) {
        throw invalidSkill(`${shown(name)} is larger than ${SKILL_FILE_BYTES_MAX} bytes`);
      }
      await file.writeFile(piece);
    }
    await file.sync();
  } catch (cause) {
    if (cause instanceof ServiceError || isDiskFault(cause)) throw cause;
    throw invalidSkill(`${shown(name)} could not be unpacked: the archive is damaged`, cause);
  } finally {
    await file.close();
  }
  return bytes;
}

/** Errors of the file system have `syscall`; those of the unpacker do not. */
function isDiskFault(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

function rootOf(paths: readonly string[]): string {
  if (paths.includes("SKILL.md")) return "";
  const tops = new Set(paths.map((path) => path.slice(0, Math.max(0, path.indexOf("/")))));
  const [top] = tops;
  if (tops.size === 1 && top !== undefined && top !== "" && paths.includes(`${top}/SKILL.md`)) return top;
  throw invalidSkill("SKILL.md must be at the top level, or in the only top-level folder");
}

async function syncFolders(folder: string, paths: readonly string[]): Promise<void> {
  const folders = new Set([folder]);
  for (const path of paths) {
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      folders.add(join(folder, path.slice(0, at)));
    }
  }
  for (const one of folders) await syncFolder(one);
}
