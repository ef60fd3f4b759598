// System calls of the network guard (network-guard.ts), by number and with the error that libc keeps beside the result.
// Knows the layout of the kernel's structures and nothing of what may be reached.

import { dlopen, ptr, read } from "bun:ffi";
import { cText } from "../text.ts";

const SYMBOLS = {
  syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" },
  __errno_location: { args: [], returns: "ptr" },
  posix_spawn: { args: ["ptr", "ptr", "u64", "u64", "ptr", "ptr"], returns: "i32" },
} as const;

/** Column of the numbers below. */
const COLUMN = process.arch === "arm64" ? 1 : 0;
const NUMBERS = {
  bind: [49, 200],
  close: [3, 57],
  connect: [42, 203],
  dup3: [292, 24],
  fcntl: [72, 25],
  getsockname: [51, 204],
  getsockopt: [55, 209],
  ioctl: [16, 29],
  listen: [50, 201],
  openat2: [437, 437],
  pidfd_getfd: [438, 438],
  pidfd_open: [434, 434],
  ppoll: [271, 73],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  read: [0, 63],
  recvfrom: [45, 207],
  seccomp: [317, 277],
  sendmmsg: [307, 269],
  sendmsg: [46, 211],
  sendto: [44, 206],
  setsockopt: [54, 208],
  setns: [308, 268],
  socket: [41, 198],
  socketpair: [53, 199],
  wait4: [61, 260],
  write: [1, 64],
} as const;

export type CallName = keyof typeof NUMBERS;

/** Number of a system call on this processor. */
export function numberOf(name: CallName): number {
  return NUMBERS[name][COLUMN];
}

/** Errors of the kernel, as their numbers. */
export const ERRNO = {
  EPERM: 1,
  EINTR: 4,
  EBADF: 9,
  EAGAIN: 11,
  EACCES: 13,
  EFAULT: 14,
  EINVAL: 22,
  EMSGSIZE: 90,
  EOPNOTSUPP: 95,
  EAFNOSUPPORT: 97,
  EADDRINUSE: 98,
  ECONNREFUSED: 111,
  EALREADY: 114,
  EINPROGRESS: 115,
} as const;

const POLL_FD_BYTES = 8;
const IOV_BYTES = 16;

/** A file descriptor to wait for. */
export interface Awaited {
  readonly fd: number;
  readonly events: number;
}

const { symbols } = dlopen("libc.so.6", SYMBOLS);
const errnoAddress = symbols.__errno_location();

/** Makes a system call. The result is below zero, the negative error, where it fails. Buffers are passed by address. */
export function call(name: CallName, ...args: readonly (number | Uint8Array | null)[]): number {
  const at = (index: number): number => {
    const value = args[index];
    if (value === undefined || value === null) return 0;
    return typeof value === "number" ? value : ptr(value);
  };
  const result = Number(symbols.syscall(numberOf(name), at(0), at(1), at(2), at(3), at(4), at(5)));
  return result < 0 && errnoAddress !== null ? -read.i32(errnoAddress, 0) : result;
}

/** The same; throws where it fails. */
export function must(name: CallName, ...args: readonly (number | Uint8Array | null)[]): number {
  const result = call(name, ...args);
  if (result < 0) throw new Error(`${name} failed with error ${-result}`);
  return result;
}

/** Starts a program with all descriptors that are not closed on execution. Returns its process id. */
export function startProgram(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): number {
  const pid = Buffer.alloc(8);
  const texts = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  );
  const [argv, envp] = [textList(words), textList(texts)];
  const error = symbols.posix_spawn(pid, cText(words[0] ?? ""), 0, 0, argv.array, envp.array);
  if (error !== 0) throw new Error(`${words[0]} cannot be started (error ${error})`);
  return pid.readInt32LE(0);
}

/** A NULL-terminated array of C strings, and the strings, which must live as long. */
function textList(list: readonly string[]): {
  readonly array: Uint8Array;
  readonly texts: readonly Uint8Array[];
} {
  const texts = list.map(cText);
  return { array: numbers64(...texts.map((text) => ptr(text)), 0), texts };
}

/** Little-endian 64-bit numbers. */
export function numbers64(...values: readonly number[]): Uint8Array {
  return new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer);
}

/** Waits until a descriptor is ready. Returns what each one is ready for. */
export function poll(awaited: readonly Awaited[], timeoutMs: number | undefined): readonly number[] {
  const table = Buffer.alloc(POLL_FD_BYTES * awaited.length);
  for (const [index, { fd, events }] of awaited.entries()) {
    table.writeInt32LE(fd, index * POLL_FD_BYTES);
    table.writeInt16LE(events, index * POLL_FD_BYTES + 4);
  }
  const timeout = timeoutMs === undefined ? null : numbers64(0, timeoutMs * 1_000_000);
  const result = call("ppoll", table, awaited.length, timeout, 0, 0);
  if (result < 0) return awaited.map(() => 0);
  return awaited.map((_, index) => table.readInt16LE(index * POLL_FD_BYTES + 6));
}

/** A stretch of another process's memory. */
export interface Stretch {
  readonly address: number;
  readonly bytes: number;
}

/** Copies another process's memory; undefined where it cannot be read whole. */
export function readMemory(pid: number, stretches: readonly Stretch[]): Buffer | undefined {
  const wanted = stretches.filter(({ bytes }) => bytes > 0);
  const total = wanted.reduce((sum, { bytes }) => sum + bytes, 0);
  const copy = Buffer.alloc(total);
  if (total === 0) return copy;
  const local = numbers64(ptr(copy), total);
  const remote = numbers64(...wanted.flatMap(({ address, bytes }) => [address, bytes]));
  const count = call("process_vm_readv", pid, local, 1, remote, remote.byteLength / IOV_BYTES, 0);
  return count === total ? copy : undefined;
}

/** Writes into another process's memory. */
export function writeMemory(pid: number, address: number, bytes: Uint8Array): boolean {
  const local = numbers64(ptr(bytes), bytes.byteLength);
  const remote = numbers64(address, bytes.byteLength);
  return call("process_vm_writev", pid, local, 1, remote, 1, 0) === bytes.byteLength;
}

/** An integer option of a socket, or the negative error. */
export function socketOption(fd: number, option: number): number {
  const value = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(4);
  const result = call("getsockopt", fd, SOL_SOCKET, option, value, length);
  return result < 0 ? result : value.readInt32LE(0);
}

export const SOL_SOCKET = 1;
