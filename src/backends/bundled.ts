// Back ends inside this executable: a build with `--with NAME` (src/build.ts) has them. They are unpacked into the cache before they
// are first loaded.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert } from "../core/assert.ts";
import { privateFolder } from "../core/private-folder.ts";
import vulkan from "./bundle/vulkan.zst" with { type: "file" };
import type { BackendKind } from "./catalog.ts";
import { isLibraryOf } from "./own-build.ts";

/** Files by the name of their back end; empty ones in a build without it. */
const BUNDLE: Readonly<Record<string, string>> = { vulkan };

/** Whether the executable contains a back end. */
export function isBundled({ name }: BackendKind): boolean {
  const file = BUNDLE[name];
  return file !== undefined && Bun.file(file).size > 0;
}

/** Unpacks a bundled back end into its folder, unless it is there. */
export function unpackBundled(cacheDir: string, kind: BackendKind, folder: string): void {
  const file = BUNDLE[kind.name];
  if (file === undefined || !isBundled(kind) || existsSync(folder)) return;
  const library = Bun.zstdDecompressSync(readFileSync(file));
  assert(isLibraryOf(kind, library, "file"), "the build has checked the library that it contains");
  const aside = `${folder}.${randomBytes(6).toString("hex")}`;
  privateFolder(join(cacheDir, "backends"));
  privateFolder(aside);
  writeFileSync(join(aside, kind.file), library);
  try {
    renameSync(aside, folder);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // else another process was faster
  }
}
