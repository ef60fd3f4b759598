// Unpacks committed libraries, also under the names that a linker looks for:
//
//   bun prebuilt/unpack.ts PLATFORM_DIR llama|shim|grammar|image|speech FOLDER

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "../ffi/extract.ts";

const [platformDir = "", group = "", folder = ""] = process.argv.slice(2);
const manifest: Manifest = JSON.parse(readFileSync(join(platformDir, "manifest.json"), "utf8"));
const archive = manifest.archives[`${group}.zst`];
if (archive === undefined || folder === "")
  throw new Error("usage: bun prebuilt/unpack.ts PLATFORM_DIR llama|shim|grammar|image|speech FOLDER");
const bytes = Bun.zstdDecompressSync(readFileSync(join(platformDir, `${group}.zst`)));
mkdirSync(folder, { recursive: true });
for (const { name, offset, bytes: size } of archive.files) {
  writeFileSync(join(folder, name), bytes.subarray(offset, offset + size));
  const plain = name.replace(/\.so\..*$/, ".so");
  if (plain !== name) symlinkSync(name, join(folder, plain));
}
