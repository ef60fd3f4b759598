// What travels inside the executable. `bun build --compile` embeds each file imported here; run from source, the paths are
// those of the checkout. One platform a build: src/build.ts refuses others than those listed in prebuilt/.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import tinyPath from "../demo-model/tiny.gguf" with { type: "file" };
import grammarPath from "../prebuilt/linux-x64/grammar.zst" with { type: "file" };
import llamaPath from "../prebuilt/linux-x64/llama.zst" with { type: "file" };
import manifest from "../prebuilt/linux-x64/manifest.json" with { type: "json" };
import shimPath from "../prebuilt/linux-x64/shim.zst" with { type: "file" };
import speechPath from "../prebuilt/linux-x64/speech.zst" with { type: "file" };
import tiny from "../demo-model/manifest.json" with { type: "json" };
import { extractArchive, extractFile, manifestHash, type Manifest } from "./extract.ts";

const ARCHIVE_PATHS: Readonly<Record<string, string>> = {
  "llama.zst": llamaPath,
  "shim.zst": shimPath,
  "grammar.zst": grammarPath,
  "speech.zst": speechPath,
};

/** The manifest of the embedded libraries. */
export const NATIVE: Manifest = manifest;

/** Unpacked only when the first constraint comes, or the first text to speak: who wants none does not wait for it. */
const LATE = new Set(["grammar.zst", "speech.zst"]);

function unpack(cacheDir: string, wanted: (archive: string) => boolean): string {
  const dir = join(cacheDir, "native", manifestHash(NATIVE));
  for (const [name, archive] of Object.entries(NATIVE.archives)) {
    if (wanted(name)) extractArchive(archive, dir, () => readFileSync(ARCHIVE_PATHS[name] ?? name));
  }
  return dir;
}

/** Unpacks llama.cpp and the shim below `cacheDir` where needed; returns their folder. */
export function unpackLibraries(cacheDir: string): string {
  return unpack(cacheDir, (archive) => !LATE.has(archive));
}

/** The same for the grammar library. */
export function unpackGrammar(cacheDir: string): string {
  return unpack(cacheDir, (archive) => archive === "grammar.zst");
}

/** The same for the speech library. */
export function unpackSpeech(cacheDir: string): string {
  return unpack(cacheDir, (archive) => archive === "speech.zst");
}

/** Unpacks the built-in model below `cacheDir` where needed; returns its path. The library maps it from there. */
export function unpackBuiltinModel(cacheDir: string): string {
  return extractFile({ name: tiny.file, sha256: tiny.sha256 }, join(cacheDir, "builtin"), () =>
    readFileSync(tinyPath),
  );
}
