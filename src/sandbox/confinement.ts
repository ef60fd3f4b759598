// Interface of a confinement mechanism: builds the command and finds its processes. Implementations: bubblewrap.ts, launcher.ts,
// macos.ts; `unconfined` is none of them.

import { GUARD_PARENT_PIPE_FD } from "../core/parent-pipe.ts";
import { type ProcessInfo, treeOf, uidOf } from "./processes.ts";
import type { Mechanism, Network, SandboxJob, Workdir } from "./types.ts";

/** File descriptors of a command besides the standard ones. */
export const FD = {
  /** Second output of a job with a conversation. */
  replies: 3,
  /** System call filter for the command to read. */
  filter: 4,
  /** Report of the command on its first process. */
  report: 5,
  /** Pipe that the server holds open until it ends. */
  parent: GUARD_PARENT_PIPE_FD,
} as const;

/** A job with what the sandbox adds to it. */
export interface Assignment extends SandboxJob {
  /** Readable paths of profile and job. */
  readonly readPaths: readonly string[];
  /** File to mount as /etc/passwd, where the mechanism can mount. */
  readonly passwd?: string;
  /** Command prefix that enters the control group of the job. Absent without one. */
  readonly enter?: readonly string[];
}

/** Command line of a job. */
export interface Command {
  readonly words: readonly string[];
  /** Open file that the command reads as FD.filter; the caller closes it after the spawn. */
  readonly filter?: number;
  /** Whether it reports the first process of its namespace on FD.report. */
  readonly hasReport?: true;
  /** Whether it is a network guard, which ends with the server by a pipe on FD.parent. */
  readonly hasGuard?: boolean;
}

export interface Confinement {
  readonly mechanism: Mechanism;
  /** Effective network. */
  readonly network: Network;
  /** Command of a process that holds a network namespace for many calls. Absent where calls share none. */
  readonly holder?: readonly string[];
  command(job: Assignment): Command;
  /** Whether a process belongs to the working directory by its user alone; another job of it may have started the process. */
  readonly isStray?: (info: ProcessInfo, workdir: Workdir) => boolean;
  /** Selects the processes of the job whose command has the id `root`, without strays. */
  members(root: number): (all: readonly ProcessInfo[]) => readonly ProcessInfo[];
  /** Process id of the program among them. */
  program(root: number, members: readonly ProcessInfo[]): number | undefined;
  /** Those that exit with the rest and pass on its exit status. */
  wrappers(root: number, members: readonly ProcessInfo[]): readonly number[];
  /** Whether services of this machine are reachable. */
  readonly reachesMachine: boolean;
}

/** The command becomes the program. Its processes are found by tree and session, strays by a dedicated user. */
export const oneProcess: Pick<Confinement, "members" | "isStray" | "program" | "wrappers"> = {
  members: (root) => (all) => [
    ...new Set([...treeOf(root, all), ...all.filter(({ session }) => session === root)]),
  ],
  isStray: ({ pid }, { uid, isPrivate }) => isPrivate && uid !== undefined && uidOf(pid) === uid,
  program: (root) => root,
  wrappers: () => [],
};

/** The oldest child of a process. */
export function firstChild(root: number, members: readonly ProcessInfo[]): number | undefined {
  const below = members.filter(({ parent }) => parent === root);
  return below.sort((a, b) => a.startedAt - b.startedAt || a.pid - b.pid)[0]?.pid;
}

/** A guard, and its child that becomes the program. */
export const guardedProcess: typeof oneProcess = {
  ...oneProcess,
  members: (root) => {
    const members = oneProcess.members(root);
    return (all) => members(all).filter(({ pid }) => pid !== root);
  },
  program: firstChild,
  wrappers: () => [],
};

export const unconfined: Confinement = {
  mechanism: "none",
  network: "full",
  reachesMachine: true,
  command: ({ argv, workdir }) => ({
    words: ["/bin/sh", "-c", 'cd "$0" && exec "$@"', workdir.path, ...argv],
  }),
  ...oneProcess,
};
