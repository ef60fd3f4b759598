// The words of the sandbox: what a process may do, what of that is really enforced here, and a process that runs in it.
// How it is enforced is known to bubblewrap.ts, launcher.ts and macos.ts alone.

import type { Readable } from "node:stream";
import type { Peer } from "./tool-peers.ts";

/** `developer` can also read the toolchains that the server's environment names. */
export type Profile = "developer" | "restricted";

export type Network = "none" | "loopback" | "full";

/** Caps of one process tree: an interpreter with all it starts, or one shell call. */
export interface Limits {
  readonly memoryMb: number;
  readonly cpuSecs: number;
  /** Processes and threads. */
  readonly procs: number;
}

export interface SandboxPolicy {
  readonly mode: "auto" | "on" | "off";
  readonly profile: Profile;
  readonly network: Network;
  readonly limits: Limits;
}

/** How a process is confined. `none`: not at all. */
export type Mechanism = "bubblewrap" | "launcher" | "sandbox-exec" | "none";

/** What is really enforced: for the banner, system info and the descriptions of tools. */
export interface EffectiveProtection {
  readonly mechanism: Mechanism;
  /** `workdir`: writes go to the working directory alone, reads to it and to system files. `open`: as the user can. */
  readonly filesystem: "workdir" | "open";
  /** Network that tools really have. `open` is `full` that nobody asked for. */
  readonly network: Network | "open";
  /** Whether tools can reach services of this machine, such as this server's own port. */
  readonly reachesMachine: boolean;
  /** Caps that hold; absent where none do. */
  readonly limits?: Limits;
  /** What holds process trees to them: the kernel, by control groups, or this server, by looking at them. */
  readonly caps?: "cgroup v2" | "watching";
  /** Sentences about what was asked for and is missing. */
  readonly warnings: readonly string[];
}

/** A folder that confined processes work in: the only place they can write to. */
export interface Workdir {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** Whom processes in it run as; absent where that is the server's own user. */
  readonly uid?: number;
  /** Made by us for one session, so that its size can be capped and its end is ours. */
  readonly isPrivate: boolean;
}

/** What the calls of one conversation share of the network. */
export interface SharedNetwork {
  /** Tells its development servers from others. Cannot be guessed. */
  readonly token: string;
  /** A process in the network namespace that they share. Absent: each call has its own, or none. */
  readonly holder?: number;
  /** To be called once by each who has joined. */
  leave(): void;
}

/** What to run. */
export interface SandboxJob {
  /** The program by its absolute path, and its arguments. */
  readonly argv: readonly string[];
  readonly workdir: Workdir;
  /** Added to the scrubbed environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Folders and files that can be read besides those of the profile. */
  readonly readPaths?: readonly string[];
  /** What it shares with other calls of its conversation. Absent: nothing. */
  readonly network?: SharedNetwork;
  /** Pipes for standard input and for file descriptor 3; otherwise the one is empty and the other closed. */
  readonly conversation?: boolean;
  /** Processes whose parents have ended become children of the program, as far as the mechanism lets them stay. */
  readonly adoptsOrphans?: boolean;
}

/** Which cap ended a process tree. */
export type BrokenLimit = "memory" | "cpu" | "procs" | "disk";

/** How a process ended: `code` or `signal`. */
export interface Ending {
  readonly code?: number;
  readonly signal?: string;
  /** The cap that it was killed for. */
  readonly limit?: BrokenLimit;
}

/** A process in the sandbox. */
export interface ConfinedProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** What it writes to file descriptor 3. */
  readonly replies: Readable | undefined;
  /** Writes to standard input; nothing happens once nobody reads any more. */
  write(text: string): void;
  /** Closes standard input. */
  endInput(): void;
  /** Whether anything but the program itself still runs. */
  hasOthers(): boolean;
  /** Sends SIGINT to the program itself. */
  interrupt(): void;
  /** Kills the program and everything it has started. */
  kill(): void;
  /** Ends once the program and everything that it has started are gone. Never rejects. */
  readonly ended: Promise<Ending>;
}

/** Starts confined processes. */
export interface Sandbox {
  readonly effective: EffectiveProtection;
  /** A fresh private folder. */
  newWorkdir(prefix: string): Workdir;
  /** A fresh private folder inside one that the settings name. */
  newWorkdirIn(parent: string, name: string): Workdir;
  /** A folder that the settings name; it is made where it is not there. Throws when processes could not work in it. */
  openWorkdir(path: string): Workdir;
  /** Joins the network of a conversation, which is made where nobody has joined it yet. */
  joinNetwork(session: string): Promise<SharedNetwork>;
  /** Whether a connection to this server comes from a confined process. Absent where that cannot happen, or be told. */
  readonly isToolPeer?: (peer: Peer, ownPort: number) => boolean;
  /** Deletes a private folder, whose processes have ended, and lets its uid be used again. */
  removeWorkdir(workdir: Workdir): Promise<void>;
  /** Throws when the process cannot be started. */
  spawn(job: SandboxJob): ConfinedProcess;
}
