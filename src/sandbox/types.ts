// Interface of the sandbox: policy, effective protection, jobs and processes. Only bubblewrap.ts, launcher.ts and macos.ts know how
// it is enforced.

import type { Readable } from "node:stream";
import type { Peer } from "./tool-peers.ts";

/** `developer` also reads the toolchains that the server's environment names. */
export type Profile = "developer" | "restricted";

export type Network = "none" | "loopback" | "full";

/** Caps of a process tree: an interpreter or a shell call, with descendants. */
export interface Limits {
  readonly memoryMb: number;
  readonly cpuSecs: number;
  /** Processes and threads. */
  readonly procs: number;
  /** Size of one file that it writes, bytes; absent: as of tools (limits.ts). */
  readonly fileBytes?: number;
}

export interface SandboxPolicy {
  readonly mode: "auto" | "on" | "off";
  readonly profile: Profile;
  readonly network: Network;
  readonly limits: Limits;
}

/** Confinement mechanism. `none`: not confined. */
export type Mechanism = "bubblewrap" | "launcher" | "sandbox-exec" | "none";

/** Effective protection, for the banner, system info and tool descriptions. */
export interface EffectiveProtection {
  readonly mechanism: Mechanism;
  /** `workdir`: writes to the working directory alone, reads of it and of system files. `open`: all files of the user. */
  readonly filesystem: "workdir" | "open";
  /** Effective network. `open`: `full` although the policy asks for less. */
  readonly network: Network | "open";
  /** Whether tools can reach services of this machine, such as this server's own port. */
  readonly reachesMachine: boolean;
  /** Enforced caps; absent where none are. */
  readonly limits?: Limits;
  /** Mechanism of the caps: the kernel's control groups, or measurements by this server. */
  readonly caps?: "cgroup v2" | "watching";
  /** Sentences on what the policy asks for and this machine lacks. */
  readonly warnings: readonly string[];
}

/** Working directory of sandboxed processes, the only folder they can write to. */
export interface Workdir {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** User of its processes; absent: the server's user. */
  readonly uid?: number;
  /** Created for one session: its size is capped, and the session's end deletes it. */
  readonly isPrivate: boolean;
}

/** Network shared by the calls of one session. */
export interface SharedNetwork {
  /** Identifies the session's servers. Unpredictable. */
  readonly token: string;
  /** Process in the shared network namespace. Absent: each call has its own, or none. */
  readonly holder?: number;
  /** Each joiner calls it once. */
  leave(): void;
}

/** Program to run. */
export interface SandboxJob {
  /** Absolute path of the program, and its arguments. */
  readonly argv: readonly string[];
  readonly workdir: Workdir;
  /** Added to the scrubbed environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Readable paths besides those of the profile. */
  readonly readPaths?: readonly string[];
  /** Network shared with other calls of its session. Absent: none. */
  readonly network?: SharedNetwork;
  /** Pipes for standard input and file descriptor 3; otherwise empty and closed. */
  readonly conversation?: boolean;
  /** Orphans become children of the program (child subreaper). */
  readonly adoptsOrphans?: boolean;
}

/** Cap that a process tree exceeded. */
export type BrokenLimit = "memory" | "cpu" | "procs" | "disk";

/** How a process ended: `code` or `signal`. */
export interface Ending {
  readonly code?: number;
  readonly signal?: string;
  /** Cap for which it was killed. */
  readonly limit?: BrokenLimit;
}

/** A sandboxed process. */
export interface ConfinedProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Output of file descriptor 3. */
  readonly replies: Readable | undefined;
  /** Writes to standard input; ignored after its reader has gone. */
  write(text: string): void;
  /** Closes standard input. */
  endInput(): void;
  /** Whether processes besides the program still run. */
  hasOthers(): boolean;
  /** Sends SIGINT to the program itself. */
  interrupt(): void;
  /** Kills the program and its descendants. */
  kill(): void;
  /** Resolves once the program and its descendants have exited. Never rejects. */
  readonly ended: Promise<Ending>;
}

/** Starts confined processes. */
export interface Sandbox {
  readonly effective: EffectiveProtection;
  /** Paths that every confined process can read. */
  readPaths(): readonly string[];
  /** Creates a private folder, in that for temporary files or in another one. */
  newWorkdir(name: string, parent?: string): Workdir;
  /** Creates a private folder in a configured one. */
  newWorkdirIn(parent: string, name: string): Workdir;
  /** Opens or creates a configured folder. Throws when sandboxed processes could not work in it. */
  openWorkdir(path: string): Workdir;
  /** Joins the network of a session; the first joiner creates it. */
  joinNetwork(session: string): Promise<SharedNetwork>;
  /** Whether a connection to this server comes from a sandboxed process. Absent where that is impossible or unknown. */
  readonly isToolPeer?: (peer: Peer, ownPort: number) => boolean;
  /** Deletes a private folder whose processes have exited, and frees its user. */
  removeWorkdir(workdir: Workdir): Promise<void>;
  /** Throws when the process cannot be started. */
  spawn(job: SandboxJob): ConfinedProcess;
}
