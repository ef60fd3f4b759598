// Packs llama.cpp's converter of the locked release, Python files only, for the executable:
//
//   bun prebuilt/converter.ts LLAMA_SOURCE
//
// LLAMA_SOURCE is the checkout that build.sh makes of the bundle. Writes prebuilt/converter.zst.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConverterArchive } from "../src/convert/scripts.ts";

const PATTERNS = ["convert_hf_to_gguf.py", "conversion/**/*.py", "gguf-py/gguf/**/*.py"];

const [source] = process.argv.slice(2);
if (source === undefined) throw new Error("usage: bun prebuilt/converter.ts LLAMA_SOURCE");
const lock = JSON.parse(readFileSync(join(import.meta.dir, "source/package-lock.json"), "utf8"));
const paths = PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: source })).toSorted();
const archive: ConverterArchive = {
  release: lock.packages["node_modules/node-llama-cpp"].version,
  files: Object.fromEntries(paths.map((path) => [path, readFileSync(join(source, path), "utf8")])),
};
const bytes = Bun.zstdCompressSync(JSON.stringify(archive), { level: 19 });
writeFileSync(join(import.meta.dir, "converter.zst"), bytes);
console.log(`${paths.length} files of release ${archive.release}, ${bytes.byteLength} bytes`);
