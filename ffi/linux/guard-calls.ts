// connect, sendto, sendmsg and sendmmsg, made by the network guard in place of a confined process. Everything is copied
// before it is judged, and what was judged is what is used: the process cannot change it any more. None of these calls is
// ever let through to the kernel, because a descriptor or an address may be swapped between a look and the call.

import { ptr } from "bun:ffi";
import type { GuardPolicy } from "../../src/core/launcher.ts";
import { type Destination, destinationOf, FAMILY, isNameServer, placeOf } from "./guard-addresses.ts";
import { abstractSockets, areOwn, socketsAt } from "./guard-owners.ts";
import { call, ERRNO, numberOf, socketOption, writeMemory } from "./guard-system.ts";
import { bind, type CONTINUE, listen, type ServerSocket } from "./guard-servers.ts";
import { passableControl } from "./guard-control.ts";
import type { Target } from "./guard-target.ts";

/** A call as the kernel reports it. */
export interface Wanted {
  readonly number: number;
  readonly args: readonly number[];
}

/** A result or negative error; or `again`, once the descriptor can be written to, then `close`, and the descriptor too. */
type Sent = number | { readonly fd: number; readonly again: () => number; readonly close: () => void };

export type Result = Sent | typeof CONTINUE;

const SO_TYPE = 3;
const SO_ERROR = 4;
const SO_DOMAIN = 39;
const STREAM = 1;
const F_GETFL = 3;
const F_SETFL = 4;
const NON_BLOCKING = 0o4000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_FASTOPEN = 0x2000_0000;
const ADDRESS_BYTES_MAX = 128;
/** A stream takes the rest with the next call; no datagram is larger. */
const DATA_BYTES_MAX = 1 << 20;
const PARTS_MAX = 1024;
const HEADER_BYTES = 56; // struct msghdr
const MULTIPLE_HEADER_BYTES = 64; // struct mmsghdr
const MESSAGES_MAX = 64;

/** An address to use, or the negative error. */
type Judged = number | { readonly bytes: Uint8Array; readonly close?: () => void };

interface Socket extends ServerSocket {
  readonly isBlocking: boolean;
}

/** A message to send: copied, not yet judged. */
interface Message {
  readonly address: Buffer | undefined;
  readonly data: Buffer;
  readonly control: Buffer | undefined;
  readonly flags: number;
}

/** Makes the call. `isValid` tells whether the process still waits for it, so that what was read is its own. */
export function perform(wanted: Wanted, target: Target, policy: GuardPolicy, isValid: () => boolean): Result {
  const fd = target.duplicate((wanted.args[0] ?? 0) | 0);
  if (fd < 0) return fd;
  let result: Result | undefined;
  try {
    const socket = socketOf(fd);
    result = typeof socket === "number" ? socket : performOn(socket, wanted, target, policy, isValid);
    return result;
  } finally {
    if (typeof result !== "object") call("close", fd); // also where something threw
  }
}

function performOn(
  socket: Socket,
  { number, args: [, first = 0, second = 0, third = 0, fourth = 0, fifth = 0] }: Wanted,
  target: Target,
  policy: GuardPolicy,
  isValid: () => boolean,
): Result {
  switch (number) {
    case numberOf("listen"):
      return isValid() ? listen(socket, first | 0, policy.session) : -ERRNO.EINTR;
    case numberOf("bind"): {
      const address = copyAddress(target, first, second | 0) ?? -ERRNO.EINVAL;
      if (typeof address === "number") return address;
      return isValid() ? bind(socket, address, policy.session) : -ERRNO.EINTR;
    }
    case numberOf("connect"):
      return connect(socket, copyAddress(target, first, second | 0), target, policy, isValid);
    case numberOf("sendto"): {
      const data = target.memory({ address: first, bytes: dataBytes(socket, second) });
      const address = copyAddress(target, fourth, fifth | 0);
      if (data === undefined || typeof address === "number") return -ERRNO.EFAULT;
      return send(socket, { address, data, control: undefined, flags: third | 0 }, target, policy, isValid);
    }
    case numberOf("sendmsg"): {
      const message = copyMessage(socket, target, first, second | 0);
      return typeof message === "number" ? message : send(socket, message, target, policy, isValid);
    }
    default: {
      const vector = { address: first, count: second >>> 0, flags: third | 0 };
      return sendMany(socket, vector, target, policy, isValid);
    }
  }
}

function socketOf(fd: number): Socket | number {
  const domain = socketOption(fd, SO_DOMAIN);
  if (domain < 0) return domain;
  const isBlocking = (call("fcntl", fd, F_GETFL, 0) & NON_BLOCKING) === 0;
  return { fd, domain, isStream: socketOption(fd, SO_TYPE) === STREAM, isBlocking };
}

function copyAddress(target: Target, address: number, bytes: number): Buffer | undefined | number {
  if (address === 0 || bytes === 0) return undefined;
  if (bytes < 2 || bytes > ADDRESS_BYTES_MAX) return -ERRNO.EINVAL;
  return target.memory({ address, bytes }) ?? -ERRNO.EFAULT;
}

function dataBytes({ isStream }: Socket, bytes: number): number {
  return isStream ? Math.min(bytes, DATA_BYTES_MAX) : Math.min(bytes, DATA_BYTES_MAX + 1);
}

function connect(
  socket: Socket,
  address: Buffer | undefined | number,
  target: Target,
  policy: GuardPolicy,
  isValid: () => boolean,
): Sent {
  if (address === undefined) return -ERRNO.EINVAL;
  if (typeof address === "number") return address;
  const isEnd = address.readUInt16LE(0) === FAMILY.unspecified; // ends the association
  const judged: Judged = isEnd ? { bytes: address } : judge(socket, address, target, policy);
  if (typeof judged === "number") return judged;
  try {
    if (!isValid()) return -ERRNO.EINTR;
    const result = withoutBlocking(socket, () =>
      call("connect", socket.fd, judged.bytes, judged.bytes.byteLength),
    );
    const isUnderWay = result === -ERRNO.EINPROGRESS || result === -ERRNO.EALREADY;
    if (!isUnderWay || !socket.isBlocking) return result;
    const { fd } = socket;
    return { fd, again: () => -socketOption(fd, SO_ERROR), close: () => {} };
  } finally {
    judged.close?.();
  }
}

/** Whether a call may wait is a property of the open socket, which the process shares: it is changed for a moment only. */
function withoutBlocking(socket: Socket, work: () => number): number {
  if (!socket.isBlocking) return work();
  const flags = call("fcntl", socket.fd, F_GETFL, 0);
  call("fcntl", socket.fd, F_SETFL, flags | NON_BLOCKING);
  try {
    return work();
  } finally {
    call("fcntl", socket.fd, F_SETFL, flags);
  }
}

function judge(socket: Socket, address: Buffer, target: Target, policy: GuardPolicy): Judged {
  const { domain } = socket;
  if (domain === FAMILY.netlink) return { bytes: address };
  if (domain === FAMILY.unix) return judgeUnix(address, target, policy);
  if (domain !== FAMILY.inet && domain !== FAMILY.inet6) return -ERRNO.EAFNOSUPPORT;
  const destination = destinationOf(address);
  if (destination === undefined) return -ERRNO.EAFNOSUPPORT;
  const place = placeOf(destination);
  if (typeof place === "object") return -place.error;
  if (place === "outside" || isNameServer(destination)) return { bytes: address };
  return place === "here" ? judgeOwn(destination, address, socket, policy) : -ERRNO.EACCES;
}

/** Of this machine only what the session itself has started. Ports of others look closed, also by the time that it takes. */
function judgeOwn({ port }: Destination, address: Buffer, socket: Socket, { session }: GuardPolicy): Judged {
  const takers = socketsAt(socket.isStream ? "tcp" : "udp", port);
  return areOwn(takers, session) ? { bytes: address } : -ERRNO.ECONNREFUSED;
}

function judgeUnix(address: Buffer, target: Target, { session, allowsUnixSockets }: GuardPolicy): Judged {
  if (!allowsUnixSockets || address.readUInt16LE(0) !== FAMILY.unix || address.byteLength < 3)
    return -ERRNO.EACCES;
  const name = address.subarray(2);
  if (name[0] === 0) {
    const text = name.subarray(1).toString("latin1");
    if (!/^[\w./:-]+$/.test(text)) return -ERRNO.ECONNREFUSED;
    return areOwn(abstractSockets(text), session) ? { bytes: address } : -ERRNO.ECONNREFUSED;
  }
  const end = name.indexOf(0);
  const place = target.openSocketFile(name.subarray(0, end < 0 ? undefined : end).toString());
  if (place < 0) return place;
  const bytes = Buffer.from(`\x01\x00/proc/self/fd/${place}\0`, "latin1");
  return { bytes, close: () => void call("close", place) };
}

function copyMessage(socket: Socket, target: Target, address: number, flags: number): Message | number {
  const header = target.memory({ address, bytes: HEADER_BYTES });
  if (header === undefined) return -ERRNO.EFAULT;
  const at = (offset: number): number => Number(header.readBigUInt64LE(offset));
  const name = copyAddress(target, at(0), header.readInt32LE(8));
  const count = at(24);
  const controlBytes = at(40);
  if (typeof name === "number") return name;
  if (count > PARTS_MAX || controlBytes > 65_536) return -ERRNO.EMSGSIZE;
  const table = target.memory({ address: at(16), bytes: count * 16 });
  if (table === undefined) return -ERRNO.EFAULT;
  let room = dataBytes(socket, Number.MAX_SAFE_INTEGER);
  const parts = Array.from({ length: count }, (_, index) => {
    const bytes = Math.min(Number(table.readBigUInt64LE(index * 16 + 8)), room);
    room -= bytes;
    return { address: Number(table.readBigUInt64LE(index * 16)), bytes };
  });
  const data = target.memory(...parts);
  const control =
    at(32) === 0 || controlBytes === 0 ? undefined : target.memory({ address: at(32), bytes: controlBytes });
  if (data === undefined || (control === undefined && at(32) !== 0 && controlBytes > 0)) return -ERRNO.EFAULT;
  return { address: name, data, control, flags };
}

function send(
  socket: Socket,
  message: Message,
  target: Target,
  policy: GuardPolicy,
  isValid: () => boolean,
): Sent {
  if ((message.flags & MSG_FASTOPEN) !== 0) return -ERRNO.EOPNOTSUPP;
  if (message.data.byteLength > DATA_BYTES_MAX) return -ERRNO.EMSGSIZE;
  const isInet = socket.domain === FAMILY.inet || socket.domain === FAMILY.inet6;
  // A stream has its other end already; the kernel looks at no address then.
  const address = isInet && socket.isStream ? undefined : message.address;
  const judged = address === undefined ? undefined : judge(socket, address, target, policy);
  if (typeof judged === "number") return judged;
  const control = passableControl(message.control, socket.domain, target);
  if (typeof control === "number") {
    judged?.close?.();
    return control;
  }
  const close = (): void => {
    judged?.close?.();
    control.close();
  };
  const attempt = (): number => sendOnce(socket.fd, message, judged?.bytes, control.bytes);
  if (!isValid()) {
    close();
    return -ERRNO.EINTR;
  }
  const result = attempt();
  const mayWait = socket.isBlocking && (message.flags & MSG_DONTWAIT) === 0;
  if (result !== -ERRNO.EAGAIN || !mayWait) {
    close();
    return result;
  }
  return { fd: socket.fd, again: attempt, close };
}

function sendOnce(
  fd: number,
  { data, flags }: Message,
  address: Uint8Array | undefined,
  control: Uint8Array | undefined,
): number {
  const part = Buffer.alloc(16);
  part.writeBigUInt64LE(BigInt(data.byteLength === 0 ? 0 : ptr(data)), 0);
  part.writeBigUInt64LE(BigInt(data.byteLength), 8);
  const header = Buffer.alloc(HEADER_BYTES);
  if (address !== undefined) {
    header.writeBigUInt64LE(BigInt(ptr(address)), 0);
    header.writeInt32LE(address.byteLength, 8);
  }
  header.writeBigUInt64LE(BigInt(ptr(part)), 16);
  header.writeBigUInt64LE(1n, 24);
  if (control !== undefined) {
    header.writeBigUInt64LE(BigInt(ptr(control)), 32);
    header.writeBigUInt64LE(BigInt(control.byteLength), 40);
  }
  return call("sendmsg", fd, header, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
}

/** Sends as many of the messages as can go at once; the caller sends the rest, as with the kernel's own. */
function sendMany(
  socket: Socket,
  { address, count, flags }: { readonly address: number; readonly count: number; readonly flags: number },
  target: Target,
  policy: GuardPolicy,
  isValid: () => boolean,
): Sent {
  let sent = 0;
  for (; sent < Math.min(count, MESSAGES_MAX); sent++) {
    const at = address + sent * MULTIPLE_HEADER_BYTES;
    const message = copyMessage(socket, target, at, flags);
    const result = typeof message === "number" ? message : send(socket, message, target, policy, isValid);
    if (typeof result === "object") {
      if (sent === 0) return { ...result, again: () => countedAgain(result.again(), target, at) };
      result.close();
      break;
    }
    if (result < 0) return sent === 0 ? result : sent;
    writeLength(target, at, result);
  }
  return sent;
}

function countedAgain(result: number, target: Target, at: number): number {
  if (result >= 0) writeLength(target, at, result);
  return result >= 0 ? 1 : result;
}

function writeLength(target: Target, at: number, bytes: number): void {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes);
  writeMemory(target.tid, at + HEADER_BYTES, length);
}
