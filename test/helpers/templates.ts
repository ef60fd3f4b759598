// Real chat templates of many model families, and vocabularies, from the llama.cpp source that prebuilt/build.sh compiles.
// They are other people's work and not part of this repository: the first use unpacks them into node_modules/.cache.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { reasonOf } from "../../src/core/reason.ts";

const ROOT = join(import.meta.dir, "../..");
const SOURCE = join(ROOT, "prebuilt/source");
const PACKAGE = join(SOURCE, "node_modules/node-llama-cpp");
const CACHE = join(ROOT, "node_modules/.cache/svc-templates");
const FOLDER = "models/templates";
/** Vocabularies without weights, by their kind. */
const VOCABULARIES = {
  bpe: "models/ggml-vocab-qwen2.gguf",
  spm: "models/ggml-vocab-llama-spm.gguf",
} as const;
/** Downloading the package takes a while; a network that does not answer must not hold up the tests for ever. */
const COMMAND_MS_MAX = 180_000;

/** Template sources by file name without .jinja, or why there are none. */
export type Templates =
  | { readonly type: "found"; readonly sources: ReadonlyMap<string, string> }
  | { readonly type: "missing"; readonly reason: string };

/** The templates; unpacked, and if need be downloaded, the first time. */
export function chatTemplates(): Templates {
  try {
    const dir = join(unpacked(), FOLDER);
    const files = readdirSync(dir).filter((name) => name.endsWith(".jinja"));
    const read = (name: string): string => readFileSync(join(dir, name), "utf8");
    return {
      type: "found",
      sources: new Map(files.map((name) => [name.slice(0, -".jinja".length), read(name)])),
    };
  } catch (error) {
    return { type: "missing", reason: reasonOf(error) };
  }
}

/** The kinds of vocabularies there are. */
export type VocabularyKind = keyof typeof VOCABULARIES;

/** A GGUF file with a real vocabulary and nothing else. Throws where chatTemplates finds nothing. */
export function vocabularyFile(kind: VocabularyKind): string {
  return join(unpacked(), VOCABULARIES[kind]);
}

/** Where the files lie; they are unpacked, and if need be downloaded, the first time. */
function unpacked(): string {
  const dir = join(CACHE, `${pinnedVersion()}-models`);
  if (!existsSync(dir)) unpack(dir);
  return dir;
}

function pinnedVersion(): string {
  const { dependencies } = JSON.parse(readFileSync(join(SOURCE, "package.json"), "utf8"));
  return String(dependencies["node-llama-cpp"]);
}

function installedVersion(): string | undefined {
  const file = join(PACKAGE, "package.json");
  return existsSync(file) ? String(JSON.parse(readFileSync(file, "utf8")).version) : undefined;
}

function run(cwd: string, ...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command, {
    cwd,
    stdout: "ignore",
    stderr: "pipe",
    timeout: COMMAND_MS_MAX,
  });
  if (!success)
    throw new Error(`${command.slice(0, 2).join(" ")} failed: ${String(stderr).trim().slice(-300)}`);
}

/** Puts the files into `dir`, which appears only when it is complete. */
function unpack(dir: string): void {
  if (installedVersion() !== pinnedVersion()) {
    // As in prebuilt/build.sh, which says why.
    const quiet = ["--no-audit", "--no-fund"];
    run(SOURCE, "npm", "install", "--no-save", "--ignore-scripts", "--omit=optional", ...quiet);
  }
  mkdirSync(CACHE, { recursive: true });
  const work = mkdtempSync(join(CACHE, "unpack-"));
  try {
    run(work, "git", "clone", "--quiet", "--bare", join(PACKAGE, "llama/gitRelease.bundle"), "llama.git");
    const files = [FOLDER, ...Object.values(VOCABULARIES)];
    run(work, "git", "--git-dir=llama.git", "--work-tree=.", "checkout", "--quiet", "HEAD", "--", ...files);
    rmSync(join(work, "llama.git"), { recursive: true });
    if (!existsSync(dir)) renameSync(work, dir);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
