// llama.cpp's converter of the locked release, as prebuilt/converter.ts has packed it, unpacked into svc's cache folder.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assert } from "../core/assert.ts";
import { asideOf, removeTemporary } from "../core/temporary.ts";
import archivePath from "../../prebuilt/converter.zst" with { type: "file" };
import awq from "./awq.py" with { type: "text" };
import numpyTorch from "./numpy_torch.py" with { type: "text" };
import stream from "./stream.py" with { type: "text" };
import starter from "./start.py" with { type: "text" };

export interface ConverterArchive {
  /** Version of the package that carries llama.cpp's source. */
  readonly release: string;
  /** Text by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** The unpacked converter. */
export interface ConverterScripts {
  readonly folder: string;
  /** Digest of the archive and of svc's own files. */
  readonly version: string;
}

/** The script that is run; it starts the converter. */
export const STARTER = "start.py";
/** The starter, what takes PyTorch's place, a format that the converter does not know, and tensors by rows. */
const OWN_FILES = [
  [STARTER, starter],
  ["numpy_torch.py", numpyTorch],
  ["awq.py", awq],
  ["stream.py", stream],
] as const;

const ARCHIVE_DIGEST_CHARS = 12;

/** Reads the archive. */
export function readConverter(): ConverterArchive {
  const archive: unknown = JSON.parse(Bun.zstdDecompressSync(readFileSync(archivePath)).toString());
  assert(typeof archive === "object" && archive !== null && "files" in archive, "the archive is ours");
  return archive as ConverterArchive; // prebuilt/converter.ts has written it
}

/** Unpacks the converter below `cacheDir` unless it is there. */
export function unpackConverter(cacheDir: string): ConverterScripts {
  const digest = createHash("sha256").update(readFileSync(archivePath));
  for (const [, text] of OWN_FILES) digest.update(text);
  const version = digest.digest("hex").slice(0, ARCHIVE_DIGEST_CHARS);
  const folder = join(cacheDir, "convert", `scripts-${version}`);
  if (existsSync(folder)) return { folder, version };
  mkdirSync(dirname(folder), { recursive: true });
  const partial = asideOf(folder);
  for (const [path, text] of [...Object.entries(readConverter().files), ...OWN_FILES]) {
    const file = join(partial, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  if (!existsSync(folder)) renameSync(partial, folder); // all or nothing
  removeTemporary(dirname(partial));
  return { folder, version };
}
