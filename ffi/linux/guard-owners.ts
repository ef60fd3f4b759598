// Whether a socket of this machine belongs to the session that a guard watches: a development server that one call has
// started and another one asks. Found by /proc: port or name → inode → process → guard above it. Never by its user, whom
// the operator's own programs may run as.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { diagnosis } from "./socket-diagnosis.ts";
import { GUARD_WORD, type GuardPolicy } from "../../src/core/launcher.ts";

export type Transport = "tcp" | "udp";

const LISTENING = "0A";

const PROTOCOL = { tcp: 6, udp: 17 } as const;
const FAMILIES = [2, 10]; // AF_INET, AF_INET6
const LISTEN_STATE = 1 << 10;
const ALL_STATES = 0xffff_ffff;

/** Inodes of the sockets that take what is sent to a port of this machine. */
export function socketsAt(transport: Transport, port: number): readonly string[] {
  const found = FAMILIES.map((family) => diagnosed(transport, family, port));
  return found.some((inodes) => inodes === undefined)
    ? listedAt(transport, port)
    : found.flatMap((inodes) => inodes ?? []);
}

/** From the kernel's diagnosis: /proc/net/tcp walks the table of all connections, which takes milliseconds. */
function diagnosed(transport: Transport, family: number, port: number): readonly string[] | undefined {
  const request = Buffer.alloc(56); // struct inet_diag_req_v2
  request.writeUInt8(family, 0);
  request.writeUInt8(PROTOCOL[transport], 1);
  request.writeUInt32LE(transport === "tcp" ? LISTEN_STATE : ALL_STATES, 4);
  request.writeUInt16BE(port, 8);
  // struct inet_diag_msg: the port is at 4, the inode at 68
  const own = diagnosis(request)?.filter((body) => body.readUInt16BE(4) === port);
  return own?.map((body) => String(body.readUInt32LE(68)));
}

function listedAt(transport: Transport, port: number): readonly string[] {
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
