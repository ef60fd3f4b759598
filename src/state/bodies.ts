// The bodies of a durable State: one file each in a folder beside the database, because the database would write their
// bytes twice and hold up everything else meanwhile. A body is safe on disk before the record that names it is.

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { StagedBody } from "../core/state.ts";

/** Names that we give; the folder may hold a stranger's files. */
const BODY_NAME = /^[0-9a-f]{32}$/;

/** A file that no record names yet. */
export class StagedFile implements StagedBody {
  /** What the record is to call it. */
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

/** The folder of bodies. Its failures are those of the file system. */
export class BodyFolder {
  private readonly folder: string;

  /** Makes the folder where it is missing. */
  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Writes a body and waits until the disk has it. */
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

  /** In the background; what could not be removed goes at the next start. */
  remove(name: string): void {
    rm(this.pathOf(name), { force: true }).catch(() => undefined);
  }

  /** Removes what no record names: the process ended while it was being stored. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of readdirSync(this.folder)) {
      if (BODY_NAME.test(name) && !names.has(name)) rmSync(this.pathOf(name), { force: true });
    }
  }

  /** Whether a body is there with all its bytes. */
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

/** A new file is safe once the folder's entry for it is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
