// Confinement by bubblewrap(1), which gives the process a file system of its own (nothing but what is listed here),
// process ids of its own and, unless the network is shared, a network of its own. An ordinary user gets there by a user
// namespace. Root needs none: the folders are put together with its rights, then setpriv(1) gives them up for good.

import { lstatSync, mkdtempSync, openSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defined } from "../core/defined.ts";
import { SANDBOX_FILE_BYTES_MAX, SANDBOX_OPEN_FILES_MAX } from "./limits.ts";
import { type Assignment, belowGuard, type Confinement, FD } from "./confinement.ts";
import { HOMES } from "./environment.ts";
import { type ProcessInfo, tasksOf, treeOf } from "./processes.ts";
import { seccompFilter } from "./seccomp.ts";
import type { Limits, Network, Profile, Workdir } from "./types.ts";

const MIB = 1024 * 1024;
const PASSWD = "/etc/passwd";

export interface BubblewrapOptions {
  /** Path of bwrap. */
  readonly program: string;
  readonly profile: Profile;
  readonly network: Network;
  readonly limits: Limits;
  /**
   * With the machine's network a program would reach the abstract sockets of others, such as the desktop's: words that
   * start a command where it does not, given the file descriptors that the command needs.
   */
  readonly scope?: (keep: readonly number[]) => readonly string[];
  /** How a network is shared by calls with network `loopback`. */
  readonly shared?: {
    /** Words that start a process which holds one. */
    readonly holder: readonly string[];
    /** Words that start a command in the network of that process. */
    readonly join: (holder: number, keep: readonly number[]) => readonly string[];
  };
  /** Words that start a command below a network guard. Absent without one. */
  readonly guard?: (job: Assignment) => readonly string[];
}

export function bubblewrap(options: BubblewrapOptions): Confinement {
  /** bubblewrap itself: what was started, or its child where that is a guard. */
  const outerOf = (root: number, all: readonly ProcessInfo[]): number | undefined =>
    options.guard === undefined ? root : belowGuard(root, all);
  const filter = seccompFilter({
    profile: options.profile,
    network: options.network,
    sharesUser: false,
    allowsUnixSockets: true,
  });
  const kept = filter === undefined ? undefined : keepFile(filter);
  return {
    mechanism: "bubblewrap",
    network: options.network,
    ...defined({ holder: options.shared?.holder }),
    reachesMachine: options.network === "full" && options.guard === undefined,
    command: (job) => ({
      words: [
        ...(options.guard?.(job) ?? []),
        ...(job.enter ?? []),
        ...(job.network?.holder === undefined
          ? []
          : (options.shared?.join(job.network.holder, descriptorsOf(job)) ?? [])),
        ...(options.scope?.(descriptorsOf(job)) ?? []),
        ...commandWords(options, job, kept !== undefined),
      ],
      hasReport: true,
      hasGuard: options.guard !== undefined,
      // Opened anew: a duplicate would share the place up to which the last one was read.
      ...(kept === undefined ? {} : { filter: openSync(`/proc/self/fd/${kept}`, "r") }),
    }),
    // Whoever loses its parent gets the namespace's first process, which is ours.
    members: (root) => (all) => treeOf(outerOf(root, all) ?? root, all),
    // bubblewrap → the namespace's first process → the program, and later whoever lost its parent.
    program: (root, members) => {
      const first = members.find(({ parent }) => parent === (outerOf(root, members) ?? root));
      const inner = members.filter(({ parent }) => parent === first?.pid);
      return inner.sort((a, b) => a.startedAt - b.startedAt || a.pid - b.pid)[0]?.pid;
    },
    wrappers: (root, members) => [root, outerOf(root, members) ?? root],
  };
}

/** What the command is given besides the standard ones. Another number may be the launcher's own by then. */
export function descriptorsOf({ conversation }: Assignment): readonly number[] {
  return [...(conversation === true ? [FD.replies] : []), FD.filter, FD.report];
}

function commandWords(
  { program, network, limits }: BubblewrapOptions,
  job: Assignment,
  isFiltered: boolean,
): readonly string[] {
  const { workdir } = job;
  const { path, uid } = workdir;
  const parts: readonly (readonly string[])[] = [
    [program, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ["--die-with-parent", "--new-session", "--hostname", "sandbox"],
    network === "full" || job.network?.holder !== undefined ? [] : ["--unshare-net"],
    // The user keeps its number: programs such as ssh look its name up.
    uid === undefined ? ["--unshare-user", "--cap-drop", "ALL"] : [],
    ["--proc", "/proc", "--dev", "/dev"],
    ["--bind", join(path, HOMES.temp), "/tmp", "--bind", join(path, HOMES.shared), "/dev/shm"],
    ...foldersAbove([...job.readPaths, path]).map((folder) => ["--perms", "0755", "--dir", folder]),
    ...job.readPaths.map(readOnly),
    job.passwd === undefined ? [] : ["--ro-bind", job.passwd, PASSWD],
    ["--bind", path, path, "--chdir", path],
    // Both lie in memory that would be counted for nobody.
    ["--remount-ro", "/dev", "--remount-ro", "/"],
    isFiltered ? ["--seccomp", String(FD.filter)] : [],
    ["--info-fd", String(FD.report)],
    ["--"],
    uid === undefined ? [] : withoutRights(uid),
    ["prlimit", ...limitWords(limits, tasksElsewhere(workdir)), "--"],
    job.argv,
  ];
  return parts.flat();
}

/** Parents, the upper ones first. By itself bubblewrap makes them for its own user alone. */
function foldersAbove(paths: readonly string[]): readonly string[] {
  const above = paths.flatMap((path) => {
    const steps = path.split("/").slice(1, -1);
    return steps.map((_, index) => `/${steps.slice(0, index + 1).join("/")}`);
  });
  return [...new Set(above)].filter((path) => path !== "/tmp");
}

/** The cap is counted for each user namespace; without one, for the user, who may work in other sessions too. */
function tasksElsewhere({ uid, isPrivate }: Workdir): number {
  return uid === undefined || isPrivate ? 0 : tasksOf(uid);
}

/** A link stays one, so that /bin leads to /usr/bin inside as it does outside. */
function readOnly(path: string): readonly string[] {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    return ["--symlink", readlinkSync(path), path];
  }
  return ["--ro-bind-try", path, path];
}

function withoutRights(uid: number): readonly string[] {
  const user = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  return ["setpriv", ...user, "--inh-caps=-all", "--bounding-set=-all", "--"];
}

/** RLIMIT_DATA, not RLIMIT_AS: runtimes reserve far more addresses than they ever use. */
function limitWords(limits: Limits, tasks: number): readonly string[] {
  return [
    `--data=${limits.memoryMb * MIB}`,
    `--cpu=${limits.cpuSecs}:${limits.cpuSecs + 2}`,
    `--nproc=${limits.procs + tasks}`,
    `--nofile=${SANDBOX_OPEN_FILES_MAX}`,
    `--fsize=${SANDBOX_FILE_BYTES_MAX}`,
    "--core=0",
  ];
}

/** Puts bytes into a file without a name; its descriptor lives as long as the server. */
function keepFile(bytes: Uint8Array): number {
  const folder = mkdtempSync(join(tmpdir(), "svc-filter-"));
  try {
    const path = join(folder, "filter");
    writeFileSync(path, bytes, { mode: 0o600 });
    return openSync(path, "r");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
