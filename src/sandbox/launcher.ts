// Confinement by the built-in launcher: Landlock for files, a system call filter, resource limits. For machines where bubblewrap
// is missing or may not create namespaces. The program sees the machine's processes, and without root it runs as the server's
// user; docs/sandbox.md lists the gaps.

import { defined } from "../core/defined.ts";
import {
  GUARD_WORD,
  type GuardPolicy,
  LAUNCHER_WORD,
  type LauncherAbilities,
  type LauncherPolicy,
  PROBE_WORD,
} from "../core/launcher.ts";
import { SANDBOX_FILE_BYTES_MAX, SANDBOX_PROBE_MS } from "./limits.ts";
import { openFilesLimit } from "./open-files.ts";
import type { Assignment, Confinement } from "./confinement.ts";
import { guardedProcess, oneProcess } from "./confinement.ts";
import { tasksOf } from "./processes.ts";
import { guardedCallsFilter, seccompFilter } from "./seccomp.ts";
import { HOLD } from "./session-networks.ts";
import type { Network, SandboxPolicy, Workdir } from "./types.ts";

/** First Landlock version that scopes abstract sockets and signals. */
export const VERSION_WITH_SCOPES = 6;

/** Threads of a guard and of the launcher below it, which count towards an ordinary user's RLIMIT_NPROC. */
const GUARD_TASKS = 16;

/** Abilities of a machine where the launcher does not run. */
export const NO_ABILITIES: LauncherAbilities = {
  landlock: 0,
  seccomp: false,
  guards: false,
  mounts: false,
  networks: false,
};

const DEVICES = ["/dev/null", "/dev/zero", "/dev/full"];
const RANDOM = ["/dev/random", "/dev/urandom"];
/** Files on the machine and the process itself. The folders of other processes stay closed. */
const PROC_FILES = [
  "/proc/self",
  "/proc/cpuinfo",
  "/proc/filesystems",
  "/proc/loadavg",
  "/proc/meminfo",
  "/proc/stat",
  "/proc/sys/kernel/osrelease",
  "/proc/sys/vm/overcommit_memory",
  "/proc/uptime",
  "/proc/version",
];

export interface LauncherOptions extends Omit<SandboxPolicy, "mode"> {
  /** Command that starts this executable; arguments follow. */
  readonly ownCommand: readonly string[];
  readonly abilities: LauncherAbilities;
  /** User of the server. */
  readonly uid: number;
  /** Whether a guard denies this machine to processes with network `full`. */
  readonly isGuarded: boolean;
}

export function launcher(options: LauncherOptions): Confinement {
  const network = possibleNetwork(options);
  const { limits, ownCommand } = options;
  const isGuarded = network === "full" && options.isGuarded;
  return {
    mechanism: "launcher",
    network,
    reachesMachine: network === "full" && !isGuarded,
    ...(options.abilities.networks && network === "loopback" ? { holder: holderWords(ownCommand) } : {}),
    command: (job) => {
      const policy = JSON.stringify(policyOf({ ...options, network, isGuarded }, job));
      const kib = String(limits.memoryMb * 1024);
      const memory = ["/bin/sh", "-c", 'ulimit -d "$1" && shift && exec "$@"', "sh", kib];
      const keep = job.conversation === true ? [3] : [];
      const guard = isGuarded ? guardWords(ownCommand, job, { keep, allowsUnixSockets: false }) : [];
      const enter = job.enter ?? [];
      const words = [...guard, ...enter, ...ownCommand, LAUNCHER_WORD, policy, ...memory, ...job.argv];
      return { words, hasGuard: isGuarded };
    },
    ...(isGuarded ? guardedProcess : oneProcess),
  };
}

/** Command prefix that starts a network guard. */
export function guardWords(
  ownCommand: readonly string[],
  { network, workdir }: Assignment,
  rest: Omit<GuardPolicy, "session">,
): readonly string[] {
  const policy: GuardPolicy = { session: network?.token ?? workdir.path, ...rest };
  return [...ownCommand, GUARD_WORD, JSON.stringify(policy)];
}

/** Command that starts a process in a new network namespace, as root. */
export function holderWords(ownCommand: readonly string[]): readonly string[] {
  const policy: LauncherPolicy = { folder: "/", hasOwnNetwork: true, isScoped: false, limits: {}, keep: [] };
  return [...ownCommand, LAUNCHER_WORD, JSON.stringify(policy), ...HOLD];
}

/** Command prefix that joins the network of another process, as root. The command inherits the descriptors in `keep`. */
export function joinWords(
  ownCommand: readonly string[],
  keep: readonly number[],
  networkOf: number,
): readonly string[] {
  const policy: LauncherPolicy = {
    folder: "/",
    hasOwnNetwork: false,
    networkOf,
    isScoped: false,
    limits: {},
    keep,
  };
  return [...ownCommand, LAUNCHER_WORD, JSON.stringify(policy)];
}

/**
 * Command prefix that denies abstract sockets, and below a guard installs the filter of guarded calls. The command inherits the
 * descriptors in `keep`.
 */
export function scopeWords(
  ownCommand: readonly string[],
  keep: readonly number[],
  isGuarded: boolean,
): readonly string[] {
  const policy: LauncherPolicy = {
    folder: "/",
    hasOwnNetwork: false,
    isScoped: true,
    limits: {},
    keep,
    ...guardedCalls(isGuarded),
  };
  return [...ownCommand, LAUNCHER_WORD, JSON.stringify(policy)];
}

/** Abilities of this kernel; none where the launcher does not run. */
export async function launcherAbilities(ownCommand: readonly string[]): Promise<LauncherAbilities> {
  const child = Bun.spawn([...ownCommand, LAUNCHER_WORD, PROBE_WORD], {
    cwd: "/",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: SANDBOX_PROBE_MS,
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) return NO_ABILITIES;
  return JSON.parse(text) as LauncherAbilities; // printed by ffi/linux/sandbox-launcher.ts
}

/** Part of a policy that delegates calls to a guard. */
function guardedCalls(isGuarded: boolean): Pick<LauncherPolicy, "guarded"> {
  const filter = isGuarded ? guardedCallsFilter() : undefined;
  return filter === undefined ? {} : { guarded: Buffer.from(filter).toString("base64") };
}

function possibleNetwork({ network, abilities }: LauncherOptions): Network {
  if (abilities.networks || network === "full") return network;
  return abilities.seccomp ? "none" : "full";
}

/** Tasks of a dedicated user before the first process of its folder. */
const before = new WeakMap<Workdir, number>();

/** Zombies of an earlier session count towards RLIMIT_NPROC, so they are added; background processes of this one are not. */
function tasksBefore(workdir: Workdir, uid: number): number {
  const tasks = before.get(workdir) ?? tasksOf(uid);
  before.set(workdir, tasks);
  return tasks;
}

function policyOf(options: LauncherOptions, job: Assignment): LauncherPolicy {
  const { profile, network, limits, abilities } = options;
  const { workdir } = job;
  const isAlone = workdir.uid !== undefined && workdir.isPrivate;
  const filter = seccompFilter({ profile, network, sharesUser: !isAlone, allowsUnixSockets: false });
  const tasks = isAlone ? tasksBefore(workdir, workdir.uid) : tasksOf(workdir.uid ?? options.uid);
  const passwd = abilities.mounts && workdir.uid !== undefined ? job.passwd : undefined;
  const both = (value: number): readonly [number, number] => [value, value];
  return {
    folder: workdir.path,
    ...defined({ uid: workdir.uid }),
    hasOwnNetwork: abilities.networks && network !== "full",
    ...(abilities.networks && job.network?.holder !== undefined ? { networkOf: job.network.holder } : {}),
    files: {
      read: [...job.readPaths, ...PROC_FILES, ...RANDOM, ...(passwd === undefined ? [] : [passwd])],
      write: [workdir.path, ...DEVICES],
    },
    isScoped: true,
    ...defined({ adoptsOrphans: job.adoptsOrphans, passwd }),
    ...guardedCalls(options.isGuarded),
    ...(filter === undefined || !abilities.seccomp ? {} : { filter: Buffer.from(filter).toString("base64") }),
    limits: {
      cpu: [limits.cpuSecs, limits.cpuSecs + 2],
      fsize: both(limits.fileBytes ?? SANDBOX_FILE_BYTES_MAX),
      core: both(0),
      nproc: both(limits.procs + tasks + (options.isGuarded && workdir.uid === undefined ? GUARD_TASKS : 0)),
      nofile: both(openFilesLimit()),
    },
    keep: job.conversation === true ? [3] : [],
  };
}
