// Hidden command that confines itself and then becomes another program, for machines without bubblewrap. Nothing of
// the server runs here, and nothing returns after the program has taken over. The kernel applies each step to the
// calling thread only; execv ends all others, so the program starts with every step applied.

import { dlopen, ptr } from "bun:ffi";
import { openSync, statSync } from "node:fs";
import {
  GUARD_CHANNEL,
  LAUNCHER_FAILED,
  type LauncherAbilities,
  type LauncherPolicy,
  type LimitName,
  PROBE_WORD,
} from "../../src/core/launcher.ts";
import { reasonOf } from "../../src/core/reason.ts";
import { canMount, replaceFile, revealPaths } from "./sandbox-mounts.ts";
import { cText } from "../text.ts";

const SYMBOLS = {
  syscall: { args: ["i64", "u64", "u64", "u64", "u64", "u64", "u64"], returns: "i64" },
  prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  unshare: { args: ["i32"], returns: "i32" },
  setns: { args: ["i32", "i32"], returns: "i32" },
  mount: { args: ["ptr", "ptr", "ptr", "u64", "ptr"], returns: "i32" },
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
  chdir: { args: ["ptr"], returns: "i32" },
  fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
  signal: { args: ["i32", "u64"], returns: "u64" },
  read: { args: ["i32", "ptr", "u64"], returns: "i64" },
  write: { args: ["i32", "ptr", "u64"], returns: "i64" },
  prlimit: { args: ["i32", "i32", "ptr", "ptr"], returns: "i32" },
  execv: { args: ["u64", "u64"], returns: "i32" },
} as const;

/** Numbers of system calls that are not called by name: C's own would change all threads, and Bun's do not expect it. */
const CALLS = {
  x64: { setgroups: 116, setresuid: 117, setresgid: 119, seccomp: 317, readMemory: 310 },
  arm64: { setgroups: 159, setresuid: 147, setresgid: 149, seccomp: 277, readMemory: 270 },
} as const;
const LANDLOCK_CREATE = 444;
const LANDLOCK_ADD = 445;
const LANDLOCK_RESTRICT = 446;
const CLOSE_RANGE = 436;
const CLOSE_ON_EXEC = 4;
const SET_DESCRIPTOR_FLAGS = 2; // F_SETFD

const PR_SET_PDEATHSIG = 1;
const PR_GET_SECCOMP = 21;
const PR_SET_CHILD_SUBREAPER = 36;
const PR_SET_SECCOMP = 22;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_MODE_FILTER = 2;
const SECCOMP_INSTALL = 1;
const SECCOMP_IS_AVAILABLE = 2;
const SECCOMP_ASKS = 0x7fc0_0000; // SECCOMP_RET_USER_NOTIF
const NEW_LISTENER = 1 << 3;
/** A signal that does not kill ends no call that a guard has begun, so none is made twice. Linux 5.19. */
const ONLY_KILLABLE = 1 << 5;
const PIDFD_OPEN = 434;
const PIDFD_GETFD = 438;
const SIGKILL = 9;
const SIGPIPE = 13;
const SIG_DFL = 0;
const NEW_NETWORK = 0x4000_0000;
const NEW_IPC = 0x0800_0000;
const SET_INTERFACE_FLAGS = 0x8914;
const UP_AND_RUNNING = 0x41;
const OPEN_AS_PLACE = 0o10_000_000; // O_PATH

// linux/landlock.h
const FILE_RIGHTS = 0b1100_0000_0000_0111n; // execute, write, read, truncate, ioctl of devices
const READ_RIGHTS = 0b1101n; // execute, read files, list folders
const MAKE_DEVICES = (1n << 6n) | (1n << 11n);
const SCOPES = 0b11n; // abstract sockets, signals
const ALL_RIGHTS: readonly (readonly [sinceVersion: number, rights: bigint])[] = [
  [5, 0xffffn],
  [3, 0x7fffn],
  [2, 0x3fffn],
  [1, 0x1fffn],
];
const VERSION_WITH_SCOPES = 6;

const LIMITS: Readonly<Record<LimitName, number>> = {
  cpu: 0,
  fsize: 1,
  core: 4,
  nproc: 6,
  nofile: 7,
};

/** Does what the words say: see src/core/launcher.ts. Returns an exit code only when the program could not be started. */
export function launcherMain(words: readonly string[]): number {
  const launcher = new Launcher();
  const [first = "", ...command] = words;
  if (first === PROBE_WORD) {
    console.log(JSON.stringify(launcher.abilities()));
    return 0;
  }
  try {
    launcher.become(JSON.parse(first) as LauncherPolicy, command); // our own process wrote it
  } catch (error) {
    console.error(`svc: the sandbox cannot be set up: ${reasonOf(error)}`);
  }
  return LAUNCHER_FAILED;
}

class Launcher {
  private readonly c = dlopen("libc.so.6", SYMBOLS).symbols;
  /** Memory that the kernel is shown by address only must not be collected meanwhile. */
  private readonly kept: Uint8Array[] = [];

  abilities(): LauncherAbilities {
    return {
      landlock: this.landlockVersion(),
      seccomp: this.c.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) === 0,
      guards: this.canGuard(),
      mounts: process.getuid?.() === 0 && canMount(this.c),
      networks: process.getuid?.() === 0 && this.c.unshare(NEW_NETWORK | NEW_IPC) === 0,
    };
  }

  /** Returns only by throwing. */
  become(policy: LauncherPolicy, command: readonly string[]): never {
    const rules = this.landlockRules(policy); // files are looked up with the rights that root still has
    if (policy.networkOf !== undefined) this.joinNetwork(policy.networkOf);
    else if (policy.hasOwnNetwork) this.leaveNetwork();
    if (policy.uid !== undefined) {
      if (policy.files !== undefined) revealPaths(this.c, policy.files, policy.uid);
      if (policy.passwd !== undefined) replaceFile(this.c, policy.passwd, "/etc/passwd");
      this.becomeUser(policy.uid);
    }
    this.must("chdir", this.c.chdir(cText(policy.folder)));
    this.must("prctl", this.c.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    if (policy.adoptsOrphans === true) this.must("prctl", this.c.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    this.must("prctl", this.c.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (rules !== undefined) this.must("landlock_restrict_self", this.call(LANDLOCK_RESTRICT, rules, 0));
    const [program = ""] = command;
    const path = this.address(cText(program));
    const argv = this.texts(command);
    const filter =
      policy.filter === undefined ? undefined : this.filter(Buffer.from(policy.filter, "base64"));
    this.must("close_range", this.call(CLOSE_RANGE, 3, 0xffff_ffff, CLOSE_ON_EXEC));
    for (const descriptor of policy.keep)
      this.must("fcntl", this.c.fcntl(descriptor, SET_DESCRIPTOR_FLAGS, 0));
    this.c.signal(SIGPIPE, SIG_DFL); // Bun ignores it, and a program would inherit that
    for (const [name, [soft, hard]] of Object.entries(policy.limits))
      this.limit(name as LimitName, soft, hard);
    if (policy.guarded !== undefined) this.handOver(Buffer.from(policy.guarded, "base64"));
    if (filter !== undefined)
      this.must("seccomp", this.c.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0));
    this.c.execv(path, argv);
    throw new Error(`${program} cannot be run`);
  }

  /** Everything a guard needs of the kernel, tried on this process itself. */
  private canGuard(): boolean {
    const calls = process.arch === "arm64" ? CALLS.arm64 : CALLS.x64;
    const action = Buffer.alloc(4);
    action.writeUInt32LE(SECCOMP_ASKS);
    if (this.call(calls.seccomp, SECCOMP_IS_AVAILABLE, 0, this.address(action)) !== 0) return false;
    const own = this.call(PIDFD_OPEN, process.pid, 0);
    if (own < 0 || this.call(PIDFD_GETFD, own, 1, 0) < 0) return false;
    const part = this.address(words(BigInt(this.address(action)), 4n));
    return Number(this.c.syscall(calls.readMemory, process.pid, part, 1, part, 1, 0)) === 4;
  }

  /** Installs the filter of guarded calls and waits until the guard above has taken its listener. */
  private handOver(program: Uint8Array): void {
    const { seccomp } = process.arch === "arm64" ? CALLS.arm64 : CALLS.x64;
    const filter = this.filter(program);
    const install = (flags: number): number => this.call(seccomp, SECCOMP_INSTALL, flags, filter);
    const newest = install(NEW_LISTENER | ONLY_KILLABLE);
    const listener = newest >= 0 ? newest : install(NEW_LISTENER);
    this.must("seccomp", listener);
    const told = Buffer.alloc(4);
    told.writeInt32LE(listener);
    this.must("write", Number(this.c.write(GUARD_CHANNEL, told, 4)));
    if (Number(this.c.read(GUARD_CHANNEL, told, 1)) !== 1)
      throw new Error("the network guard does not answer");
  }

  private landlockVersion(): number {
    return Math.max(0, this.call(LANDLOCK_CREATE, 0, 0, 1));
  }

  /** A ruleset's file descriptor; undefined where nothing is asked for that the kernel can do. */
  private landlockRules({ files, isScoped }: LauncherPolicy): number | undefined {
    const version = this.landlockVersion();
    const scopes = isScoped && version >= VERSION_WITH_SCOPES ? SCOPES : 0n;
    if (version === 0 || (files === undefined && scopes === 0n)) return undefined;
    const all = ALL_RIGHTS.find(([since]) => version >= since)?.[1] ?? 0n;
    // struct landlock_ruleset_attr: files, network, scopes. A kernel takes no more of it than it knows.
    const attributes = words(files === undefined ? 0n : all, 0n, scopes);
    const size = version >= VERSION_WITH_SCOPES ? 24 : 8;
    const ruleset = this.call(LANDLOCK_CREATE, this.address(attributes), size, 0);
    this.must("landlock_create_ruleset", ruleset);
    for (const path of files?.read ?? []) this.allow(ruleset, path, READ_RIGHTS & all);
    for (const path of files?.write ?? []) this.allow(ruleset, path, all & ~MAKE_DEVICES);
    return ruleset;
  }

  /** Lets a path and what lies below it be used; nothing where there is no such path. */
  private allow(ruleset: number, path: string, rights: bigint): void {
    let isFolder: boolean;
    let place: number;
    try {
      isFolder = statSync(path).isDirectory();
      place = openSync(path, OPEN_AS_PLACE);
    } catch {
      return;
    }
    const rule = Buffer.alloc(12); // struct landlock_path_beneath_attr, packed
    rule.writeBigUInt64LE(isFolder ? rights : rights & FILE_RIGHTS, 0);
    rule.writeInt32LE(place, 8);
    this.must("landlock_add_rule", this.call(LANDLOCK_ADD, ruleset, 1, this.address(rule), 0));
  }

  private leaveNetwork(): void {
    this.must("unshare", this.c.unshare(NEW_NETWORK | NEW_IPC));
    const request = Buffer.alloc(40); // struct ifreq: name in 16 bytes, flags
    request.write("lo");
    request.writeUInt16LE(UP_AND_RUNNING, 16);
    const socket = this.c.socket(2, 2, 0); // AF_INET, SOCK_DGRAM
    this.must("socket", socket);
    this.must("ioctl", this.c.ioctl(socket, SET_INTERFACE_FLAGS, request));
  }

  private joinNetwork(pid: number): void {
    this.must("setns", this.c.setns(openSync(`/proc/${pid}/ns/net`, "r"), NEW_NETWORK));
    this.must("unshare", this.c.unshare(NEW_IPC));
  }

  private becomeUser(uid: number): void {
    const calls = process.arch === "arm64" ? CALLS.arm64 : CALLS.x64;
    this.must("setgroups", this.call(calls.setgroups, 0, 0));
    this.must("setresgid", this.call(calls.setresgid, uid, uid, uid));
    this.must("setresuid", this.call(calls.setresuid, uid, uid, uid));
  }

  private limit(name: LimitName, soft: number, hard: number): void {
    const present = Buffer.alloc(16);
    this.must("prlimit", this.c.prlimit(0, LIMITS[name], null, present));
    const cap = present.readBigUInt64LE(8);
    const within = (value: number): bigint => (BigInt(value) < cap ? BigInt(value) : cap);
    this.must("prlimit", this.c.prlimit(0, LIMITS[name], words(within(soft), within(hard)), null));
  }

  /** struct sock_fprog: number of instructions, address of the first. */
  private filter(program: Uint8Array): number {
    return this.address(words(BigInt(program.byteLength / 8), BigInt(this.address(program))));
  }

  /** A NULL-terminated array of C strings. */
  private texts(list: readonly string[]): number {
    return this.address(words(...list.map((text) => BigInt(this.address(cText(text)))), 0n));
  }

  private address(bytes: Uint8Array): number {
    this.kept.push(bytes);
    return ptr(bytes);
  }

  private call(number: number, a = 0, b = 0, c = 0, d = 0): number {
    return Number(this.c.syscall(number, a, b, c, d, 0, 0));
  }

  private must(what: string, result: number): void {
    if (result < 0) throw new Error(`${what} failed`);
  }
}

function words(...values: readonly bigint[]): Uint8Array {
  return new Uint8Array(new BigUint64Array(values).buffer);
}
