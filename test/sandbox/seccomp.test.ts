// The system call filter, run by an interpreter of its language, for both processors.

import { describe, expect, test } from "bun:test";
import { type FilterOptions, guardedCallsFilter, seccompFilter } from "../../src/sandbox/seccomp.ts";

const ALLOWED = 0x7fff_0000;
const KILLED = 0x8000_0000;
const failed = (errno: number): number => 0x0005_0000 + errno;
const AUDIT = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

type Architecture = keyof typeof AUDIT;

const INSIDE: FilterOptions = {
  profile: "developer",
  network: "full",
  sharesUser: false,
  allowsUnixSockets: true,
};
const SHARED: FilterOptions = { ...INSIDE, sharesUser: true, allowsUnixSockets: false };

/** What the kernel would do: bpf(4) as far as filters of system calls use it. */
function verdict(
  options: FilterOptions,
  architecture: Architecture,
  number: number,
  args: readonly number[] = [],
  audit: number = AUDIT[architecture],
): number {
  return outcome(seccompFilter(options, architecture), architecture, number, args, audit);
}

/** What the kernel would do with a call, by a program. Arguments are 32 bits wide, or 64 as bigint. */
function outcome(
  program: Uint8Array | undefined,
  architecture: Architecture,
  number: number,
  args: readonly (number | bigint)[] = [],
  audit: number = AUDIT[architecture],
): number {
  if (program === undefined) throw new Error("there is a filter for this processor");
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const data = new Map([
    [0, number],
    [4, audit],
    ...args.flatMap((value, index): [number, number][] => [
      [16 + 8 * index, Number(BigInt.asUintN(32, BigInt(value)))],
      [20 + 8 * index, Number(BigInt.asUintN(32, BigInt(value) >> 32n))],
    ]),
  ]);
  let accumulator = 0;
  for (let at = 0; at < program.byteLength; at += 8) {
    const code = view.getUint16(at, true);
    const operand = view.getUint32(at + 4, true);
    const jump = (condition: boolean): void => void (at += 8 * view.getUint8(at + (condition ? 2 : 3)));
    if (code === 0x06) return operand;
    if (code === 0x20) accumulator = data.get(operand) ?? 0;
    else if (code === 0x15) jump(accumulator === operand);
    else if (code === 0x35) jump(accumulator >= operand);
    else if (code === 0x54) accumulator &= operand;
    else if (code === 0x45) jump((accumulator & operand) !== 0);
    else throw new Error(`instruction ${code} is none that filters have`);
  }
  throw new Error("the program has no end");
}

describe.each(["x64", "arm64"] as const)("%s", (architecture) => {
  const pick = (x64: number, arm64: number): number => (architecture === "x64" ? x64 : arm64);

  test.each([
    ["ptrace", pick(101, 117), [], failed(1)],
    ["mount", pick(165, 40), [], failed(1)],
    ["bpf", pick(321, 280), [], failed(1)],
    ["clone3", 435, [], failed(38)],
    ["io_uring_setup", 425, [], failed(38)],
    ["memfd_create", pick(319, 279), [], failed(38)],
    ["clone of a thread", pick(56, 220), [0x3d0f00], ALLOWED],
    ["clone into a user namespace", pick(56, 220), [0x1000_0011], failed(1)],
    ["read", pick(0, 63), [], ALLOWED],
    ["setsid", pick(112, 157), [], ALLOWED],
    ["limits of another process", pick(302, 261), [1234], ALLOWED],
    ["shmat", pick(30, 196), [], failed(1)],
    ["shmget", pick(29, 194), [], failed(38)],
    ["semget", pick(64, 190), [], failed(38)],
    ["msgget", pick(68, 186), [], failed(38)],
    ["mq_open", pick(240, 180), [], failed(38)],
    ["open_tree_attr, newer than most kernels", 467, [], failed(1)],
    ["a call between two that are known", 400, [], failed(1)],
    ["the newest that is known, which changes attributes", 469, [], failed(1)],
    ["a call of a later kernel", 470, [], failed(38)],
    ["the last number that there is", 0x3fff_ffff, [], failed(38)],
    ["execve", pick(59, 221), [], ALLOWED],
    ["exit_group", pick(231, 94), [], ALLOWED],
    ["personality", pick(135, 92), [], ALLOWED],
  ])("with processes of its own: %s", (_name, number, args, expected) => {
    expect(verdict(INSIDE, architecture, number, args)).toBe(expected);
  });

  test.each([
    ["setsid", pick(112, 157), [], failed(1)],
    ["own limits", pick(302, 261), [0], ALLOWED],
    ["limits of another process", pick(302, 261), [1234], failed(1)],
    ["own priority", pick(141, 140), [0, 0, 5], ALLOWED],
    ["priority of another process", pick(141, 140), [0, 1234, 5], failed(1)],
    ["priority of a user", pick(141, 140), [2, 0, 5], failed(1)],
    ["read", pick(0, 63), [], ALLOWED],
  ])("among the user's processes: %s", (_name, number, args, expected) => {
    expect(verdict(SHARED, architecture, number, args)).toBe(expected);
  });

  test("the restricted profile has fewer calls", () => {
    const restricted: FilterOptions = { ...INSIDE, profile: "restricted" };
    expect(verdict(restricted, architecture, pick(135, 92))).toBe(failed(1)); // personality
    expect(verdict(restricted, architecture, 434)).toBe(failed(1)); // pidfd_open
    expect(verdict(restricted, architecture, pick(1, 64))).toBe(ALLOWED);
  });

  test("pairs of datagram sockets, which can be connected elsewhere", () => {
    const pair = (options: FilterOptions, type: number) =>
      verdict(options, architecture, pick(53, 199), [1, type]);
    expect(pair(SHARED, 2 | 0o2_000_000)).toBe(failed(1));
    expect(pair(SHARED, 1 | 0o2_000_000)).toBe(ALLOWED);
    expect(pair(INSIDE, 2)).toBe(ALLOWED);
  });

  const socket = (network: FilterOptions["network"], family: number, allowsUnixSockets = true): boolean =>
    verdict({ ...INSIDE, network, allowsUnixSockets }, architecture, pick(41, 198), [family]) === ALLOWED;

  test("sockets by network: unix, inet, inet6, netlink, packet, vsock", () => {
    const families = [1, 2, 10, 16, 17, 40];
    const open = (network: FilterOptions["network"], unix?: boolean) =>
      families.map((family) => socket(network, family, unix));
    expect(open("none")).toEqual([true, false, false, false, false, false]);
    expect(open("loopback")).toEqual([true, true, true, false, false, false]);
    expect(open("full")).toEqual([true, true, true, true, false, false]);
    expect(open("full", false)).toEqual([false, true, true, true, false, false]);
    expect(open("none", false)).toEqual([false, false, false, false, false, false]);
  });

  const ASKED = 0x7fc0_0000;
  const HIGH = 0x7f00_0000_0000n; // a pointer whose lower half is 0
  test.each<[string, number, readonly (number | bigint)[], number]>([
    ["connect", pick(42, 203), [3], ASKED],
    ["sendmsg", pick(46, 211), [3], ASKED],
    ["sendmmsg", pick(307, 269), [3], ASKED],
    ["sendto with an address", pick(44, 206), [3, 1, 1, 0, 0x1234, 16], ASKED],
    ["sendto with an address of a full page", pick(44, 206), [3, 1, 1, 0, HIGH, 16], ASKED],
    ["sendto without one", pick(44, 206), [3, 1, 1, 0, 0, 0], ALLOWED],
    ["bind", pick(49, 200), [3, 1, 16], ASKED],
    ["listen", pick(50, 201), [3, 5], ASKED],
    ["write", pick(1, 64), [3], ALLOWED],
    ["a TCP socket", pick(41, 198), [2, 1, 6], ALLOWED],
    ["a UDP socket", pick(41, 198), [10, 2, 17], ALLOWED],
    ["a UNIX socket", pick(41, 198), [1, 1, 0], ALLOWED],
    ["an SCTP socket", pick(41, 198), [2, 1, 132], failed(93)],
    ["an MPTCP socket", pick(41, 198), [2, 1, 262], failed(93)],
    ["netlink of routes", pick(41, 198), [16, 3, 0], ALLOWED],
    ["netlink of sockets", pick(41, 198), [16, 3, 4], failed(93)],
    ["a source route", pick(54, 208), [3, 0, 4], failed(1)],
    ["a newer source route", pick(54, 208), [3, 41, 57], failed(1)],
    ["an older form of it", pick(54, 208), [3, 41, 5], failed(1)],
    ["an option of sockets", pick(54, 208), [3, 1, 4], ALLOWED],
    ["an option of TCP", pick(54, 208), [3, 6, 1], ALLOWED],
  ])("below a guard: %s", (_name, number, args, expected) => {
    expect(outcome(guardedCallsFilter(architecture), architecture, number, args)).toBe(expected);
  });

  test("another processor's calls end the process, x32 calls fail", () => {
    expect(verdict(INSIDE, architecture, 0, [], 0x4000_0003)).toBe(KILLED);
    expect(verdict(INSIDE, architecture, 0x4000_0029)).toBe(failed(38));
  });
});

test("a processor without numbers has no filter", () => {
  expect(seccompFilter(INSIDE, "riscv64")).toBeUndefined();
});
