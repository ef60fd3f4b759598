// Confinement by our own launcher: Landlock for files, a system call filter, limits. For machines where bubblewrap is
// missing or may not make namespaces. The program sees the machine's processes, and without root it runs as the server's
// own user; docs/sandbox.md lists what that leaves open.

import { LAUNCHER_WORD, type LauncherAbilities, type LauncherPolicy, PROBE_WORD } from "../core/launcher.ts";
import { SANDBOX_FILE_BYTES_MAX, SANDBOX_OPEN_FILES_MAX, SANDBOX_PROBE_MS } from "../core/limits.ts";
import type { Assignment, Confinement } from "./confinement.ts";
import { oneProcess } from "./confinement.ts";
import { tasksOf } from "./processes.ts";
import { seccompFilter } from "./seccomp.ts";
import type { Limits, Network } from "./types.ts";

/** First version of Landlock that keeps abstract sockets and signals in. */
export const VERSION_WITH_SCOPES = 6;

/** Where the launcher does not run. */
export const NO_ABILITIES: LauncherAbilities = { landlock: 0, seccomp: false, mounts: false };

const DEVICES = ["/dev/null", "/dev/zero", "/dev/full"];
const RANDOM = ["/dev/random", "/dev/urandom"];
/** About the machine and the process itself. Other processes have folders of their own there, which stay closed. */
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

export interface LauncherOptions {
  /** Starts this program again; words follow. */
  readonly ownCommand: readonly string[];
  readonly abilities: LauncherAbilities;
  readonly network: Network;
  readonly limits: Limits;
  /** The server's user; 0 can give processes a network of their own. */
  readonly uid: number;
}

export function launcher(options: LauncherOptions): Confinement {
  const network = possibleNetwork(options);
  const { limits } = options;
  return {
    mechanism: "launcher",
    network,
    command: (job) => {
      const policy = JSON.stringify(policyOf({ ...options, network }, job));
      const kib = String(limits.memoryMb * 1024);
      const memory = ["/bin/sh", "-c", 'ulimit -d "$1" && shift && exec "$@"', "sh", kib];
      return { words: [...options.ownCommand, LAUNCHER_WORD, policy, ...memory, ...job.argv] };
    },
    ...oneProcess,
  };
}

/** Words that start a command with abstract sockets out of its reach. It gets the file descriptors in `keep` too. */
export function scopeWords(ownCommand: readonly string[], keep: readonly number[]): readonly string[] {
  const policy: LauncherPolicy = { folder: "/", hasOwnNetwork: false, isScoped: true, limits: {}, keep };
  return [...ownCommand, LAUNCHER_WORD, JSON.stringify(policy)];
}

/** What the kernel offers here; nothing where the launcher itself does not run. */
export async function launcherAbilities(ownCommand: readonly string[]): Promise<LauncherAbilities> {
  const child = Bun.spawn([...ownCommand, LAUNCHER_WORD, PROBE_WORD], {
    cwd: "/",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: SANDBOX_PROBE_MS,
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) return NO_ABILITIES;
  return JSON.parse(text) as LauncherAbilities; // printed by ffi/sandbox-launcher.ts
}

function possibleNetwork({ network, uid, abilities }: LauncherOptions): Network {
  if (uid === 0 || network === "full") return network;
  return abilities.seccomp ? "none" : "full";
}

function policyOf(options: LauncherOptions, job: Assignment): LauncherPolicy {
  const { network, limits, abilities } = options;
  const { workdir } = job;
  const isAlone = workdir.uid !== undefined && workdir.isPrivate;
  const filter = seccompFilter({ network, sharesUser: !isAlone, allowsUnixSockets: false });
  const tasks = tasksOf(workdir.uid ?? options.uid);
  const both = (value: number): readonly [number, number] => [value, value];
  return {
    folder: workdir.path,
    ...(workdir.uid === undefined ? {} : { uid: workdir.uid }),
    hasOwnNetwork: options.uid === 0 && network !== "full",
    files: {
      read: [...job.readPaths, ...PROC_FILES, ...RANDOM],
      write: [workdir.path, ...DEVICES],
    },
    isScoped: true,
    ...(filter === undefined || !abilities.seccomp ? {} : { filter: Buffer.from(filter).toString("base64") }),
    limits: {
      cpu: [limits.cpuSecs, limits.cpuSecs + 2],
      fsize: both(SANDBOX_FILE_BYTES_MAX),
      core: both(0),
      nproc: both(limits.procs + tasks),
      nofile: both(SANDBOX_OPEN_FILES_MAX),
    },
    keep: job.conversation === true ? [3] : [],
  };
}
