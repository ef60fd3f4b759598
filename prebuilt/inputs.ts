// What the committed libraries are made from, as one hash for each archive. manifest.json holds it, and `npm run check` fails
// where sources and libraries have parted:
//
//   bun prebuilt/inputs.ts

import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
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
  files: ["prebuilt/patches/*.patch", "prebuilt/source/package.json", "prebuilt/source/package-lock.json"],
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

/** Archives of a platform whose sources are not those that they were built from. */
export function partedArchives(platform: string): readonly string[] {
  const path = join(import.meta.dir, platform, "manifest.json");
  const manifest: Manifest = JSON.parse(readFileSync(path, "utf8"));
  return Object.keys(INPUTS).filter(
    (group) => manifest.archives[`${group}.zst`]?.inputs !== inputsHash(group),
  );
}

if (import.meta.main) {
  const parted = partedArchives("linux-x64");
  for (const group of parted)
    console.error(
      `prebuilt/linux-x64/${group}.zst was built from other sources: run prebuilt/build.sh ${group}`,
    );
  process.exitCode = parted.length === 0 ? 0 : 1;
}
