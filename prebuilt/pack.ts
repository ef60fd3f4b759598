// Packs built libraries for committing: the files of a group are laid end to end and compressed as one zstd stream, so
// that the CPU variants, which are nearly alike, share what they have in common (5 MB instead of 10).
//
//   bun prebuilt/pack.ts all|shim BUILT_DIR PLATFORM_DIR ABI_HASH
//
// manifest.json says where each file lies; ffi/extract.ts reads it.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Archive, Manifest } from "../ffi/extract.ts";

const SHIM = "libsvc_llama.so";
const LLAMA_FLAGS = "Release, OpenMP, GGML_BACKEND_DL, GGML_CPU_ALL_VARIANTS, RPC, mtmd; no curl, no OpenSSL";

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function pack(builtDir: string, names: readonly string[], target: string, upstream: string): Archive {
  let offset = 0;
  const files = names.map((name) => {
    const bytes = readFileSync(join(builtDir, name));
    const entry = { name, offset, bytes: bytes.byteLength, sha256: sha256(bytes) };
    offset += bytes.byteLength;
    return { entry, bytes };
  });
  const compressed = Bun.zstdCompressSync(Buffer.concat(files.map((file) => file.bytes)), { level: 19 });
  writeFileSync(target, compressed);
  return { upstream, bytes: offset, files: files.map((file) => file.entry) };
}

function main(): void {
  const [what, builtDir, platformDir, abi] = process.argv.slice(2);
  if (what === undefined || builtDir === undefined || platformDir === undefined || abi === undefined) {
    throw new Error("usage: bun prebuilt/pack.ts all|shim BUILT_DIR PLATFORM_DIR ABI_HASH");
  }
  mkdirSync(platformDir, { recursive: true });
  const manifestPath = join(platformDir, "manifest.json");
  const lock = JSON.parse(readFileSync(join(import.meta.dir, "source/package-lock.json"), "utf8"));
  const version = lock.packages["node_modules/node-llama-cpp"].version;
  const release = `llama.cpp as bundled in node-llama-cpp ${version}`;

  const libraries = readdirSync(builtDir).filter((name) => name.includes(".so") && name !== SHIM);
  const earlier: Manifest | undefined = what === "all" ? undefined : JSON.parse(readFileSync(manifestPath, "utf8"));
  const manifest: Manifest = {
    abi,
    flags: LLAMA_FLAGS,
    archives: {
      "llama.zst": earlier?.archives["llama.zst"] ?? pack(builtDir, libraries.sort(), join(platformDir, "llama.zst"), release),
      "shim.zst": pack(builtDir, [SHIM], join(platformDir, "shim.zst"), "ffi/shim"),
    },
  };
  writeFileSync(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
  for (const [name, archive] of Object.entries(manifest.archives)) {
    console.log(`${name}: ${archive.files.length} files, ${archive.bytes} bytes unpacked`);
  }
}

main();
