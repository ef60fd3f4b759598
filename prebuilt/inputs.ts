// Hashes of the inputs of each archive of native libraries. manifest.json stores them, and so names the sources that the committed
// archives belong to, those of the last release. `npm run check` fails where an archive is stale and a compiler is at hand, unless a
// current local build exists:
//
//   bun prebuilt/inputs.ts [--committed]
//
// --committed ignores local builds, also fails without a compiler, and for other platforms than this machine's.
// Comments count, too: telling them apart would take parsers of C++ and Rust.

import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Manifest } from "../ffi/extract.ts";

const ROOT = join(import.meta.dir, "..");

interface Inputs {
  /** Patterns of files, relative to the repository. */
  readonly files: readonly string[];
  /** Functions and variables of build.sh. */
  readonly script: readonly string[];
}

const LLAMA: Inputs = {
  files: [
    "ffi/hooks/*",
    "ffi/kernels/*",
    "prebuilt/patches/*.patch",
    "prebuilt/source/package.json",
    "prebuilt/source/package-lock.json",
  ],
  script: ["system_of", "shared_name", "strip_libraries", "get_source", "build_llama", "collect_llama"],
};

const INPUTS: Readonly<Record<string, Inputs>> = {
  llama: LLAMA,
  shim: {
    files: ["ffi/shim/*", ...LLAMA.files],
    script: ["system_of", "strip_libraries", "get_source", "abi_hash", "build_shim"],
  },
  grammar: {
    files: ["ffi/constraint/src/**/*.rs", "ffi/constraint/Cargo.*", "ffi/constraint/*.h"],
    script: ["abi_hash", "link_interface", "build_grammar"],
  },
  image: {
    files: [
      "ffi/image/*.{cpp,h}",
      "ffi/shim/guard.h",
      "prebuilt/patches/image/*.patch",
      "prebuilt/source/image/*",
      // llama.cpp's ggml, whose headers it is compiled with; patches leave them as they are
      "prebuilt/source/package.json",
      "prebuilt/source/package-lock.json",
    ],
    script: ["system_of", "strip_libraries", "get_source", "abi_hash", "link_interface", "build_image"],
  },
  speech: {
    files: ["ffi/speech/*.{c,h}"],
    script: ["abi_hash", "link_interface", "get_flite", "build_speech", "FLITE_VERSION", "FLITE_SHA256_x64"],
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

const SYSTEMS: Readonly<Record<string, string>> = { darwin: "macos", win32: "windows" };

/** Name of this machine's platform in prebuilt/ and in releases. */
export const PLATFORM = `${SYSTEMS[process.platform] ?? process.platform}-${process.arch}`;

/** Names of the archives of a platform. */
export const GROUPS: readonly string[] = Object.keys(INPUTS);

/** Platforms with committed archives. */
export function committedPlatforms(): readonly string[] {
  return globSync("*/manifest.json", { cwd: import.meta.dir })
    .map(dirname)
    .toSorted();
}

/** The folder of a platform's committed archives. */
export function committedDir(platform: string): string {
  return join(import.meta.dir, platform);
}

/** Reads the manifest of a folder of archives; undefined if the folder lacks one. */
export function readManifest(dir: string): Manifest | undefined {
  const path = join(dir, "manifest.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Archives of a folder that were built from other sources than the present ones. */
function staleArchives(dir: string): readonly string[] {
  const manifest = readManifest(dir);
  return GROUPS.filter((group) => manifest?.archives[`${group}.zst`]?.inputs !== inputsHash(group));
}

/** A platform's local build, which git ignores, if every archive in it is current. */
function localDir(platform: string): string | undefined {
  const dir = join(import.meta.dir, ".local", platform);
  return existsSync(dir) && staleArchives(dir).length === 0 ? dir : undefined;
}

/** The archives to use for a platform: a current local build, else the committed ones; undefined if there are none. */
export function librariesDir(platform: string): string | undefined {
  const committed = committedDir(platform);
  return localDir(platform) ?? (existsSync(join(committed, "manifest.json")) ? committed : undefined);
}

/** Reports stale archives of a platform; false if they are a fault. Only --committed minds those of other platforms. */
function checkPlatform(platform: string, onlyCommitted: boolean): boolean {
  const stale = staleArchives(committedDir(platform));
  const isElsewhere = platform !== PLATFORM || localDir(platform) !== undefined;
  const isAccepted = !onlyCommitted && (isElsewhere || !hasCompiler());
  const script = platform === PLATFORM ? "build.sh" : `cross.sh ${platform}`;
  const fix = isAccepted ? "before it lands" : "now";
  for (const group of stale)
    console.error(`prebuilt/${platform}/${group}.zst is stale: run prebuilt/${script} ${group} ${fix}`);
  if (stale.length > 0 && isAccepted && !isElsewhere)
    console.error(
      "NOTE: no compiler (g++, cmake): the archives of the last release are used, and tests of newer native code fail",
    );
  return stale.length === 0 || isAccepted;
}

/** Whether this machine could build the archives. */
function hasCompiler(): boolean {
  return Bun.which("g++") !== null && Bun.which("cmake") !== null;
}

if (import.meta.main) {
  const onlyCommitted = process.argv.includes("--committed");
  const outcomes = committedPlatforms().map((platform) => checkPlatform(platform, onlyCommitted));
  process.exitCode = outcomes.every(Boolean) ? 0 : 1;
}
