// Packs built libraries for committing: the files of a group are laid end to end and compressed as one zstd stream, so
// that the CPU variants, which are nearly alike, share what they have in common (5 MB instead of 10).
//
//   bun prebuilt/pack.ts all|llama|shim|grammar|speech|image BUILT_DIR PLATFORM_DIR
//
// The last part of PLATFORM_DIR is the platform's name. manifest.json says where each file lies; ffi/extract.ts reads it. Archives
// of other groups are kept; if the folder has none or only stale ones, the platform's committed ones are copied.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Archive, Manifest } from "../ffi/extract.ts";
import { abiHash } from "../ffi/generate.ts";
import { committedDir, GROUPS, inputsHash, readManifest } from "./inputs.ts";

const SHIM = "svc_llama";
const GRAMMAR = "svc_grammar";
const IMAGE = "svc_image";
const SPEECH = "svc_speech";
const OURS = new Set([SHIM, GRAMMAR, IMAGE, SPEECH]);
const LLAMA_FLAGS = "Release, OpenMP, GGML_BACKEND_DL, GGML_CPU_ALL_VARIANTS, RPC, mtmd; no curl, no OpenSSL";

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Origin {
  readonly builtDir: string;
  readonly group: string;
  readonly upstream: string;
}

function pack({ builtDir, group, upstream }: Origin, names: readonly string[], target: string): Archive {
  let offset = 0;
  const files = names.map((name) => {
    const bytes = readFileSync(join(builtDir, name));
    const entry = { name, offset, bytes: bytes.byteLength, sha256: sha256(bytes) };
    offset += bytes.byteLength;
    return { entry, bytes };
  });
  const compressed = Bun.zstdCompressSync(Buffer.concat(files.map((file) => file.bytes)), { level: 19 });
  writeFileSync(target, compressed);
  const inputs = inputsHash(group);
  return {
    upstream,
    inputs,
    toolchain: toolchain(group),
    bytes: offset,
    files: files.map((file) => file.entry),
  };
}

/** The compilers at hand. Others may make other bytes of the same sources. */
function toolchain(group: string): string {
  const tools = group === "grammar" ? ["rustc", "gcc", "ld"] : ["g++", "ld"];
  return tools.map((tool) => Bun.spawnSync([tool, "--version"]).stdout.toString().split("\n")[0]).join("; ");
}

function abiOf(header: string): string {
  return abiHash(readFileSync(join(import.meta.dir, "../ffi", header), "utf8"));
}

function llamaRelease(): string {
  const lock = JSON.parse(readFileSync(join(import.meta.dir, "source/package-lock.json"), "utf8"));
  const version = lock.packages["node_modules/node-llama-cpp"].version;
  return `llama.cpp as bundled in node-llama-cpp ${version}, with prebuilt/patches`;
}

function llguidanceRelease(): string {
  const lock = readFileSync(join(import.meta.dir, "../ffi/constraint/Cargo.lock"), "utf8");
  return `ffi/constraint over llguidance ${/name = "llguidance"\nversion = "([^"]+)"/.exec(lock)?.[1] ?? "?"}`;
}

function diffusionRelease(): string {
  const lock = readFileSync(join(import.meta.dir, "source/image/Cargo.lock"), "utf8");
  const version = /name = "diffusion-rs-sys"\nversion = "([^"]+)"/.exec(lock)?.[1] ?? "?";
  return `ffi/image over stable-diffusion.cpp as carried by the crate diffusion-rs-sys ${version}, with prebuilt/patches/image`;
}

function fliteRelease(): string {
  const script = readFileSync(join(import.meta.dir, "build.sh"), "utf8");
  return `ffi/speech over Debian's flite1-dev ${/^FLITE_VERSION=(.+)$/m.exec(script)?.[1] ?? "?"}: voices slt, kal16`;
}

/** An archive that need not be packed again: the folder's own if it is current, else the committed one. */
function existing(group: string, platformDir: string): Archive | undefined {
  const name = `${group}.zst`;
  const own = readManifest(platformDir)?.archives[name];
  if (own?.inputs === inputsHash(group)) return own;
  const dir = committedDir(basename(platformDir));
  const committed = readManifest(dir)?.archives[name];
  if (committed !== undefined && platformDir !== dir) copyFileSync(join(dir, name), join(platformDir, name));
  return committed ?? own;
}

/** Name of a library of svc itself, without what a platform adds to it. */
function plainName(file: string): string {
  return file.replace(/^(lib)?(.*)\.\w+$/, "$2");
}

/** Names of the libraries in a folder, without what linkers write beside them. */
function librariesIn(dir: string): readonly string[] {
  return readdirSync(dir)
    .filter((file) => /\.(so|dll|dylib)/.test(file))
    .sort();
}

function main(): void {
  const [what, builtDir, platformDir] = process.argv.slice(2);
  if (what === undefined || builtDir === undefined || platformDir === undefined) {
    throw new Error("usage: bun prebuilt/pack.ts all|llama|shim|grammar|speech|image BUILT_DIR PLATFORM_DIR");
  }
  mkdirSync(platformDir, { recursive: true });
  /** The archive: packed if requested or missing everywhere, else kept. */
  const archive = (group: string, names: () => readonly string[], upstream: string): Archive => {
    const kept = what === "all" || group === what ? undefined : existing(group, platformDir);
    return kept ?? pack({ builtDir, group, upstream }, names(), join(platformDir, `${group}.zst`));
  };
  const upstream = (): readonly string[] =>
    librariesIn(builtDir).filter((file) => !OURS.has(plainName(file)));
  const own = (name: string) => (): readonly string[] =>
    librariesIn(builtDir).filter((file) => plainName(file) === name);
  const groups: Readonly<Record<string, () => Archive>> = {
    llama: () => archive("llama", upstream, llamaRelease()),
    shim: () => archive("shim", own(SHIM), "ffi/shim"),
    grammar: () => archive("grammar", own(GRAMMAR), llguidanceRelease()),
    image: () => archive("image", own(IMAGE), diffusionRelease()),
    speech: () => archive("speech", own(SPEECH), fliteRelease()),
  };
  const manifest: Manifest = {
    abi: abiOf("shim/svc_llama.h"),
    grammarAbi: abiOf("constraint/svc_grammar.h"),
    imageAbi: abiOf("image/svc_image.h"),
    speechAbi: abiOf("speech/svc_speech.h"),
    flags: LLAMA_FLAGS,
    archives: Object.fromEntries(
      GROUPS.flatMap((group) => {
        const made = groups[group]?.();
        return made === undefined ? [] : [[`${group}.zst`, made]];
      }),
    ),
  };
  writeFileSync(join(platformDir, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const [name, { files, bytes }] of Object.entries(manifest.archives)) {
    console.log(`${name}: ${files.length} files, ${bytes} bytes unpacked`);
  }
}

main();
