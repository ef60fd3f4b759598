// Memory that a process tree holds in sockets, which no process is charged for: asked of the kernel's socket diagnosis, by
// a helper process in the tree's network (ffi/socket-memory.ts). Whether to ask at all is decided from open files alone.

import { SOCKETS_WORD } from "../core/launcher.ts";
import { SANDBOX_PROBE_MS } from "./limits.ts";
import { openFiles, procLink, procText } from "./proc-files.ts";
import type { ProcessInfo } from "./processes.ts";
import type { Workdir } from "./types.ts";

export class SocketMemory {
  private readonly ownCommand: readonly string[];
  private perFile: number | undefined;

  constructor(ownCommand: readonly string[]) {
    this.ownCommand = ownCommand;
  }

  /** The most that open files of these processes can hold if all of them are sockets, bytes. */
  most(members: readonly ProcessInfo[]): number {
    this.perFile ??= mostPerSocket();
    return members.reduce((sum, { pid }) => sum + openFiles(pid).length, 0) * this.perFile;
  }

  /** What their sockets hold, bytes; 0 where that cannot be asked. */
  async held(members: readonly ProcessInfo[], workdir: Workdir): Promise<number> {
    const here = procLink("/proc/self/ns/net");
    // The first ones may be what has made the network and stands outside of it.
    const inside = members.find(({ pid }) => ![here, ""].includes(procLink(`/proc/${pid}/ns/net`)))?.pid;
    const lines = await this.ask(inside);
    // All sockets of a network of their own are theirs, also those that are under way from one process to another.
    const isTheirs = inside === undefined ? ownership(members, workdir) : () => true;
    const sockets = lines.map((line) => line.split(" ").map(Number));
    return sockets.reduce(
      (sum, [inode = 0, uid = 0, bytes = 0]) => sum + (isTheirs(inode, uid) ? bytes : 0),
      0,
    );
  }

  private async ask(pid: number | undefined): Promise<readonly string[]> {
    const words = [...this.ownCommand, SOCKETS_WORD, ...(pid === undefined ? [] : [String(pid)])];
    // An ordinary user enters by the user namespace that the network belongs to, which takes a process of one thread.
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

/** Where the network is shared: by their user if it is theirs alone, else by their open files. */
function ownership(
  members: readonly ProcessInfo[],
  { uid, isPrivate }: Workdir,
): (inode: number, uid: number) => boolean {
  if (uid !== undefined && isPrivate) return (_inode, owner) => owner === uid;
  const files = new Set(members.flatMap(({ pid }) => openFiles(pid).map(procLink)));
  return (inode) => files.has(`socket:[${inode}]`);
}

/** Both directions of a socket whose buffers are as large as they may be. */
function mostPerSocket(): number {
  const last = (name: string): number => Number(procText(`/proc/sys/net/${name}`).trim().split(/\s+/).at(-1));
  const larger = (plain: string, tcp: string): number => Math.max(2 * last(plain), last(tcp)) || 0;
  return larger("core/wmem_max", "ipv4/tcp_wmem") + larger("core/rmem_max", "ipv4/tcp_rmem");
}
