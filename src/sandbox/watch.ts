// Holds process trees to their caps. The kernel caps single processes; the sum over a tree is nobody's business but ours,
// as control groups can be written to on few machines. A tree over a cap is killed as a whole. Between two looks a tree
// may go over; that is what the kernel's caps on each process are for.

import { ServiceError } from "../core/error.ts";
import {
  DISK_RESERVE_BYTES,
  SANDBOX_FILE_BYTES_MAX,
  SANDBOX_POLL_MS,
  SANDBOX_POLL_MS_MAX,
  SANDBOX_POLL_SHARE,
  SOCKETS_POLL_MS,
  WORKDIR_POLL_MS,
} from "./limits.ts";
import { folderSize, type FolderSize, freeBytes } from "./folder-size.ts";
import type { ControlGroup } from "./control-groups.ts";
import { type ProcessInfo, processes, proportionalBytes } from "./processes.ts";
import type { SocketMemory } from "./socket-memory.ts";
import type { BrokenLimit, Limits, Workdir } from "./types.ts";

/** Caps of a tree; `disk` for what lies in its private folder. */
export interface WatchedLimits extends Limits {
  readonly disk: FolderSize;
}

/** A process tree under watch. */
export interface Watched {
  /** Which of all processes are its own. */
  readonly members: (all: readonly ProcessInfo[]) => readonly ProcessInfo[];
  /** Holds the tree to its caps on memory and processes. Absent: both are looked after here. */
  readonly group?: ControlGroup;
  /** Its size counts where it is a private one. */
  readonly workdir: Workdir;
  /** Called once, with the cap that the tree is over. */
  readonly onBreach: (limit: BrokenLimit) => void;
}

interface Account {
  readonly watched: Watched;
  /** Highest sum of processor time seen: what children used is known only while somebody is left who waited for them. */
  cpuSecs: number;
  /** What earlier processes of the group had used by then. */
  readonly cpuSecsBefore: number;
  /** What the disk had left in the beginning, bytes. */
  readonly freeBytes: number;
  /** What may lie in the folder: the cap, or what lay there before, so that it can still be made smaller. */
  readonly disk: FolderSize;
  measuredAt: number;
  /** When its sockets may be asked about again; without end while they are. */
  socketsAt: number;
}

const MIB = 1024 * 1024;

export class Watch {
  private readonly limits: WatchedLimits;
  private readonly accounts = new Set<Account>();
  /** What the last process left in a folder. */
  private readonly sizes = new WeakMap<Workdir, FolderSize>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  private readonly sockets: SocketMemory | undefined;

  /** Without `sockets`, what lies in their buffers is counted for nobody. */
  constructor(limits: WatchedLimits, sockets?: SocketMemory) {
    this.limits = limits;
    this.sockets = sockets;
  }

  /** Throws where so much lies in the folder already that nothing more may be started there. */
  admit(workdir: Workdir): void {
    const size = this.sizes.get(workdir);
    const { disk } = this.limits;
    if (size === undefined || (size.bytes <= 2 * disk.bytes && size.entries <= 2 * disk.entries)) return;
    throw new ServiceError(
      "invalid_request",
      "the working directory is full; end the session for an empty one",
    );
  }

  /** Begins to watch. The result ends it, and itself once the folder has been measured. */
  add(watched: Watched): () => Promise<void> {
    const { workdir } = watched;
    const before = this.sizes.get(workdir);
    const { bytes, entries } = this.limits.disk;
    const account: Account = {
      watched,
      cpuSecs: 0,
      cpuSecsBefore: watched.group?.cpuSecs() ?? 0,
      freeBytes: freeBytes(workdir.path),
      disk: { bytes: Math.max(bytes, before?.bytes ?? 0), entries: Math.max(entries, before?.entries ?? 0) },
      measuredAt: performance.now(),
      socketsAt: 0,
    };
    this.accounts.add(account);
    this.schedule(SANDBOX_POLL_MS);
    return async () => {
      this.accounts.delete(account);
      if (this.accounts.size === 0) {
        clearTimeout(this.timer);
        this.timer = undefined;
      }
      if (!workdir.isPrivate) return;
      this.sizes.set(workdir, await folderSize(workdir.path, { bytes: 2 * bytes, entries: 2 * entries }));
    };
  }

  private schedule(waitMs: number): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const startedAt = performance.now();
      this.look();
      const tookMs = performance.now() - startedAt;
      // On a busy machine a look takes long because it has to wait, so there is an end to that.
      const restMs = Math.min(tookMs * SANDBOX_POLL_SHARE, SANDBOX_POLL_MS_MAX);
      if (this.accounts.size > 0) this.schedule(Math.max(SANDBOX_POLL_MS, restMs));
    }, waitMs);
    this.timer.unref();
  }

  private look(): void {
    const all = processes();
    const looks = [...this.accounts].map((account) => ({ account, members: account.watched.members(all) }));
    for (const { account, members } of looks) {
      // Processes of one private folder share a cap: what earlier calls have left in the background counts.
      const { workdir } = account.watched;
      const together = workdir.isPrivate
        ? looks.flatMap((look) => (look.account.watched.workdir === workdir ? look.members : []))
        : members;
      const limit = this.brokenBy(account, members, together);
      if (limit !== undefined) {
        this.end(account, limit);
        continue;
      }
      void this.measureFolder(account);
      void this.measureSockets(account, together);
    }
  }

  private brokenBy(
    account: Account,
    members: readonly ProcessInfo[],
    together: readonly ProcessInfo[],
  ): BrokenLimit | undefined {
    const total = (of: (info: ProcessInfo) => number): number =>
      together.reduce((sum, member) => sum + of(member), 0);
    const { group } = account.watched;
    const used =
      group === undefined
        ? members.reduce((sum, info) => sum + info.cpuSecs, 0)
        : group.cpuSecs() - account.cpuSecsBefore;
    account.cpuSecs = Math.max(account.cpuSecs, used);
    if (account.cpuSecs > this.limits.cpuSecs) return "cpu";
    if (group !== undefined) return undefined;
    const cap = this.limits.memoryMb * MIB;
    const isOver = total((info) => info.residentBytes) > cap;
    // Shared pages count in every process there; the exact figure is dear and is asked for only in doubt.
    if (isOver && total((info) => proportionalBytes(info.pid) ?? info.residentBytes) > cap) return "memory";
    // The kernel refuses the next fork. Where its count was evaded, twice the cap is no accident.
    return total((info) => info.threads) > 2 * this.limits.procs ? "procs" : undefined;
  }

  private async measureSockets(account: Account, members: readonly ProcessInfo[]): Promise<void> {
    if (account.watched.group !== undefined) return;
    if (this.sockets === undefined || performance.now() < account.socketsAt) return;
    const room =
      this.limits.memoryMb * MIB - members.reduce((sum, { residentBytes }) => sum + residentBytes, 0);
    if (this.sockets.most(members) <= room) return;
    account.socketsAt = Number.POSITIVE_INFINITY; // one question at a time
    const held = await this.sockets.held(members, account.watched.workdir);
    account.socketsAt = performance.now() + SOCKETS_POLL_MS;
    if (held > Math.max(0, room) && this.accounts.has(account)) this.end(account, "memory");
  }

  private async measureFolder(account: Account): Promise<void> {
    const { workdir } = account.watched;
    if (!workdir.isPrivate || performance.now() - account.measuredAt < WORKDIR_POLL_MS) return;
    account.measuredAt = Number.POSITIVE_INFINITY; // one measurement at a time
    const size = await folderSize(workdir.path, account.disk);
    // A file that is open but has no name any more shows here alone.
    const free = freeBytes(workdir.path);
    account.measuredAt = performance.now();
    const isFull = free < DISK_RESERVE_BYTES && account.freeBytes - free > SANDBOX_FILE_BYTES_MAX;
    const isOver = size.bytes > account.disk.bytes || size.entries > account.disk.entries;
    if ((isFull || isOver) && this.accounts.has(account)) this.end(account, "disk");
  }

  private end(account: Account, limit: BrokenLimit): void {
    this.accounts.delete(account);
    account.watched.onBreach(limit);
  }
}
