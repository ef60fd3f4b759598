// The system call filter as a classic BPF program, made here so that no compiler or library is needed. seccomp(2) has
// the rules of such a program: it sees the call's number, the processor's kind and six arguments, never memory behind a
// pointer, and answers with what to do.

import { itemAt } from "../core/assert.ts";
import { allowedCalls, NEWEST_KNOWN_CALL } from "./system-calls.ts";
import type { Network, Profile } from "./types.ts";

/** Differences between the mechanisms. */
export interface FilterOptions {
  readonly profile: Profile;
  readonly network: Network;
  /** The user's other processes are in sight, so what reaches them by a number or a key must be refused. */
  readonly sharesUser: boolean;
  /** Sockets in the file system lead out: to the desktop's bus, to a container daemon. */
  readonly allowsUnixSockets: boolean;
}

// linux/bpf_common.h, linux/seccomp.h
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_EQUAL = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;
const ALLOW = 0x7fff_0000;
const FAIL = 0x0005_0000;
const ASK_GUARD = 0x7fc0_0000;
const KILL_PROCESS = 0x8000_0000;

// Offsets in struct seccomp_data. An argument's lower half comes first, as both processors are little-endian, and is all
// that the kernel looks at where it wants an int.
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (index: number): number => 16 + 8 * index;

const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/** Flags of clone(2) that make a namespace: user, pid, net, ipc, uts, mount, cgroup. */
const NAMESPACE_FLAGS = 0x7e02_0000;

/** Numbers of 64-bit x86 and of arm64; absent where the processor has no such call. */
type Numbers = readonly [x64: number | undefined, arm64: number | undefined];

/**
 * Calls answered with ENOSYS, so that programs use alternatives: io_uring would bypass this filter, and memory in segments,
 * queues, semaphores or memfds would count for no process.
 */
const UNKNOWN: Readonly<Record<string, Numbers>> = {
  clone3: [435, 435], // its flags lie behind a pointer; C libraries fall back to clone
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
};

/** Where the user's other processes are in sight: only the caller itself, which is process 0. First argument. */
const ONLY_SELF: Readonly<Record<string, Numbers>> = {
  sched_setaffinity: [203, 122],
  sched_setscheduler: [144, 119],
  sched_setparam: [142, 118],
  sched_setattr: [314, 274],
  prlimit64: [302, 261],
};

/** The same with the process id in the second argument; the first must be the one that means a process. */
const ONLY_SELF_BY_KIND: Readonly<Record<string, readonly [Numbers, kind: number]>> = {
  setpriority: [[141, 140], 0],
  ioprio_set: [[251, 30], 1],
};

const CLONE: Numbers = [56, 220];
const SOCKET: Numbers = [41, 198];
const SOCKETPAIR: Numbers = [53, 199];
const SETSID: Numbers = [112, 157];

const FAMILY = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;

/** Processors that there are numbers for: Node's name → audit architecture of the kernel, column of Numbers. */
const ARCHITECTURES: Readonly<Record<string, readonly [audit: number, column: 0 | 1]>> = {
  x64: [0xc000_003e, 0],
  arm64: [0xc000_00b7, 1],
};

/** Calls with an address. */
const CONNECT: Numbers = [42, 203];
const SENDTO: Numbers = [44, 206];
const SENDMSG: Numbers = [46, 211];
const SENDMMSG: Numbers = [307, 269];
const BIND: Numbers = [49, 200];
const LISTEN: Numbers = [50, 201];
const SETSOCKOPT: Numbers = [54, 208];

/** Socket options that set a packet's way: IP_OPTIONS, IPV6_2292RTHDR and IPV6_RTHDR, by level. */
const ROUTING_OPTIONS: Readonly<Record<number, readonly number[]>> = { 0: [4], 41: [5, 57] };
/** Protocols of internet sockets: default, TCP, UDP, ICMP for both. Others name destinations in ways of their own. */
const PROTOCOLS = [0, 6, 17, 1, 58];

/** One instruction: code, jumps where true and false, operand. */
type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, operand: number];

/** The program as the kernel reads it, 8 bytes an instruction. Undefined for a processor without numbers here. */
export function seccompFilter(
  options: FilterOptions,
  architecture: string = process.arch,
): Uint8Array | undefined {
  const known = ARCHITECTURES[architecture];
  if (known === undefined) return undefined;
  const [audit, column] = known;
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE],
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER],
    // x32 calls are 64-bit ones with this bit; nothing uses them, and they would need numbers of their own.
    [JUMP_GREATER_EQUAL, 0, 1, 0x4000_0000],
    [RETURN, 0, 0, FAIL | ENOSYS],
    [JUMP_GREATER_EQUAL, 0, 1, NEWEST_KNOWN_CALL + 1],
    [RETURN, 0, 0, FAIL | ENOSYS],
    ...failing(UNKNOWN, column, ENOSYS),
    ...onCall(CLONE[column], [
      [LOAD, 0, 0, argument(0)],
      [JUMP_ANY_BIT, 0, 1, NAMESPACE_FLAGS],
      [RETURN, 0, 0, FAIL | EPERM],
    ]),
    ...(options.sharesUser ? onlySelf(column) : []),
    ...onCall(SOCKET[column], socketRules(options)),
    ...(options.allowsUnixSockets ? [] : onCall(SOCKETPAIR[column], pairRules())),
    ...allowing(allowedCalls(options.profile, column)),
    [RETURN, 0, 0, FAIL | EPERM],
  ];
  return encode(program);
}

/**
 * The filter of a process below a network guard, besides its other one: calls that name a destination, or an address to serve,
 * are made by the guard. Undefined for a processor without numbers here.
 */
export function guardedCallsFilter(architecture: string = process.arch): Uint8Array | undefined {
  const known = ARCHITECTURES[architecture];
  if (known === undefined) return undefined;
  const [audit, column] = known;
  const ask: Instruction = [RETURN, 0, 0, ASK_GUARD];
  const refuse: Instruction = [RETURN, 0, 0, FAIL | EPERM];
  return encode([
    [LOAD, 0, 0, ARCHITECTURE],
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER],
    ...[CONNECT, SENDMSG, SENDMMSG, BIND, LISTEN].flatMap((numbers) => onCall(numbers[column], [ask])),
    ...onCall(SENDTO[column], [
      // Without an address it is a call to the other end that the socket has already.
      [LOAD, 0, 0, argument(4)],
      [JUMP_EQUAL, 0, 2, 0],
      [LOAD, 0, 0, argument(4) + 4],
      [JUMP_EQUAL, 1, 0, 0],
      ask,
    ]),
    ...onCall(SETSOCKOPT[column], routingOptions(refuse)),
    ...onCall(SOCKET[column], guardedSocketRules()),
    [RETURN, 0, 0, ALLOW],
  ]);
}

function routingOptions(refuse: Instruction): readonly Instruction[] {
  return Object.entries(ROUTING_OPTIONS).flatMap(([level, options]) => {
    const rules = options.flatMap((option): Instruction[] => [[JUMP_EQUAL, 0, 1, option], refuse]);
    return [
      [LOAD, 0, 0, argument(1)],
      [JUMP_EQUAL, 0, rules.length + 1, Number(level)],
      [LOAD, 0, 0, argument(2)],
      ...rules,
    ] satisfies Instruction[];
  });
}

/** Protocols that the guard knows, and of netlink that of routes alone. */
function guardedSocketRules(): readonly Instruction[] {
  const refusal: Instruction = [RETURN, 0, 0, FAIL | EPROTONOSUPPORT];
  const protocols = PROTOCOLS.map((protocol, index): Instruction => [
    JUMP_EQUAL,
    PROTOCOLS.length - index + 3,
    0,
    protocol,
  ]);
  return [
    [LOAD, 0, 0, argument(0)],
    [JUMP_EQUAL, protocols.length + 6, 0, FAMILY.unix],
    [JUMP_EQUAL, protocols.length + 2, 0, FAMILY.netlink],
    [LOAD, 0, 0, argument(2)],
    ...protocols,
    refusal,
    [LOAD, 0, 0, argument(2)],
    [JUMP_EQUAL, 1, 0, 0],
    refusal,
  ];
}

/** Numbers in order, as ranges: a test for the end of each, then for its beginning. */
function allowing(numbers: readonly number[]): Instruction[] {
  const program: Instruction[] = [];
  for (let from = 0; from < numbers.length;) {
    let to = from;
    while (numbers[to + 1] === itemAt(numbers, to) + 1) to++;
    const [first, last] = [itemAt(numbers, from), itemAt(numbers, to)];
    program.push([JUMP_GREATER_EQUAL, 3, 0, last + 1], [JUMP_GREATER_EQUAL, 0, 1, first]);
    program.push([RETURN, 0, 0, ALLOW], [RETURN, 0, 0, FAIL | EPERM]);
    from = to + 1;
  }
  return program;
}

function failing(calls: Readonly<Record<string, Numbers>>, column: 0 | 1, error: number): Instruction[] {
  return Object.values(calls).flatMap((numbers) => onCall(numbers[column], [[RETURN, 0, 0, FAIL | error]]));
}

/** `rules` for one call. They leave the accumulator changed, so the number is loaded again after them. */
function onCall(number: number | undefined, rules: readonly Instruction[]): Instruction[] {
  if (number === undefined) return [];
  const body: readonly Instruction[] = [...rules, [LOAD, 0, 0, NUMBER]];
  return [[JUMP_EQUAL, 0, body.length, number], ...body];
}

function onlySelf(column: 0 | 1): Instruction[] {
  const refuse: Instruction = [RETURN, 0, 0, FAIL | EPERM];
  const isZero = (index: number): Instruction[] => [
    [LOAD, 0, 0, argument(index)],
    [JUMP_EQUAL, 1, 0, 0],
    refuse,
  ];
  return [
    ...Object.values(ONLY_SELF).flatMap((numbers) => onCall(numbers[column], isZero(0))),
    ...Object.values(ONLY_SELF_BY_KIND).flatMap(([numbers, kind]) =>
      onCall(numbers[column], [[LOAD, 0, 0, argument(0)], [JUMP_EQUAL, 1, 0, kind], refuse, ...isZero(1)]),
    ),
    // Processes are identified by their session, so none may leave it.
    ...onCall(SETSID[column], [refuse]),
  ];
}

/** Families that a socket may have. The others reach the kernel's rarest corners, or the host of a virtual machine. */
function socketRules({ network, allowsUnixSockets }: FilterOptions): readonly Instruction[] {
  const families = [
    ...(allowsUnixSockets ? [FAMILY.unix] : []),
    ...(network === "none" ? [] : [FAMILY.inet, FAMILY.inet6]),
    ...(network === "full" ? [FAMILY.netlink] : []),
  ];
  const refusal: Instruction = [RETURN, 0, 0, FAIL | EAFNOSUPPORT];
  return [
    [LOAD, 0, 0, argument(0)],
    // Each comparison jumps over those that follow it and over the refusal.
    ...families.map((family, index): Instruction => [JUMP_EQUAL, families.length - index, 0, family]),
    refusal,
  ];
}

/** One end of a pair of datagram sockets can be connected elsewhere. Flags lie above the type's four bits. */
function pairRules(): readonly Instruction[] {
  return [
    [LOAD, 0, 0, argument(1)],
    [AND, 0, 0, 0xf],
    [JUMP_EQUAL, 0, 1, 2],
    [RETURN, 0, 0, FAIL | EPERM],
  ];
}

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, whenTrue, whenFalse, operand], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  });
  return bytes;
}
