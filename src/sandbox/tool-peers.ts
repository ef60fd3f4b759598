// Detects local connections of tools to this server, for machines without the network guard: from the client's port to its user
// and, where that may be the operator, to its process, by /proc. A connection that cannot be attributed counts as a tool's.

import { networkInterfaces } from "node:os";
import { linkIn, textIn } from "../core/readable.ts";
import { openFiles, type ProcessInfo, processes } from "./processes.ts";

/** Remote end of a connection. */
export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** A running sandboxed process tree. */
export interface LiveTree {
  readonly members: (all: readonly ProcessInfo[]) => readonly ProcessInfo[];
}

interface Row {
  readonly uid: number;
  readonly inode: string;
}

export class ToolPeers {
  private readonly trees = new Set<LiveTree>();
  /** Users of all tools so far: a request outlives the process that sent it. */
  private readonly uids = new Set<number>();

  /** Registers a tree whose processes run as `uid`. The result removes it. */
  add(tree: LiveTree, uid: number): () => void {
    this.trees.add(tree);
    this.uids.add(uid);
    return () => void this.trees.delete(tree);
  }

  /** `ownPort`: the port that the peer connected to. */
  isTool({ address, port }: Peer, ownPort: number): boolean {
    if (this.uids.size === 0 || !isOwnAddress(address)) return false;
    const rows = clientSockets(port, ownPort);
    if (rows.length === 0) return true; // closed already
    const suspects = rows.filter(({ uid, inode }) => this.uids.has(uid) || inode === "0");
    if (suspects.length === 0) return false;
    const all = processes();
    const members = new Set([...this.trees].flatMap((tree) => tree.members(all)).map(({ pid }) => pid));
    const others = all.filter(({ pid }) => !members.has(pid));
    return !suspects.every(({ inode }) => others.some(({ pid }) => holds(pid, `socket:[${inode}]`)));
  }
}

function isOwnAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, "");
  if (/^127\.|^::1$/.test(plain)) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === plain));
}

/** Client-side sockets of this machine between these two ports. */
function clientSockets(port: number, ownPort: number): readonly Row[] {
  const hex = (value: number): string => `:${value.toString(16).toUpperCase().padStart(4, "0")}`;
  return ["tcp", "tcp6"].flatMap((table) =>
    textIn(`/proc/net/${table}`)
      .split("\n")
      .slice(1)
      .flatMap((line) => {
        // proc_net_tcp(5): number local remote state queues timer retransmits uid timeout inode
        const [, local = "", remote = "", , , , , uid, , inode = "0"] = line.trim().split(/\s+/);
        const isClient = local.endsWith(hex(port)) && remote.endsWith(hex(ownPort));
        return isClient ? [{ uid: Number(uid), inode }] : [];
      }),
  );
}

function holds(pid: number, socket: string): boolean {
  return openFiles(pid).some((file) => linkIn(file) === socket);
}
