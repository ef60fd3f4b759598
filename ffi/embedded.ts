// Files embedded in the executable. `bun build --compile` embeds each file imported here; src/build.ts substitutes the archives of
// the target platform, or a current local build of them. Run from source, they are those of this machine's platform.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import tinyPath from "../demo-model/tiny.gguf" with { type: "file" };
import imagePath from "../prebuilt/linux-x64/image.zst" with { type: "file" };
import grammarPath from "../prebuilt/linux-x64/grammar.zst" with { type: "file" };
import llamaPath from "../prebuilt/linux-x64/llama.zst" with { type: "file" };
import manifest from "../prebuilt/linux-x64/manifest.json" with { type: "json" };
import shimPath from "../prebuilt/linux-x64/shim.zst" with { type: "file" };
import speechPath from "../prebuilt/linux-x64/speech.zst" with { type: "file" };
import onnxPath from "onnxruntime-web/ort-wasm-simd-threaded.wasm" with { type: "file" };
import tiny from "../demo-model/manifest.json" with { type: "json" };
import { librariesDir, PLATFORM } from "../prebuilt/inputs.ts";
import { ABI_HASH as IMAGE_ABI_HASH } from "./image/symbols.ts";
import { type Archive, extractArchive, extractFile, manifestHash, type Manifest } from "./extract.ts";

const ARCHIVE_PATHS: Readonly<Record<string, string>> = {
  "llama.zst": llamaPath,
  "shim.zst": shimPath,
  "grammar.zst": grammarPath,
  "image.zst": imagePath,
  "speech.zst": speechPath,
};

/** Folder of this platform's archives in a checkout; undefined in an executable. */
const checkout = Bun.isStandaloneExecutable ? undefined : librariesDir(PLATFORM);

/** The manifest of the embedded libraries. */
export const NATIVE: Manifest =
  checkout === undefined ? manifest : JSON.parse(readFileSync(join(checkout, "manifest.json"), "utf8"));

function archivePath(name: string): string {
  return checkout === undefined ? (ARCHIVE_PATHS[name] ?? name) : join(checkout, name);
}

/** An archive of native libraries. Throws where the manifest lacks it. */
export function archiveNamed(name: string): Archive {
  const archive = NATIVE.archives[name];
  if (archive === undefined) throw new Error(`the manifest of the libraries has no ${name}`);
  return archive;
}

function unpack(names: readonly string[], dir: string): string {
  for (const name of names) extractArchive(archiveNamed(name), dir, () => readFileSync(archivePath(name)));
  return dir;
}

function nativeDir(cacheDir: string): string {
  return join(cacheDir, "native", manifestHash(NATIVE));
}

/** Unpacks llama.cpp and the shim below `cacheDir` if necessary; returns their folder. */
export function unpackLibraries(cacheDir: string): string {
  return unpack(["llama.zst", "shim.zst"], nativeDir(cacheDir));
}

/** The same for the grammar library, at the first constraint. */
export function unpackGrammar(cacheDir: string): string {
  return unpack(["grammar.zst"], nativeDir(cacheDir));
}

/** The same for the image library. Throws for one of another header: older ones bring a ggml that would replace llama.cpp's. */
export function unpackImage(cacheDir: string): string {
  if (NATIVE.imageAbi !== IMAGE_ABI_HASH)
    throw new Error("image.zst was built from another header than this svc: run prebuilt/build.sh image");
  return unpack(["image.zst"], nativeDir(cacheDir));
}

/** The same for the speech library. */
export function unpackSpeech(cacheDir: string): string {
  return unpack(["speech.zst"], nativeDir(cacheDir));
}

/** Unpacks the built-in model below `cacheDir` if necessary; returns its path. The library maps the file. */
export function unpackBuiltinModel(cacheDir: string): string {
  return extractFile({ name: tiny.file, sha256: tiny.sha256 }, join(cacheDir, "builtin"), () =>
    readFileSync(tinyPath),
  );
}

const ZSTD_MAGIC = 0xfd2f_b528;

/** The WebAssembly module of onnxruntime. The build compresses it. */
export function readOnnxRuntime(): Uint8Array<ArrayBuffer> {
  const content = readFileSync(onnxPath);
  return content.readUInt32LE(0) === ZSTD_MAGIC
    ? new Uint8Array(Bun.zstdDecompressSync(content))
    : new Uint8Array(content);
}
