// One way to confine: how the command is built, and how its processes are found again. The three of them:
// bubblewrap.ts, launcher.ts, macos.ts; `unconfined` is the absence of all.

import { GUARD_PARENT_PIPE_FD } from "../core/parent-pipe.ts";
import { type ProcessInfo, treeOf, uidOf } from "./processes.ts";
import type { Mechanism, Network, SandboxJob, Workdir } from "./types.ts";

/** File descriptors of a command besides the standard ones. */
export const FD = {
  /** The job's second way out, where it has a conversation. */
  replies: 3,
  /** A system call filter that the command reads. */
  filter: 4,
  /** Where the command tells of what it has started. */
  report: 5,
  /** Held open by the server as long as it lives. */
  parent: GUARD_PARENT_PIPE_FD,
} as const;

/** A job with what the sandbox knows about it. */
export interface Assignment extends SandboxJob {
  /** What can be read: profile, job. */
  readonly readPaths: readonly string[];
  /** A file to be seen as /etc/passwd, as far as the mechanism can mount. */
  readonly passwd?: string;
  /** Words that start a command in the control group of the job. Absent without one. */
  readonly enter?: readonly string[];
}

/** What is to be started. */
export interface Command {
  readonly words: readonly string[];
  /** An open file that the command reads as FD.filter; to be closed once it has been started. */
  readonly filter?: number;
  /** Whether it tells, on FD.report, of the first process in its namespace. */
  readonly hasReport?: true;
  /** Whether it is a network guard, which ends with us by a pipe on FD.parent. */
  readonly hasGuard?: boolean;
}

export interface Confinement {
  readonly mechanism: Mechanism;
  /** Network that processes have. */
  readonly network: Network;
  /** Words that start a process which holds a network of its own for many calls. Absent where there is none to share. */
  readonly holder?: readonly string[];
  command(job: Assignment): Command;
  /** Processes that belong to the job by their user alone, which another job of the same folder may have started. */
  readonly isStray?: (info: ProcessInfo, workdir: Workdir) => boolean;
  /** Which processes belong to the job whose command has the id `root`; strays are not among them. */
  members(root: number): (all: readonly ProcessInfo[]) => readonly ProcessInfo[];
  /** The program itself among them. */
  program(root: number, members: readonly ProcessInfo[]): number | undefined;
  /** Those among them that end by themselves with the rest, and then tell how it ended. */
  wrappers(root: number, members: readonly ProcessInfo[]): readonly number[];
  /** Whether services of this machine can be reached. */
  readonly reachesMachine: boolean;
}

/** The command becomes the program, and its processes are told by their session, or by their user where that is their own. */
export const oneProcess: Pick<Confinement, "members" | "isStray" | "program" | "wrappers"> = {
  members: (root) => (all) => [
    ...new Set([...treeOf(root, all), ...all.filter(({ session }) => session === root)]),
  ],
  isStray: ({ pid }, { uid, isPrivate }) => isPrivate && uid !== undefined && uidOf(pid) === uid,
  program: (root) => root,
  wrappers: () => [],
};

/** The command that a guard has started: its own first process. */
export function belowGuard(root: number, members: readonly ProcessInfo[]): number | undefined {
  const below = members.filter(({ parent }) => parent === root);
  return below.sort((a, b) => a.startedAt - b.startedAt || a.pid - b.pid)[0]?.pid;
}

/** A guard and the one process that it has started, which becomes the program. */
export const guardedProcess: typeof oneProcess = {
  ...oneProcess,
  members: (root) => {
    const members = oneProcess.members(root);
    return (all) => members(all).filter(({ pid }) => pid !== root);
  },
  program: belowGuard,
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
