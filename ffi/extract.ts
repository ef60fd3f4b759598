// Unpacks the embedded libraries to a private cache folder, once per content, and verifies them at every start. A library
// must be a real file with its own name: the loader resolves the others by SONAME, and ggml scans the folder for CPU
// variants.

import { hash, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { privateFolder } from "../src/core/private-folder.ts";

export interface ArchiveFile {
  readonly name: string;
  /** Start within the unpacked stream, bytes. */
  readonly offset: number;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Archive {
  /** Origin of the content. */
  readonly upstream: string;
  /** Hash of its build inputs, see prebuilt/inputs.ts. */
  readonly inputs?: string;
  /** The compilers that built it. */
  readonly toolchain?: string;
  /** Size unpacked. */
  readonly bytes: number;
  readonly files: readonly ArchiveFile[];
}

/** prebuilt/<platform>/manifest.json */
export interface Manifest {
  /** ABI hash of the shim's header. */
  readonly abi: string;
  /** ABI hash of the grammar library's header. */
  readonly grammarAbi: string;
  /** ABI hash of the image library's header. */
  readonly imageAbi: string;
  /** ABI hash of the speech library's header. */
  readonly speechAbi: string;
  readonly flags: string;
  readonly archives: Readonly<Record<string, Archive>>;
}

function writeDurably(path: string, bytes: Uint8Array): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    let done = 0;
    while (done < bytes.byteLength) done += writeSync(fd, bytes, done);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** A file as its name and content hash. */
type NamedContent = Pick<ArchiveFile, "name" | "sha256">;

function isIntact(dir: string, file: NamedContent): boolean {
  try {
    const path = join(dir, file.name);
    return lstatSync(path).isFile() && hash("sha256", readFileSync(path)) === file.sha256;
  } catch {
    return false; // missing or unreadable: unpacked again below
  }
}

/**
 * Writes a file atomically: to a temporary name, synced, then renamed. A crash or a concurrent start never leaves an
 * incomplete file under the final name.
 */
function publish(dir: string, file: NamedContent, bytes: Uint8Array): void {
  if (hash("sha256", bytes) !== file.sha256)
    throw new Error(`the embedded ${file.name} is damaged. Reinstall svc.`);
  const aside = join(dir, `.${file.name}.${randomBytes(6).toString("hex")}`);
  try {
    writeDurably(aside, bytes);
    renameSync(aside, join(dir, file.name));
  } finally {
    rmSync(aside, { force: true });
  }
}

/**
 * Makes sure that every file of the archive is intact in `dir`. `read` returns the compressed archive; it is called only if
 * files must be unpacked. Throws when the folder is not private or the archive is damaged.
 */
export function extractArchive(archive: Archive, dir: string, read: () => Uint8Array): void {
  privateFolder(dir);
  const missing = archive.files.filter((file) => !isIntact(dir, file));
  if (missing.length === 0) return;
  const content = Bun.zstdDecompressSync(read());
  for (const file of missing) publish(dir, file, content.subarray(file.offset, file.offset + file.bytes));
}

/** The same for a single uncompressed file; returns its path. */
export function extractFile(file: NamedContent, dir: string, read: () => Uint8Array): string {
  privateFolder(dir);
  if (!isIntact(dir, file)) publish(dir, file, read());
  return join(dir, file.name);
}

/** A name for the content of a manifest: two versions of svc never share a folder. */
export function manifestHash(manifest: Manifest): string {
  const sums = Object.values(manifest.archives).flatMap((archive) =>
    archive.files.map((file) => file.sha256),
  );
  return hash("sha256", Buffer.from(sums.join("\n"))).slice(0, 16);
}
