// Hidden command that reports the memory of all sockets of a network, from the kernel's socket diagnosis (sock_diag(7)):
// one line per socket with its inode, user and bytes. A separate process, because it enters that network.

import { openSync, readFileSync } from "node:fs";
import { must, startProgram } from "./guard-system.ts";
import { diagnosis } from "./socket-diagnosis.ts";

const OWNER_OF_NAMESPACE = 0xb701; // NS_GET_USERNS
const SET_DESCRIPTOR_FLAGS = 2; // F_SETFD
const NEW_NETWORK = 0x4000_0000;

const FAMILY = { unix: 1, inet: 2, inet6: 10 } as const;
const PROTOCOLS = [6, 17]; // TCP, UDP
const DATAGRAM = 2;
/** linux/unix_diag.h: what to show, and where it is in the answer. */
const SHOW = 0x04 | 0x10 | 0x20 | 0x40; // the other end, queue, memory, user
const UNIX = { header: 16, peer: 2, queue: 4, memory: 5, uid: 7 } as const;
/** linux/inet_diag.h */
const INET = { header: 72, memory: 7 } as const;
/** Places in a socket's memory, linux/sock_diag.h: 32-bit numbers. */
const MEMORY = { received: 0, sent: 2, sendMax: 3, ahead: 4, queued: 5, backlog: 7 } as const;

type Environment = Readonly<Record<string, string | undefined>>;

interface Held {
  readonly inode: number;
  readonly uid: number;
  readonly bytes: number;
}

/**
 * Prints the sockets of the network that a process is in; without one, of its own. With a command,
 * runs it in that network. Returns an exit code.
 */
export function socketsMain([pid, ...command]: readonly string[], env: Environment): number {
  try {
    if (pid !== undefined && command.length > 0) return runInside(pid, command, env);
    if (pid !== undefined) must("setns", openSync(`/proc/${pid}/ns/net`, "r"), NEW_NETWORK);
    console.log(
      socketMemory()
        .flatMap(({ inode, uid, bytes }) => (bytes > 0 ? [`${inode} ${uid} ${bytes}`] : []))
        .join("\n"),
    );
    return 0;
  } catch (error) {
    console.error(String(error));
    return 1;
  }
}

/** Runs a command in the network of a process, by way of the user namespace that owns it. */
function runInside(pid: string, command: readonly string[], env: Environment): number {
  const path = `/proc/${pid}/ns/net`;
  const owner = must("ioctl", openSync(path, "r"), OWNER_OF_NAMESPACE);
  must("fcntl", owner, SET_DESCRIPTOR_FLAGS, 0);
  const enter = ["nsenter", `--user=/proc/self/fd/${owner}`, `--net=${path}`, "--preserve-credentials", "--"];
  const words = ["/bin/sh", "-c", 'exec "$@"', "sh", ...enter, ...command];
  const status = Buffer.alloc(4);
  must("wait4", startProgram(words, env), status, 0, 0);
  return status.readInt32LE(0) === 0 ? 0 : 1;
}

function socketMemory(): readonly Held[] {
  const unix = Buffer.alloc(24);
  unix.writeUInt8(FAMILY.unix, 0);
  unix.writeUInt32LE(0xffff_ffff, 4);
  unix.writeUInt32LE(SHOW, 12);
  const inet = [FAMILY.inet, FAMILY.inet6].flatMap((family) =>
    PROTOCOLS.map((protocol) => {
      const request = Buffer.alloc(56);
      request.writeUInt8(family, 0);
      request.writeUInt8(protocol, 1);
      request.writeUInt8(1 << (INET.memory - 1), 2);
      request.writeUInt32LE(0xffff_ffff, 4);
      return request;
    }),
  );
  const dump = (request: Buffer): readonly Buffer[] => diagnosis(request) ?? [];
  return [...dump(unix).map(unixSocket), ...inet.flatMap((request) => dump(request).map(inetSocket))];
}

function unixSocket(body: Buffer): Held {
  const of = attributes(body, UNIX.header);
  const memory = of.get(UNIX.memory);
  const number = (place: number): number => memory?.readUInt32LE(place * 4) ?? 0;
  const queued = of.get(UNIX.queue)?.readUInt32LE(0) ?? 0;
  // What a closed socket has sent is not counted: at worst it is a full buffer, or as many as may queue.
  const isLeft = queued > 0 && (of.get(UNIX.peer)?.readUInt32LE(0) ?? 0) === 0;
  const most = Math.max(number(MEMORY.sendMax), 2 * setting("core/wmem_max"));
  const left = isLeft ? most * (body.readUInt8(1) === DATAGRAM ? setting("unix/max_dgram_qlen") : 1) : 0;
  return {
    inode: body.readUInt32LE(4),
    uid: of.get(UNIX.uid)?.readUInt32LE(0) ?? 0,
    bytes: number(MEMORY.sent) - 1 + left, // an idle one shows 1
  };
}

function inetSocket(body: Buffer): Held {
  const memory = attributes(body, INET.header).get(INET.memory);
  const number = (place: number): number => memory?.readUInt32LE(place * 4) ?? 0;
  const places: readonly number[] = [MEMORY.received, MEMORY.queued, MEMORY.ahead, MEMORY.backlog];
  return {
    inode: body.readUInt32LE(68),
    uid: body.readUInt32LE(64),
    bytes: places.reduce((sum, place) => sum + number(place), 0),
  };
}

/** Attributes of a netlink message, by type. */
function attributes(body: Buffer, from: number): ReadonlyMap<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = from; at + 4 <= body.byteLength;) {
    const length = body.readUInt16LE(at);
    if (length < 4) break;
    found.set(body.readUInt16LE(at + 2), body.subarray(at + 4, at + length));
    at += (length + 3) & ~3;
  }
  return found;
}

/** A number of the kernel's network settings; 0 where it is not told. */
function setting(name: string): number {
  try {
    return Number(readFileSync(`/proc/sys/net/${name}`, "latin1"));
  } catch {
    return 0;
  }
}
