// Whether a socket of this machine belongs to the session that a guard watches: a development server that one call has
// started and another one asks. Found by /proc: port or name → inode → process → guard above it. Never by its user, whom
// the operator's own programs may run as.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { GUARD_WORD, type GuardPolicy } from "../src/core/launcher.ts";

export type Transport = "tcp" | "udp";

const LISTENING = "0A";

/** Inodes of the sockets that take what is sent to a port of this machine. */
export function socketsAt(transport: Transport, port: number): readonly string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return [transport, `${transport}6`].flatMap((table) =>
    lines(`/proc/net/${table}`).flatMap((line) => {
      // proc_net_tcp(5): number local remote state queues timer retransmits uid timeout inode
      const [, local = "", , state, , , , , , inode = "0"] = line.trim().split(/\s+/);
      const isTaker = transport === "udp" || state === LISTENING;
      return isTaker && local.endsWith(`:${wanted}`) ? [inode] : [];
    }),
  );
}

/** Inodes of the UNIX sockets of an abstract name. */
export function abstractSockets(name: string): readonly string[] {
  return lines("/proc/net/unix").flatMap((line) => {
    const [, , , , , , inode = "0", path] = line.trim().split(/\s+/);
    return path === `@${name}` ? [inode] : [];
  });
}

/** Whether there are such sockets and processes of the session hold them all. Takes the same time for any. */
export function areOwn(inodes: readonly string[], session: string): boolean {
  const missing = new Set(inodes.map((inode) => `socket:[${inode}]`));
  for (const pid of membersOf(session)) for (const target of descriptors(pid)) missing.delete(target);
  return inodes.length > 0 && missing.size === 0;
}

interface Relation {
  readonly pid: number;
  readonly parent: number;
  readonly leader: number;
}

function membersOf(session: string): readonly number[] {
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? relation(Number(name)) : []));
  const guards = new Set(
    all.filter(({ pid, leader }) => pid === leader && isGuard(pid, session)).map(({ pid }) => pid),
  );
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const isBelow = (pid: number | undefined): boolean => {
    for (let at = pid; at !== undefined && at > 1; at = parents.get(at)) if (guards.has(at)) return true;
    return false;
  };
  return all.flatMap(({ pid, parent, leader }) =>
    !guards.has(pid) && (guards.has(leader) || isBelow(parent)) ? [pid] : [],
  );
}

function isGuard(pid: number, session: string): boolean {
  const words = text(`/proc/${pid}/cmdline`).split("\0");
  const at = words.indexOf(GUARD_WORD);
  try {
    return at > 0 && (JSON.parse(words[at + 1] ?? "") as GuardPolicy).session === session;
  } catch {
    return false;
  }
}

function relation(pid: number): readonly Relation[] {
  const stat = text(`/proc/${pid}/stat`);
  const [, parent, , leader] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return stat === "" ? [] : [{ pid, parent: Number(parent), leader: Number(leader) }];
}

function descriptors(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

function lines(file: string): readonly string[] {
  return text(file).split("\n").slice(1);
}

function text(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
