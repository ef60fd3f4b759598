// Hashes of the inputs of each archive of native libraries. manifest.json stores them; `npm run check` fails where an archive
// is stale, unless a current local build exists:
//
//   bun prebuilt/inputs.ts [--committed]
//
// --committed ignores local builds.

import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "../ffi/extract.ts";

const ROOT = join(import.meta.dir, "..");

interface Inputs {
  /** Patterns of files, relative to the repository. */
  readonly files: readonly string[];
  /** Functions and variables of build.sh. */
  readonly script: readonly string[];
}

const LLAMA: Inputs = {
  files: ["ffi/kernels/*", "prebuilt/patches/*.patch", "prebuilt/source/package.json", "prebuilt/source/package-lock.json"],
  script: ["get_source", "build_llama", "collect_llama"],
};

const INPUTS: Readonly<Record<string, Inputs>> = {
  llama: LLAMA,
  shim: { files: ["ffi/shim/*", ...LLAMA.files], script: ["get_source", "abi_hash", "build_shim"] },
  grammar: {
    files: ["ffi/constraint/src/**/*.rs", "ffi/constraint/Cargo.*", "ffi/constraint/*.h"],
    script: ["abi_hash", "build_grammar"],
  },
  image: {
    files: [
      "ffi/image/*",
      "prebuilt/patches/amx-tile-config.patch",
      "prebuilt/patches/image/*.patch",
      "prebuilt/source/image/Cargo.*",
    ],
    script: ["abi_hash", "build_image", "build_image_shim"],
  },
  speech: {
    files: ["ffi/speech/*"],
    script: ["abi_hash", "build_speech", "FLITE_VERSION", "FLITE_SHA256_x64"],
  },
};

/** The hash of all that an archive is made from: names and bytes of its files, and the part of build.sh that builds it. */
export function inputsHash(group: string): string {
  const inputs = INPUTS[group];
  if (inputs === undefined) throw new Error(`no archive is called ${group}`);
  const digest = createHash("sha256");
  for (const file of inputs.files.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).toSorted())
    digest
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update("\0");
  const script = readFileSync(join(ROOT, "prebuilt/build.sh"), "utf8");
  for (const name of inputs.script) digest.update(`${name}\0${partOf(script, name)}\0`);
  return digest.digest("hex");
}

/** A function of the script, or a variable. */
function partOf(script: string, name: string): string {
  const found = new RegExp(`^${name}(?:\\(\\) \\{\\n[^]*?^\\}|=.*)$`, "m").exec(script);
  if (found === null) throw new Error(`prebuilt/build.sh has no ${name}`);
  return found[0];
}

/** The folder of a local build: ignored by git, used instead of the committed archives while it is current. */
const LOCAL_DIR = join(import.meta.dir, ".local/linux-x64");

const COMMITTED_DIR = join(import.meta.dir, "linux-x64");

/** Reads the manifest of a folder of archives; undefined if the folder lacks one. */
export function readManifest(dir: string): Manifest | undefined {
  const path = join(dir, "manifest.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Archives of a folder that were built from other sources than the present ones. */
export function staleArchives(dir: string): readonly string[] {
  const manifest = readManifest(dir);
  return Object.keys(INPUTS).filter(
    (group) => manifest?.archives[`${group}.zst`]?.inputs !== inputsHash(group),
  );
}

/** The folder of the local build if every archive in it is current. */
export function localDir(): string | undefined {
  return existsSync(LOCAL_DIR) && staleArchives(LOCAL_DIR).length === 0 ? LOCAL_DIR : undefined;
}

if (import.meta.main) {
  const stale = staleArchives(COMMITTED_DIR);
  const accepted = stale.length > 0 && !process.argv.includes("--committed") && localDir() !== undefined;
  for (const group of stale)
    console.error(
      accepted
        ? `prebuilt/linux-x64/${group}.zst is stale; this checkout uses the local build`
        : `prebuilt/linux-x64/${group}.zst was built from other sources: run prebuilt/build.sh ${group}`,
    );
  process.exitCode = stale.length === 0 || accepted ? 0 : 1;
}
