// Holds process trees to their caps. The kernel caps single processes; the sum over a tree is nobody's business but ours,
// as control groups can be written to on few machines. A tree over a cap is killed as a whole. Between two looks a tree
// may go over; that is what the kernel's caps on each process are for.

import {
  DISK_RESERVE_BYTES,
  SANDBOX_FILE_BYTES_MAX,
  SANDBOX_POLL_MS,
  SANDBOX_POLL_SHARE,
  WORKDIR_POLL_MS,
} from "../core/limits.ts";
import { folderSize, type FolderSize, freeBytes } from "./folder-size.ts";
import { type ProcessInfo, processes, proportionalBytes } from "./processes.ts";
import type { BrokenLimit, Limits } from "./types.ts";

/** Caps of a tree; `disk` for what lies in its private folder. */
export interface WatchedLimits extends Limits {
  readonly disk: FolderSize;
}

/** A process tree under watch. */
export interface Watched {
  /** Which of all processes are its own. */
  readonly members: (all: readonly ProcessInfo[]) => readonly ProcessInfo[];
  /** A private folder whose size counts. */
  readonly folder?: string;
  /** Called once, with the cap that the tree is over. */
  readonly onBreach: (limit: BrokenLimit) => void;
}

interface Account {
  readonly watched: Watched;
  /** Highest sum of processor time seen: what children used is known only while somebody is left who waited for them. */
  cpuSecs: number;
  /** As found at the first look: a folder that is too big already may still get smaller. */
  before: Measured | undefined;
  measuredAt: number;
}

interface Measured extends FolderSize {
  /** What the disk has left. A file that is open but has no name any more shows there alone. */
  readonly freeBytes: number;
}

const MIB = 1024 * 1024;

export class Watch {
  private readonly accounts = new Set<Account>();
  private readonly limits: WatchedLimits;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(limits: WatchedLimits) {
    this.limits = limits;
  }

  /** Begins to watch; the result ends it. */
  add(watched: Watched): () => void {
    const account: Account = { watched, cpuSecs: 0, before: undefined, measuredAt: 0 };
    this.accounts.add(account);
    this.schedule(SANDBOX_POLL_MS);
    return () => {
      this.accounts.delete(account);
      if (this.accounts.size > 0) return;
      clearTimeout(this.timer);
      this.timer = undefined;
    };
  }

  private schedule(waitMs: number): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const startedAt = performance.now();
      this.look();
      const tookMs = performance.now() - startedAt;
      if (this.accounts.size > 0) this.schedule(Math.max(SANDBOX_POLL_MS, tookMs * SANDBOX_POLL_SHARE));
    }, waitMs);
    this.timer.unref();
  }

  private look(): void {
    const all = processes();
    for (const account of this.accounts) {
      const limit = this.brokenBy(account, account.watched.members(all));
      if (limit !== undefined) this.end(account, limit);
      else void this.measureFolder(account);
    }
  }

  private brokenBy(account: Account, members: readonly ProcessInfo[]): BrokenLimit | undefined {
    const total = (of: (info: ProcessInfo) => number): number =>
      members.reduce((sum, member) => sum + of(member), 0);
    account.cpuSecs = Math.max(
      account.cpuSecs,
      total((info) => info.cpuSecs),
    );
    if (account.cpuSecs > this.limits.cpuSecs) return "cpu";
    const cap = this.limits.memoryMb * MIB;
    const isOver = total((info) => info.residentBytes) > cap;
    // Shared pages count in every process there; the exact figure is dear and is asked for only in doubt.
    if (isOver && total((info) => proportionalBytes(info.pid) ?? info.residentBytes) > cap) return "memory";
    // The kernel refuses the next fork. Where its count was evaded, twice the cap is no accident.
    return total((info) => info.threads) > 2 * this.limits.procs ? "procs" : undefined;
  }

  private async measureFolder(account: Account): Promise<void> {
    const { folder } = account.watched;
    if (folder === undefined || performance.now() - account.measuredAt < WORKDIR_POLL_MS) return;
    account.measuredAt = Number.POSITIVE_INFINITY; // one measurement at a time
    const cap = this.limits.disk;
    const now = { ...(await folderSize(folder, cap)), freeBytes: await freeBytes(folder) };
    account.measuredAt = performance.now();
    const before = (account.before ??= now);
    const isFull =
      now.freeBytes < DISK_RESERVE_BYTES && before.freeBytes - now.freeBytes > SANDBOX_FILE_BYTES_MAX;
    const isOver =
      now.bytes > Math.max(cap.bytes, before.bytes) || now.entries > Math.max(cap.entries, before.entries);
    if ((isFull || isOver) && this.accounts.has(account)) this.end(account, "disk");
  }

  private end(account: Account, limit: BrokenLimit): void {
    this.accounts.delete(account);
    account.watched.onBreach(limit);
  }
}
