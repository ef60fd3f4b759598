// Confinement by bubblewrap(1): namespaces for mounts (only the paths listed here), processes and, unless shared, network. An
// ordinary user needs a user namespace. Root mounts with its own rights, which setpriv(1) then drops permanently.

import { lstatSync, openSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { foldersAbove } from "../core/closed-folder.ts";
import { defined } from "../core/defined.ts";
import { temporaryFolder } from "../core/temporary.ts";
import { SANDBOX_FILE_BYTES_MAX } from "./limits.ts";
import { openFilesLimit } from "./open-files.ts";
import { type Assignment, firstChild, type Confinement, FD } from "./confinement.ts";
import { HOMES } from "./environment.ts";
import { type ProcessInfo, tasksOf, treeOf } from "./processes.ts";
import { seccompFilter } from "./seccomp.ts";
import type { Limits, SandboxPolicy, Workdir } from "./types.ts";

const MIB = 1024 * 1024;
const PASSWD = "/etc/passwd";

export interface BubblewrapOptions extends Omit<SandboxPolicy, "mode"> {
  /** Path of bwrap. */
  readonly program: string;
  /**
   * Command prefix that denies abstract sockets, such as the desktop's, in the machine's network. Argument: file descriptors
   * that the command inherits.
   */
  readonly scope?: (keep: readonly number[]) => readonly string[];
  /** Network namespace shared by calls with network `loopback`. */
  readonly shared?: {
    /** Command of the process that holds it. */
    readonly holder: readonly string[];
    /** Command prefix that joins the network of that process. */
    readonly join: (holder: number, keep: readonly number[]) => readonly string[];
  };
  /** Command prefix of the network guard. Absent without one. */
  readonly guard?: (job: Assignment) => readonly string[];
}

export function bubblewrap(options: BubblewrapOptions): Confinement {
  /** Process of bubblewrap: the spawned one, or its child below a guard. */
  const outerOf = (root: number, all: readonly ProcessInfo[]): number | undefined =>
    options.guard === undefined ? root : firstChild(root, all);
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
      // A new open file: a duplicate would share the read offset.
      ...(kept === undefined ? {} : { filter: openSync(`/proc/self/fd/${kept}`, "r") }),
    }),
    // Orphans become children of the namespace's first process, which is part of this tree.
    members: (root) => (all) => {
      const tree = new Set(treeOf(outerOf(root, all) ?? root, all));
      // Until its parent has prepared it, bubblewrap's child is in the parent's session; it waits without end if that was killed before.
      for (const info of all) if (info.session === root) tree.add(info);
      return [...tree];
    },
    // bubblewrap → the namespace's first process → the program, and later orphans.
    program: (root, members) => {
      const first = members.find(({ parent }) => parent === (outerOf(root, members) ?? root));
      return first && firstChild(first.pid, members);
    },
    wrappers: (root, members) => [root, outerOf(root, members) ?? root],
  };
}

/** File descriptors that the command inherits besides the standard ones. The launcher may use other numbers itself. */
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
    // The user keeps its number: programs such as ssh look up its name.
    uid === undefined ? ["--unshare-user", "--cap-drop", "ALL"] : [],
    ["--proc", "/proc", "--dev", "/dev"],
    ["--bind", join(path, HOMES.temp), "/tmp", "--bind", join(path, HOMES.shared), "/dev/shm"],
    ...createdFolders([...job.readPaths, path]).map((folder) => ["--perms", "0755", "--dir", folder]),
    ...job.readPaths.map(readOnly),
    job.passwd === undefined ? [] : ["--ro-bind", job.passwd, PASSWD],
    ["--bind", path, path, "--chdir", path],
    // Both are tmpfs, which counts for no process.
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

/** Parent folders, outermost first. By default bubblewrap creates them for its own user alone. */
function createdFolders(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap(foldersAbove))].filter((path) => path !== "/tmp");
}

/** RLIMIT_NPROC counts per user namespace; without one per user, who may own other sessions too. */
function tasksElsewhere({ uid, isPrivate }: Workdir): number {
  return uid === undefined || isPrivate ? 0 : tasksOf(uid);
}

/** Keeps symbolic links, so that /bin leads to /usr/bin inside as outside. */
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

/** RLIMIT_DATA instead of RLIMIT_AS: runtimes reserve far more address space than they use. */
function limitWords(limits: Limits, tasks: number): readonly string[] {
  return [
    `--data=${limits.memoryMb * MIB}`,
    `--cpu=${limits.cpuSecs}:${limits.cpuSecs + 2}`,
    `--nproc=${limits.procs + tasks}`,
    `--nofile=${openFilesLimit()}`,
    `--fsize=${limits.fileBytes ?? SANDBOX_FILE_BYTES_MAX}`,
    "--core=0",
  ];
}

/** Writes bytes to an unlinked file. Its descriptor stays open as long as the server. */
function keepFile(bytes: Uint8Array): number {
  const folder = temporaryFolder("filter");
  try {
    const path = join(folder, "filter");
    writeFileSync(path, bytes, { mode: 0o600 });
    return openSync(path, "r");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
