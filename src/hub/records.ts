// Records of pulled models, beside their files: which companions belong to a model, and that servers shall serve it. In the cache
// folder of the hub's tools, which ignore them, so that they live and die with the files.
//
//   models--OWNER--NAME/svc/HASH.json      one for each model, named by its first file

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
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
});

/** A model that was pulled. */
export type PulledModel = Readonly<Static<typeof PulledModel>>;

/** Records a model; a record of the same file is replaced. */
export function recordModel(cacheDir: string, model: PulledModel): void {
  const file = recordFile(cacheDir, model);
  mkdirSync(join(file, ".."), { recursive: true });
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, JSON.stringify(model));
  renameSync(aside, file);
  touch(cacheDir);
}

/** Deletes the record of a model. */
export function forgetModel(cacheDir: string, model: PulledModel): void {
  rmSync(recordFile(cacheDir, model), { force: true });
  touch(cacheDir);
}

/** All recorded models whose files are there, by id. */
export function recordedModels(cacheDir: string): readonly PulledModel[] {
  const folders = names(cacheDir).filter((name) => name.startsWith("models--"));
  const records = folders.flatMap((folder) =>
    names(join(cacheDir, folder, "svc"))
      .filter((name) => name.endsWith(".json"))
      .flatMap((name) => readRecord(join(cacheDir, folder, "svc", name)) ?? []),
  );
  const isThere = ({ repo, commit, files }: PulledModel): boolean =>
    files.every((path) => existsSync(snapshotPath(cacheDir, repo, commit, path)));
  return records.filter(isThere).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** A number that differs once records have changed. */
export function recordsVersion(cacheDir: string): number {
  return statSync(cacheDir, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Shows other processes that records, or files of recorded models, have changed. */
export function touch(cacheDir: string): void {
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
  const name = createHash("sha256")
    .update(files[0] ?? "")
    .digest("hex")
    .slice(0, 16);
  return join(repoFolder(cacheDir, repo), "svc", `${name}.json`);
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // absent
  }
}
