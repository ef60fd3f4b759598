// A process that waits in a system call which the network guard makes in its place: its memory, its descriptors, its files.

import { readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { call, ERRNO, numbers64, readMemory, type Stretch } from "./guard-system.ts";
import { cText } from "../text.ts";

const RESOLVE_IN_ROOT = 0x10;
const RESOLVE_NO_MAGIC_LINKS = 0x02;
const OPEN_AS_PATH = 0o10_000_000 | 0o2_000_000; // O_PATH, O_CLOEXEC

export class Target {
  /** Of the thread. */
  readonly tid: number;
  private readonly pidfd: number;

  /** Throws where the thread is gone. */
  constructor(tid: number) {
    this.tid = tid;
    const group = /^Tgid:\s+(\d+)/m.exec(readFileSync(`/proc/${tid}/status`, "latin1"))?.[1];
    this.pidfd = call("pidfd_open", Number(group), 0);
    if (this.pidfd < 0) throw new Error("the process is gone");
  }

  /** A duplicate of one of its descriptors, or the negative error. */
  duplicate(fd: number): number {
    const copy = call("pidfd_getfd", this.pidfd, fd, 0);
    return copy === -ERRNO.EPERM ? -ERRNO.EACCES : copy;
  }

  memory(...stretches: readonly Stretch[]): Buffer | undefined {
    return readMemory(this.tid, stretches);
  }

  /**
   * A socket in its file system, opened as a place: a descriptor, or the negative error. Links lead where they lead in
   * there. It may only use what its user may write to.
   */
  openSocketFile(path: string): number {
    let root = -1;
    let place = -1;
    try {
      const absolute = path.startsWith("/") ? path : join(readlinkSync(`/proc/${this.tid}/cwd`), path);
      root = call("openat2", -100, cText(`/proc/${this.tid}/root`), numbers64(OPEN_AS_PATH, 0, 0), 24);
      if (root < 0) return root;
      const how = numbers64(OPEN_AS_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGIC_LINKS);
      place = call("openat2", root, cText(absolute), how, 24);
      if (place < 0) return place;
      const { mode, uid } = statSync(`/proc/self/fd/${place}`);
      const isWritable = (mode & 0o002) !== 0 || (uid === this.uid() && (mode & 0o200) !== 0);
      if (isWritable) return place;
    } catch {
      // the process is gone
    } finally {
      if (root >= 0) call("close", root);
    }
    if (place >= 0) call("close", place);
    return -ERRNO.EACCES;
  }

  /** Whether a signal waits for it that it does not block: then a call that blocks must end. */
  hasSignal(): boolean {
    try {
      const status = readFileSync(`/proc/${this.tid}/status`, "latin1");
      const mask = (name: string): bigint =>
        BigInt(`0x${new RegExp(`^${name}:\\s+(\\w+)`, "m").exec(status)?.[1] ?? "0"}`);
      return ((mask("SigPnd") | mask("ShdPnd")) & ~mask("SigBlk")) !== 0n;
    } catch {
      return true;
    }
  }

  close(): void {
    call("close", this.pidfd);
  }

  private uid(): number {
    return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${this.tid}/status`, "latin1"))?.[1]);
  }
}
