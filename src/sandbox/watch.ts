// Measures process trees and kills those above a cap, for machines where svc may not create control groups. Between two
// measurements a tree may exceed its cap; the kernel's caps on each process limit by how much.
// /proc is read five times a second, for at most a fiftieth of the time. Shared pages count once (PSS, read only where the resident sum
// exceeds the cap). Memory of no process is refused or on disk: /tmp and /dev/shm are folders, memfd_create and System V IPC are blocked.

import { ServiceError } from "../core/error.ts";
import {
  DISK_RESERVE_BYTES,
  SANDBOX_FILE_BYTES_MAX,
  SANDBOX_POLL_MS,
  SANDBOX_POLL_MS_MAX,
  SANDBOX_POLL_SHARE,
  SOCKETS_POLL_MS,
  WORKDIR_LAST_MS,
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

/** A measured process tree. */
export interface Watched {
  /** Selects its processes. */
  readonly members: (all: readonly ProcessInfo[]) => readonly ProcessInfo[];
  /** Control group that caps memory and processes. Absent: both are measured here. */
  readonly group?: ControlGroup;
  /** Process of the network guard, whose work for the tree counts as the tree's. */
  readonly guard?: number;
  /** Its size is capped where it is private. */
  readonly workdir: Workdir;
  /** Called once, with the exceeded cap. */
  readonly onBreach: (limit: BrokenLimit) => void;
}

interface Account {
  readonly watched: Watched;
  /** Largest sum of processor time so far: the time of children is known only while their parent lives. */
  cpuSecs: number;
  /** Processor time of the group at the start of the tree. */
  readonly cpuSecsBefore: number;
  /** Free bytes of the disk at the start. */
  readonly freeBytes: number;
  /** Cap on the folder, or its size at the start where that is larger, so that files can still be deleted. */
  readonly disk: FolderSize;
  measuredAt: number;
  /** Time of the next socket query; infinite during one. */
  socketsAt: number;
}

const MIB = 1024 * 1024;

export class Watch {
  private readonly limits: WatchedLimits;
  private readonly accounts = new Set<Account>();
  /** Size of a folder after its last process. */
  private readonly sizes = new WeakMap<Workdir, FolderSize>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  private readonly sockets: SocketMemory | undefined;

  /** Without `sockets`, socket buffers are not counted. */
  constructor(limits: WatchedLimits, sockets?: SocketMemory) {
    this.limits = limits;
    this.sockets = sockets;
  }

  /** Throws where the folder is too full for another process. */
  admit(workdir: Workdir): void {
    const size = this.sizes.get(workdir);
    const { disk } = this.limits;
    if (size === undefined || (size.bytes <= 2 * disk.bytes && size.entries <= 2 * disk.entries)) return;
    throw new ServiceError(
      "invalid_request",
      "the working directory is full or too deep; end the session for an empty one",
    );
  }

  /** Starts measuring. The result stops it and resolves after a last measurement of the folder, which may take a second. */
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
      const size = folderSize(workdir.path, { bytes: 2 * bytes, entries: 2 * entries });
      const isKept = size.then((found) => this.sizes.set(workdir, found));
      await Promise.race([isKept, Bun.sleep(WORKDIR_LAST_MS)]);
    };
  }

  private schedule(waitMs: number): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const startedAt = performance.now();
      this.look();
      const tookMs = performance.now() - startedAt;
      // Capped: on a busy machine most of the duration is waiting.
      const restMs = Math.min(tookMs * SANDBOX_POLL_SHARE, SANDBOX_POLL_MS_MAX);
      if (this.accounts.size > 0) this.schedule(Math.max(SANDBOX_POLL_MS, restMs));
    }, waitMs);
    this.timer.unref();
  }

  private look(): void {
    const all = processes();
    const looks = [...this.accounts].map((account) => ({ account, members: account.watched.members(all) }));
    for (const { account, members } of looks) {
      // Processes of one private folder share a cap, background processes of earlier calls included.
      const { workdir, guard } = account.watched;
      const together = workdir.isPrivate
        ? looks.flatMap((look) => (look.account.watched.workdir === workdir ? look.members : []))
        : members;
      const guardCpuSecs = all.find(({ pid }) => pid === guard)?.cpuSecs ?? 0;
      const limit = this.brokenBy(account, members, together, guardCpuSecs);
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
    guardCpuSecs: number,
  ): BrokenLimit | undefined {
    const total = (of: (info: ProcessInfo) => number): number =>
      together.reduce((sum, member) => sum + of(member), 0);
    const { group, guard } = account.watched;
    const own =
      group === undefined
        ? members.reduce((sum, { pid, cpuSecs }) => sum + (pid === guard ? 0 : cpuSecs), 0)
        : group.cpuSecs() - account.cpuSecsBefore;
    account.cpuSecs = Math.max(account.cpuSecs, own + guardCpuSecs);
    if (account.cpuSecs > this.limits.cpuSecs) return "cpu";
    if (group !== undefined) return undefined;
    const cap = this.limits.memoryMb * MIB;
    const isOver = total((info) => info.residentBytes) > cap;
    // Resident memory counts shared pages in every process; the exact figure is slow and read only in doubt.
    if (isOver && total((info) => proportionalBytes(info.pid) ?? info.residentBytes) > cap) return "memory";
    // The kernel refuses the next fork at the cap. Twice the cap means that its count was evaded.
    return total((info) => info.threads) > 2 * this.limits.procs ? "procs" : undefined;
  }

  private async measureSockets(account: Account, members: readonly ProcessInfo[]): Promise<void> {
    if (account.watched.group !== undefined) return;
    if (this.sockets === undefined || performance.now() < account.socketsAt) return;
    const room =
      this.limits.memoryMb * MIB - members.reduce((sum, { residentBytes }) => sum + residentBytes, 0);
    if (this.sockets.most(members) <= room) return;
    account.socketsAt = Number.POSITIVE_INFINITY; // one query at a time
    const held = await this.sockets.held(members, account.watched.workdir);
    account.socketsAt = performance.now() + SOCKETS_POLL_MS;
    if (held > Math.max(0, room) && this.accounts.has(account)) this.end(account, "memory");
  }

  private async measureFolder(account: Account): Promise<void> {
    const { workdir } = account.watched;
    if (!workdir.isPrivate || performance.now() - account.measuredAt < WORKDIR_POLL_MS) return;
    account.measuredAt = Number.POSITIVE_INFINITY; // one measurement at a time
    const size = await folderSize(workdir.path, account.disk);
    // Deleted files that are still open show up here alone.
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
