// Disk of the tiers: a folder of blocks and states, a file each, shared by all engines of a user. Native code reads the blocks, so each
// file carries a MAC under the secret of its folder; a file that fails the check is deleted and counts as absent. The
// runtime's I/O threads read and write: the engine does not wait. The MAC is AES-256-GMAC, computed at once: ten times as
// fast as HMAC-SHA256, 0.3 ms for 3 MB. Each file has a random nonce.
//
// A file: 8 bytes of magic, 12 of nonce, 16 of MAC over all that follows, 32 of key, the cells. It is written under another
// name and renamed; an incomplete one has a wrong MAC. The time of change is the time of the last use.

import { createCipheriv, randomBytes, timingSafeEqual } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdir, open, rename, statfs, unlink, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { blockPath, evictBlocks, openBlockFolder } from "../../../core/block-folder.ts";
import { BLOCK_FILE_BYTES_MAX, DISK_BACKLOG_BYTES_MAX, DISK_BACKLOG_MAX } from "../../shared/limits.ts";
import type { BlockKey } from "./block.ts";

const MAGIC = Buffer.from("svcKV\0\0\u0002", "latin1");
const NONCE_BYTES = 12;
const MAC_BYTES = 16;
const KEY_BYTES = 32;
const MAC_FROM = MAGIC.length + NONCE_BYTES;
const SIGNED_FROM = MAC_FROM + MAC_BYTES;
const HEADER_BYTES = SIGNED_FROM + KEY_BYTES;

/** After a failed write, for example on a full disk, none is tried for this long, milliseconds. */
const PAUSE_MS = 60_000;
/** Share of the disk that stays free. */
const FREE_SHARE_MIN = 0.05;
/** An eviction goes on down to this share of the bound, so that not every write evicts. */
const EVICT_TO = 0.9;
/** How much older than the block before it a block counts: more than it takes to write one. */
const OLDER_SECS = 1;

/** Counters since the start. */
export interface DiskCounts {
  readonly writtenBytes: number;
  readonly badBlocks: number;
  readonly failedWrites: number;
}

interface Write {
  readonly key: BlockKey;
  readonly depth: number;
  readonly cells: Uint8Array;
  /** Whether a file of this key is replaced. */
  readonly replaces: boolean;
}

export class DiskTier {
  private readonly folder: string;
  private readonly bytesMax: number;
  private readonly onRoom: () => void;
  private readonly secret: Uint8Array;
  private readonly queue: Write[] = [];
  private queuedBytes = 0;
  private isWriting = false;
  private used = 0; // bytes, as far as known
  private pausedUntilMs = 0; // monotonic
  private counts: DiskCounts = { writtenBytes: 0, badBlocks: 0, failedWrites: 0 };

  /**
   * Opens or creates the folder. `onRoom`: the write queue is half empty, or empty. Throws where the folder or its secret may be
   * another user's.
   */
  constructor(folder: string, bytesMax: number, onRoom: () => void) {
    this.folder = folder;
    this.bytesMax = bytesMax;
    this.onRoom = onRoom;
    this.secret = openBlockFolder(folder);
    void this.evict(bytesMax);
  }

  counted(): DiskCounts {
    return this.counts;
  }

  /** Blocks that are not written yet. */
  get pending(): number {
    return this.queue.length + (this.isWriting ? 1 : 0);
  }

  /** Whether blocks must wait: the disk is slower than the engine. */
  get isBusy(): boolean {
    return this.queue.length >= DISK_BACKLOG_MAX || this.queuedBytes >= DISK_BACKLOG_BYTES_MAX;
  }

  /** Whether there is a file of this key, good or bad. */
  async has(key: BlockKey): Promise<boolean> {
    return access(blockPath(this.folder, key)).then(
      () => true,
      () => false,
    );
  }

  /** The cells of a block; undefined without a file, or with a bad one. `depth`: its number within the prompt. */
  async read(key: BlockKey, depth: number): Promise<Uint8Array | undefined> {
    const path = blockPath(this.folder, key);
    const file = await contentOf(path);
    if (file === "absent") return undefined;
    if (file !== "bad" && this.isGenuine(file, key)) {
      void touch(path, depth);
      return file.subarray(HEADER_BYTES);
    }
    this.counts = { ...this.counts, badBlocks: this.counts.badBlocks + 1 };
    await unlink(path).catch(() => undefined);
    return undefined;
  }

  /**
   * Writes a block later. Dropped while the queue is full, after a failure, or if it is too large to be read. `replaces`: instead of
   * one of this key, in the folder or in the queue.
   */
  write(key: BlockKey, depth: number, cells: Uint8Array, replaces = false): void {
    if (cells.length > BLOCK_FILE_BYTES_MAX - HEADER_BYTES) return;
    const isFull = replaces ? this.queuedBytes + cells.length > DISK_BACKLOG_BYTES_MAX : this.isBusy;
    if (isFull || performance.now() < this.pausedUntilMs) return;
    const queued = replaces ? this.queue.findIndex((other) => other.key === key) : -1;
    const [replaced] = queued < 0 ? [] : this.queue.splice(queued, 1);
    this.queue.push({ key, depth, cells, replaces });
    this.queuedBytes += cells.length - (replaced?.cells.length ?? 0);
    if (!this.isWriting) void this.drain();
  }

  private async drain(): Promise<void> {
    this.isWriting = true;
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
      this.queuedBytes -= next.cells.length;
      if (this.queue.length === DISK_BACKLOG_MAX >> 1) this.onRoom();
      try {
        await this.store(next);
      } catch (error) {
        this.fail(error instanceof Error ? error.message : String(error));
      }
    }
    this.isWriting = false;
    this.onRoom();
  }

  private async store({ key, depth, cells, replaces }: Write): Promise<void> {
    const path = blockPath(this.folder, key);
    if (!replaces && (await touch(path, depth))) return; // another engine was first
    const { bavail, blocks } = await statfs(this.folder);
    if (bavail < blocks * FREE_SHARE_MIN) return this.fail("the disk is nearly full");
    const bytes = HEADER_BYTES + cells.length;
    if (this.used + bytes > this.bytesMax) await this.evict(this.bytesMax * EVICT_TO - bytes);
    if (this.used + bytes > this.bytesMax) return;
    const file = Buffer.allocUnsafeSlow(bytes);
    file.set(MAGIC);
    file.set(Buffer.from(key, "hex"), SIGNED_FROM);
    file.set(cells, HEADER_BYTES);
    file.set(randomBytes(NONCE_BYTES), MAGIC.length);
    file.set(this.macOf(file), MAC_FROM);
    // Not the process's number: containers that share the folder, or follow each other, have the same ones.
    const unfinished = `${path}.${randomBytes(8).toString("hex")}`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      await writeFile(unfinished, file, { mode: 0o600, flag: "wx" });
      await rename(unfinished, path);
    } catch (error) {
      await unlink(unfinished).catch(() => undefined);
      throw error;
    }
    void touch(path, depth);
    this.used += bytes;
    this.counts = { ...this.counts, writtenBytes: this.counts.writtenBytes + bytes };
  }

  private fail(reason: string): void {
    const { failedWrites } = this.counts;
    this.counts = { ...this.counts, failedWrites: failedWrites + 1 };
    this.pausedUntilMs = performance.now() + PAUSE_MS;
    this.queue.length = 0;
    this.queuedBytes = 0;
    if (failedWrites === 0) console.error(`engine: cannot write to ${this.folder}: ${reason}`);
  }

  private async evict(bytes: number): Promise<void> {
    this.used = await evictBlocks(this.folder, bytes);
  }

  private isGenuine(file: Uint8Array, key: BlockKey): boolean {
    if (file.length <= HEADER_BYTES || !MAGIC.equals(file.subarray(0, MAGIC.length))) return false;
    if (Buffer.from(file.subarray(SIGNED_FROM, HEADER_BYTES)).toString("hex") !== key) return false;
    return timingSafeEqual(this.macOf(file), file.subarray(MAC_FROM, SIGNED_FROM));
  }

  /** The MAC of a file that has its nonce. */
  private macOf(file: Uint8Array): Uint8Array {
    const cipher = createCipheriv("aes-256-gcm", this.secret, file.subarray(MAGIC.length, MAC_FROM));
    cipher.setAAD(file.subarray(SIGNED_FROM));
    cipher.final();
    return cipher.getAuthTag();
  }
}

/** Marks a block as used. Later blocks of a prompt count as older, so that they are evicted first. False: no such file. */
async function touch(path: string, depth: number): Promise<boolean> {
  const seconds = Date.now() / 1000 - depth * OLDER_SECS;
  return utimes(path, seconds, seconds).then(
    () => true,
    () => false,
  );
}

/** A file of this user's that is no link. */
async function contentOf(path: string): Promise<Uint8Array<ArrayBuffer> | "absent" | "bad"> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (handle === undefined) return "absent";
  try {
    const { uid, size } = await handle.stat();
    if (uid !== (process.getuid?.() ?? uid) || size > BLOCK_FILE_BYTES_MAX) return "bad";
    const file = Buffer.allocUnsafeSlow(size); // not cleared: it is filled at once
    const { bytesRead } = await handle.read(file, 0, size, 0);
    return bytesRead === size ? file : "bad";
  } catch {
    return "bad";
  } finally {
    await handle.close();
  }
}
