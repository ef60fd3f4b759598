// Folder of generated images for requests that want files. Evicts expired files, and the oldest ones above the limits of
// count and bytes. A temporary folder is deleted with the server.

import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import type { ImageStore } from "../core/image.ts";
import { leastWorthBeyond } from "../core/least-worth.ts";
import { temporaryFolder } from "../core/temporary.ts";
import { IMAGE_FILE_LIFE_MS, IMAGE_FILES_BYTES_MAX, IMAGE_FILES_MAX } from "./limits.ts";

/** Only files with names of this form are served or deleted. */
const NAME = /^image-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.png$/;

interface Kept {
  /** Who asked for it; "" for those of an earlier run. */
  readonly client: string;
  readonly bytes: number;
  readonly madeMs: number;
}

export interface ImageFolderOptions {
  /** Folder of the files, kept after the server has stopped; absent: a private temporary folder. */
  readonly folder?: string;
  readonly filesMax?: number;
  readonly bytesMax?: number;
  readonly lifeMs?: number;
  /** Unix time in milliseconds. */
  readonly now?: () => number;
}

export class ImageFolder implements ImageStore {
  private readonly options: ImageFolderOptions;
  private readonly kept = new Map<string, Kept>(); // the oldest first
  private opened: string | undefined;

  constructor(options: ImageFolderOptions = {}) {
    this.options = options;
  }

  async save(png: Uint8Array, { client }: Caller): Promise<{ readonly name: string; readonly path: string }> {
    const name = `image-${randomUUID()}.png`;
    let path: string | undefined;
    try {
      path = join(this.open(), name);
      this.kept.set(name, { client, bytes: png.byteLength, madeMs: this.now() });
      await this.makeRoom();
      await writeFile(path, png, { mode: 0o600 });
    } catch (cause) {
      this.kept.delete(name);
      if (path !== undefined) await rm(path, { force: true });
      throw new ServiceError("storage_unavailable", "the image could not be stored", { cause });
    }
    return { name, path };
  }

  find(name: string): Blob | undefined {
    if (!NAME.test(name)) return undefined;
    const kept = this.opened === undefined && this.options.folder === undefined ? undefined : this.open();
    const file = this.kept.get(name);
    if (kept === undefined || file === undefined || this.isOld(file)) return undefined;
    return Bun.file(join(kept, name));
  }

  close(): void {
    if (this.options.folder === undefined && this.opened !== undefined) {
      rmSync(this.opened, { recursive: true, force: true });
    }
    this.opened = undefined;
  }

  /** Created at the first read or write. A named folder may contain files of an earlier run. */
  private open(): string {
    if (this.opened !== undefined) return this.opened;
    const { folder } = this.options;
    if (folder === undefined) return (this.opened = temporaryFolder("images"));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = readdirSync(folder)
      .filter((name) => NAME.test(name))
      .map((name) => ({ name, stat: statSync(join(folder, name), { throwIfNoEntry: false }) }));
    found.sort((a, b) => (a.stat?.mtimeMs ?? 0) - (b.stat?.mtimeMs ?? 0));
    for (const { name, stat } of found) {
      if (stat !== undefined) this.kept.set(name, { client: "", bytes: stat.size, madeMs: stat.mtimeMs });
    }
    return (this.opened = folder);
  }

  /** Expired files go, then those of the client with the most; the newest is never evicted. */
  private async makeRoom(): Promise<void> {
    const { filesMax = IMAGE_FILES_MAX, bytesMax = IMAGE_FILES_BYTES_MAX } = this.options;
    const old = [...this.kept].slice(0, -1).flatMap(([name, file]) => (this.isOld(file) ? [name] : []));
    for (const name of old) await this.evict(name);
    for (const [room, sizeOf] of [
      [filesMax, () => 1],
      [bytesMax, ({ bytes }: Kept) => bytes],
    ] as const) {
      const all = [...this.kept];
      const holders = all.map(([item, file], index) => {
        return { item, client: file.client, size: sizeOf(file), isFixed: index === all.length - 1 };
      });
      const most = Math.max(room, holders.at(-1)?.size ?? 0);
      for (const name of leastWorthBeyond(most, holders) ?? []) await this.evict(name);
    }
  }

  private async evict(name: string): Promise<void> {
    this.kept.delete(name);
    await rm(join(this.open(), name), { force: true });
  }

  private isOld({ madeMs }: Kept): boolean {
    return this.now() - madeMs > (this.options.lifeMs ?? IMAGE_FILE_LIFE_MS);
  }

  private now(): number {
    return this.options.now?.() ?? Date.now();
  }
}
