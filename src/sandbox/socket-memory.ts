// Socket buffer memory of a process tree, which counts for no process. A helper in the tree's network reads the kernel's socket
// diagnosis (ffi/linux/socket-memory.ts). The number of open files decides whether a query is needed.

import { SOCKETS_WORD } from "../core/launcher.ts";
import { linkIn, textIn } from "../core/readable.ts";
import { SANDBOX_PROBE_MS } from "./limits.ts";
import { openFiles, type ProcessInfo } from "./processes.ts";
import type { Workdir } from "./types.ts";

export class SocketMemory {
  private readonly ownCommand: readonly string[];
  private perFile: number | undefined;

  constructor(ownCommand: readonly string[]) {
    this.ownCommand = ownCommand;
  }

  /** Upper bound of socket memory: all open files as full sockets, bytes. */
  most(members: readonly ProcessInfo[]): number {
    this.perFile ??= mostPerSocket();
    return members.reduce((sum, { pid }) => sum + openFiles(pid).length, 0) * this.perFile;
  }

  /** Socket memory of these processes, bytes; 0 where it cannot be queried. */
  async held(members: readonly ProcessInfo[], workdir: Workdir): Promise<number> {
    const here = linkIn("/proc/self/ns/net");
    // The first processes may have created the network and be outside of it.
    const inside = members.find(({ pid }) => ![here, ""].includes(linkIn(`/proc/${pid}/ns/net`)))?.pid;
    const lines = await this.ask(inside);
    // All sockets of a private network count, also those in flight between processes.
    const isTheirs = inside === undefined ? ownership(members, workdir) : () => true;
    const sockets = lines.map((line) => line.split(" ").map(Number));
    return sockets.reduce(
      (sum, [inode = 0, uid = 0, bytes = 0]) => sum + (isTheirs(inode, uid) ? bytes : 0),
      0,
    );
  }

  private async ask(pid: number | undefined): Promise<readonly string[]> {
    const words = [...this.ownCommand, SOCKETS_WORD, ...(pid === undefined ? [] : [String(pid)])];
    // An ordinary user enters by the network's user namespace, which needs a single-threaded process.
    if (pid !== undefined && process.getuid?.() !== 0) words.push(...this.ownCommand, SOCKETS_WORD);
    try {
      const child = Bun.spawn(words, {
        cwd: "/",
        stdio: ["ignore", "pipe", "ignore", "pipe"], // the last one: core/parent-pipe.ts
        timeout: SANDBOX_PROBE_MS,
      });
      const text = await new Response(child.stdout).text();
      return text.split("\n").filter((line) => line !== "");
    } catch {
      return []; // a program is missing
    }
  }
}

/** Filter for a shared network: by a dedicated user, else by open files. */
function ownership(
  members: readonly ProcessInfo[],
  { uid, isPrivate }: Workdir,
): (inode: number, uid: number) => boolean {
  if (uid !== undefined && isPrivate) return (_inode, owner) => owner === uid;
  const files = new Set(members.flatMap(({ pid }) => openFiles(pid).map(linkIn)));
  return (inode) => files.has(`socket:[${inode}]`);
}

/** Memory of a socket with full buffers of the largest size, bytes. */
function mostPerSocket(): number {
  const last = (name: string): number => Number(textIn(`/proc/sys/net/${name}`).split(/\s+/).at(-1));
  const larger = (plain: string, tcp: string): number => Math.max(2 * last(plain), last(tcp)) || 0;
  return larger("core/wmem_max", "ipv4/tcp_wmem") + larger("core/rmem_max", "ipv4/tcp_rmem");
}
