// Records of pulled models, beside their files: which companions belong to a model, and that servers shall serve it. In the cache
// folder of the hub's tools, which ignore them, so that they live and die with the files.
//
//   models--OWNER--NAME/svc/HASH.json      one for each model, named by its first file

import { hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { namesIn } from "../core/readable.ts";
import { writeWhole } from "../core/whole-file.ts";
import { repoFolder, snapshotPath } from "./cache.ts";

const PulledModel = Type.Object({
  /** Name by which requests use it. */
  id: Type.String({ minLength: 1 }),
  repo: Type.String({ minLength: 1 }),
  commit: Type.String({ pattern: "^[0-9a-f]{40}$" }),
  /** Paths within the repository: the model, or its parts. */
  files: Type.Array(Type.String(), { minItems: 1 }),
  projector: Type.Optional(Type.String()),
  draft: Type.Optional(Type.String()),
  adapters: Type.Optional(Type.Array(Type.String())),
  /** What it was converted from. */
  sources: Type.Optional(Type.Array(Type.String())),
  /** It was pulled to be served, rather than downloaded for one server's configuration. */
  isServed: Type.Boolean(),
});

/** A model that was downloaded. */
export type PulledModel = Readonly<Static<typeof PulledModel>>;

/** Records a model; a record of the same file is replaced, but goes on being served. */
export function recordModel(cacheDir: string, record: PulledModel): void {
  const file = recordFile(cacheDir, record);
  const model = { ...record, isServed: record.isServed || readRecord(file)?.isServed === true };
  mkdirSync(join(file, ".."), { recursive: true });
  writeWhole(file, JSON.stringify(model));
  touch(cacheDir);
}

/** When a model was recorded, milliseconds since 1970; 0 if it is gone. */
export function recordedMs(cacheDir: string, record: PulledModel): number {
  return statSync(recordFile(cacheDir, record), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Deletes the record of a model. */
export function forgetModel(cacheDir: string, model: PulledModel): void {
  rmSync(recordFile(cacheDir, model), { force: true });
  touch(cacheDir);
}

/** All recorded models whose files are there, by id. */
export function recordedModels(cacheDir: string): readonly PulledModel[] {
  const folders = namesIn(cacheDir).filter((name) => name.startsWith("models--"));
  const records = folders.flatMap((folder) => recordsIn(join(cacheDir, folder)));
  return records.filter((one) => isThere(cacheDir, one)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The record of a model by the absolute path of its first file; undefined without one. */
export function recordOf(cacheDir: string, repo: string, path: string): PulledModel | undefined {
  return recordsIn(repoFolder(cacheDir, repo)).find(
    ({ commit, files: [file = ""] }) => snapshotPath(cacheDir, repo, commit, file) === path,
  );
}

/** Deletes records of models that were deleted; returns their companions that no other model needs, as absolute paths. */
export function pruneRecords(cacheDir: string, repo: string): readonly string[] {
  const records = recordsIn(repoFolder(cacheDir, repo));
  const gone = records.filter((one) => !isThere(cacheDir, one));
  for (const one of gone) rmSync(recordFile(cacheDir, one), { force: true });
  touch(cacheDir);
  const companions = (one: PulledModel): readonly string[] =>
    filesBeside(one).map((path) => snapshotPath(cacheDir, repo, one.commit, path));
  const needed = new Set(records.filter((one) => !gone.includes(one)).flatMap(companions));
  return gone.flatMap(companions).filter((path) => !needed.has(path));
}

/** Files of the repository that are kept for a model only: companions, and what it was converted from. */
export function filesBeside({
  projector,
  draft,
  adapters = [],
  sources = [],
}: PulledModel): readonly string[] {
  return [projector, draft, ...adapters, ...sources].filter((path) => path !== undefined);
}

function isThere(cacheDir: string, { repo, commit, files }: PulledModel): boolean {
  return files.every((path) => existsSync(snapshotPath(cacheDir, repo, commit, path)));
}

function recordsIn(folder: string): readonly PulledModel[] {
  return namesIn(join(folder, "svc"))
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => readRecord(join(folder, "svc", name)) ?? []);
}

/** A number that differs once records have changed; 0 for a folder that is missing or cannot be read. */
export function recordsVersion(cacheDir: string): number {
  try {
    return statSync(cacheDir).mtimeMs;
  } catch {
    return 0;
  }
}

/** Shows other processes that records, or files of recorded models, have changed. */
export function touch(cacheDir: string): void {
  if (!existsSync(cacheDir)) return;
  const now = new Date();
  utimesSync(cacheDir, now, now);
}

function readRecord(file: string): PulledModel | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(file, "utf8"));
    return Value.Check(PulledModel, record) ? record : undefined;
  } catch {
    return undefined; // damaged, or just deleted
  }
}

function recordFile(cacheDir: string, { repo, files }: PulledModel): string {
  const name = hash("sha256", files[0] ?? "").slice(0, 16);
  return join(repoFolder(cacheDir, repo), "svc", `${name}.json`);
}
