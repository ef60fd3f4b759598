// Folder of installed back ends: one library a back end and release, found by its name. Does not load them.

import { hash } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { privateFolder } from "../core/private-folder.ts";
import { reasonOf } from "../core/reason.ts";
import { StartError } from "../core/start-error.ts";
import { asideOf, removeTemporary } from "../core/temporary.ts";
import type { BackendLibrary } from "../engine/protocol.ts";
import { BACKENDS, type BackendKind, RELEASE, VENDOR_FOLDERS } from "./catalog.ts";
import { unpackBundled } from "./bundled.ts";
import { isLibraryOf, type LibraryOrigin } from "./own-build.ts";
import { uninstallWheel, wheelFolder } from "./wheels.ts";

function folderOf(cacheDir: string, kind: BackendKind): string {
  return join(cacheDir, "backends", `${kind.name}-${RELEASE}`);
}

/** The library as engines load it from `folder`. */
function libraryOf(cacheDir: string, kind: BackendKind, folder: string): BackendLibrary {
  const folders = [...VENDOR_FOLDERS, ...kind.wheels.map((wheel) => wheelFolder(cacheDir, wheel))];
  return {
    name: kind.name,
    path: join(folder, kind.file),
    needs: kind.needs.map(({ library, symbol, from }) => ({
      paths: [library, ...folders.map((vendor) => join(vendor, library)).filter((path) => existsSync(path))],
      symbol,
      from,
    })),
  };
}

/** The back ends installed for this release, with those inside the executable, which are unpacked first. */
export function installedBackends(cacheDir: string): readonly BackendLibrary[] {
  for (const kind of BACKENDS) unpackBundled(cacheDir, kind, folderOf(cacheDir, kind));
  return BACKENDS.map((kind) => libraryOf(cacheDir, kind, folderOf(cacheDir, kind))).filter(({ path }) =>
    existsSync(path),
  );
}

/** Makes the folder of back ends. Throws StartError with what to set where it cannot be had. */
export function openFolder(cacheDir: string): void {
  try {
    privateFolder(join(cacheDir, "backends"));
  } catch (error) {
    throw new StartError(
      `back ends cannot be kept in ${join(cacheDir, "backends")}: ${reasonOf(error)}. Set XDG_CACHE_HOME to a folder that this user can write to.`,
      { cause: error },
    );
  }
}

/** The content of a library that the operator has named. Throws StartError where it cannot be read, or is another one. */
export function readNamed(kind: BackendKind, file: string): Buffer {
  try {
    const content = readFileSync(file);
    checkContent(kind, content, { file, origin: "file" });
    return content;
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

/** Throws StartError for another release's library, or a damaged one: neither the catalog's, nor an own build for this release. */
function checkContent(
  kind: BackendKind,
  content: Buffer,
  { file, origin }: { readonly file: string; readonly origin: LibraryOrigin },
): void {
  if (isLibraryOf(kind, content, origin)) return;
  throw new StartError(
    `${file} is not ${kind.file} of ${kind.package} ${RELEASE} (SHA-256 ${hash("sha256", content)}, expected ${kind.sha256}), nor an own build for that release. Use the file of exactly that release.`,
  );
}

/** Copies a library into a folder of its own for a trial. Throws StartError where that fails, or the copy is not the catalog's. */
export async function stage(
  cacheDir: string,
  kind: BackendKind,
  file: string,
  origin: LibraryOrigin,
): Promise<BackendLibrary> {
  openFolder(cacheDir);
  const folder = asideOf(folderOf(cacheDir, kind));
  privateFolder(folder);
  const library = libraryOf(cacheDir, kind, folder);
  try {
    copyFileSync(file, library.path);
    checkContent(kind, await readFile(library.path), { file, origin });
    return library;
  } catch (error) {
    removeTemporary(dirname(folder));
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} cannot be copied: ${reasonOf(error)}`, { cause: error });
  }
}

/** Puts a staged library in the place of the installed one. Engines that have that one loaded keep it. */
export function publish(cacheDir: string, kind: BackendKind, staged: BackendLibrary): void {
  const folder = folderOf(cacheDir, kind);
  rmSync(folder, { recursive: true, force: true });
  renameSync(dirname(staged.path), folder);
}

/** Removes a staged library, published or not. */
export function discard({ path }: BackendLibrary): void {
  removeTemporary(dirname(dirname(path)));
}

/** Removes an installed back end; false when it is not installed. */
export function uninstall(cacheDir: string, kind: BackendKind): boolean {
  const folder = folderOf(cacheDir, kind);
  const isInstalled = existsSync(folder);
  rmSync(folder, { recursive: true, force: true });
  for (const wheel of kind.wheels) uninstallWheel(cacheDir, wheel);
  return isInstalled;
}
