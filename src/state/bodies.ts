// Bodies of a durable State: one file each in a folder beside the database, because SQLite would write the bytes twice and
// block other writes meanwhile. A body is synced before the record that references it.

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { StagedBody } from "../core/state.ts";
import { syncFolder } from "../core/sync-folder.ts";

/** File names of bodies; other files in the folder are ignored. */
const BODY_NAME = /^[0-9a-f]{32}$/;

/** A file without a record. */
export class StagedFile implements StagedBody {
  /** File name for the record. */
  readonly name: string;
  private readonly folder: BodyFolder;

  constructor(name: string, folder: BodyFolder) {
    this.name = name;
    this.folder = folder;
  }

  get blob(): Blob {
    return this.folder.blob(this.name);
  }

  discard(): void {
    this.folder.remove(this.name);
  }
}

/** Folder of bodies. Throws file-system errors. */
export class BodyFolder {
  private readonly folder: string;

  /** Creates the folder if missing. */
  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Writes and syncs a body. */
  async stage(pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<StagedFile> {
    const name = randomBytes(16).toString("hex");
    try {
      await writeSynced(this.pathOf(name), pieces);
      await syncFolder(this.folder);
    } catch (error) {
      this.remove(name);
      throw error;
    }
    return new StagedFile(name, this);
  }

  blob(name: string): Blob {
    return Bun.file(this.pathOf(name));
  }

  /** Deletes in the background; failures are retried at the next start. */
  remove(name: string): void {
    rm(this.pathOf(name), { force: true }).catch(() => undefined);
  }

  /** Deletes bodies without a record, left by a crash. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of readdirSync(this.folder)) {
      if (BODY_NAME.test(name) && !names.has(name)) rmSync(this.pathOf(name), { force: true });
    }
  }

  /** Whether a body exists with its full size. */
  isWhole(name: string, bytes: number): boolean {
    return statSync(this.pathOf(name), { throwIfNoEntry: false })?.size === bytes;
  }

  private pathOf(name: string): string {
    return join(this.folder, name);
  }
}

async function writeSynced(path: string, pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for (const piece of pieces) await file.writeFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}
