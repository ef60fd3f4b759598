// bind and listen, made by the network guard in place of a confined process: a session serves no port that another program of
// this machine serves at any of its addresses. Else code could take [::1] of a port that this server has at 127.0.0.1, and
// browsers would bring it keys and conversations. And it serves this machine alone.

import { readFileSync } from "node:fs";
import { destinationOf, FAMILY } from "./guard-addresses.ts";
import { areOwn, socketsAt } from "./guard-owners.ts";
import { call, ERRNO, SOL_SOCKET } from "./guard-system.ts";

/** An open socket of the process, as the guard's duplicate. */
export interface ServerSocket {
  readonly fd: number;
  readonly domain: number;
  readonly isStream: boolean;
}

/** The kernel makes the call itself. It reads the arguments again, so nothing may depend on what was seen of them. */
export const CONTINUE = "continue";

const ADDRESS_BYTES_MAX = 128;
const SO_BINDTOIFINDEX = 62;
/** Index of the loopback device in every network namespace, where all connections of this machine to itself arrive. */
const LOOPBACK = 1;

/**
 * Binds an internet socket. Others name files of the process's own file system, which only the kernel can create for it under the name that
 * getsockname(2) then reports. A descriptor that is swapped meanwhile may bind a UDP port (docs/sandbox.md); `listen` looks again.
 */
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

/**
 * Binds a socket to the loopback device: what other machines send does not reach it, whatever its address. Only a process
 * with a right that confined ones lack can undo it. A negative error where the process has chosen another device.
 */
function closeToNetwork(fd: number): number {
  const device = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(device.byteLength);
  const known = call("getsockopt", fd, SOL_SOCKET, SO_BINDTOIFINDEX, device, length);
  if (known < 0 || device.readInt32LE() === LOOPBACK) return known;
  device.writeInt32LE(LOOPBACK);
  return call("setsockopt", fd, SOL_SOCKET, SO_BINDTOIFINDEX, device, device.byteLength);
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
