// bind and listen, made by the network guard in place of a confined process: a session serves no port that another program of
// this machine serves at any of its addresses. Else code could take [::1] of a port that this server has at 127.0.0.1, and
// browsers would bring it keys and conversations. And it serves this machine alone.

import { readFileSync } from "node:fs";
import { ptr } from "bun:ffi";
import { destinationOf, FAMILY } from "./guard-addresses.ts";
import { areOwn, socketsAt } from "./guard-owners.ts";
import { call, ERRNO, numbers64, SOL_SOCKET } from "./guard-system.ts";

/** An open socket of the process, as the guard's duplicate. */
export interface ServerSocket {
  readonly fd: number;
  readonly domain: number;
  readonly isStream: boolean;
}

/** The kernel makes the call itself. It reads the arguments again, so nothing may depend on what was seen of them. */
export const CONTINUE = "continue";

const ADDRESS_BYTES_MAX = 128;
const SO_ATTACH_FILTER = 26;
const SO_LOCK_FILTER = 44;

/**
 * Filter of a listening socket, as linux/filter.h has it: drops segments that another machine sent. Those of this machine come
 * from 127.0.0.0/8, or from the address that they go to. Offsets are those of the IP header.
 */
const FROM_HERE = filterProgram();

function filterProgram(): Uint8Array {
  const header = (offset: number): number => 0xfff0_0000 + offset; // SKF_NET_OFF
  const [loadByte, loadWord, toX, shift, isEqual, isX, end] = [0x30, 0x20, 0x07, 0x74, 0x15, 0x1d, 0x06];
  // Code, jumps where true and false, operand. Jumps count the instructions that they skip.
  const program: readonly (readonly [number, number, number, number])[] = [
    [loadByte, 0, 0, header(0)],
    [shift, 0, 0, 4],
    [isEqual, 6, 0, 6],
    [loadWord, 0, 0, header(12)],
    [toX, 0, 0, 0],
    [shift, 0, 0, 24],
    [isEqual, 19, 0, 127],
    [loadWord, 0, 0, header(16)],
    [isX, 17, 16, 0],
    ...[0, 4, 8, 12].flatMap((word): (readonly [number, number, number, number])[] => [
      [loadWord, 0, 0, header(8 + word)],
      [toX, 0, 0, 0],
      [loadWord, 0, 0, header(24 + word)],
      [isX, word === 12 ? 1 : 0, word === 12 ? 0 : 12 - word, 0],
    ]),
    [end, 0, 0, 0],
    [end, 0, 0, 0xffff_ffff],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, whenTrue, whenFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  return bytes;
}

/** Binds an internet socket. Others name files of the process's own file system, which only the kernel can create for it. */
export function bind(socket: ServerSocket, address: Buffer, session: string): number | typeof CONTINUE {
  if (!isInternet(socket)) return CONTINUE;
  const { fd, isStream } = socket;
  const port = portIn(address);
  if (port === undefined) return -ERRNO.EAFNOSUPPORT;
  if (isReserved(port)) return -ERRNO.EACCES;
  if (port !== 0 && isServedByOthers(isStream, port, session)) return -ERRNO.EADDRINUSE;
  return call("bind", fd, address, address.byteLength);
}

/** The port that counts is the socket's own, which cannot change between the look and the call. */
export function listen(socket: ServerSocket, backlog: number, session: string): number {
  const { fd, isStream } = socket;
  if (!isInternet(socket)) return call("listen", fd, backlog);
  // A second thread may bind it until it has a port. The kernel takes any free one for a socket without.
  if (ownPort(fd) === 0) call("bind", fd, wildcard(socket.domain), wildcard(socket.domain).byteLength);
  const port = ownPort(fd);
  if (port === 0) return -ERRNO.EINVAL;
  if (isServedByOthers(isStream, port, session)) return -ERRNO.EADDRINUSE;
  const closed = closeToNetwork(fd);
  return closed < 0 ? closed : call("listen", fd, backlog);
}

function isInternet({ domain }: ServerSocket): boolean {
  return domain === FAMILY.inet || domain === FAMILY.inet6;
}

function isServedByOthers(isStream: boolean, port: number, session: string): boolean {
  const takers = socketsAt(isStream ? "tcp" : "udp", port);
  return takers.length > 0 && !areOwn(takers, session);
}

/** A negative error where the process has locked a filter of its own. */
function closeToNetwork(fd: number): number {
  const program = numbers64(FROM_HERE.byteLength / 8, ptr(FROM_HERE)); // struct sock_fprog
  const attached = call("setsockopt", fd, SOL_SOCKET, SO_ATTACH_FILTER, program, program.byteLength);
  const on = Buffer.from([1, 0, 0, 0]);
  return attached < 0 ? attached : call("setsockopt", fd, SOL_SOCKET, SO_LOCK_FILTER, on, on.byteLength);
}

/** Of a sockaddr. IPv4 sockets accept the address of all without a family. */
function portIn(address: Buffer): number | undefined {
  if (address.byteLength < 16) return undefined;
  const isAnyFamily = address.readUInt16LE(0) === FAMILY.unspecified;
  return isAnyFamily ? address.readUInt16BE(2) : destinationOf(address)?.port;
}

function ownPort(fd: number): number {
  const address = Buffer.alloc(ADDRESS_BYTES_MAX);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(address.byteLength);
  return call("getsockname", fd, address, length) < 0 ? 0 : address.readUInt16BE(2);
}

function wildcard(domain: number): Buffer {
  const address = Buffer.alloc(domain === FAMILY.inet ? 16 : 28);
  address.writeUInt16LE(domain);
  return address;
}

/** Ports that need a right which a guard of root has and the process has not. */
function isReserved(port: number): boolean {
  if (port === 0 || process.getuid?.() !== 0) return false;
  try {
    return port < Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "latin1"));
  } catch {
    return port < 1024;
  }
}
