// The words of the sandbox: what a process may do, what of that is really enforced here, and a process that runs in it.
// How it is enforced is known to bwrap.ts, launcher.ts and macos.ts alone.

/** `developer` can also read the toolchains that the server's environment names. */
export type Profile = "developer" | "restricted";

export type Network = "none" | "loopback" | "full";

/** Caps of one process tree: an interpreter with all it starts, or one shell call. */
export interface Limits {
  readonly memoryMb: number;
  readonly cpuSecs: number;
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
  /** Network that tools have. `open` is `full` that nobody asked for. */
  readonly network: Network | "open";
  /** Caps that hold; absent where none do. */
  readonly limits?: Limits;
  /** Sentences about what was asked for and is missing. */
  readonly warnings: readonly string[];
}

/** What to run. */
export interface SandboxJob {
  /** The program by its absolute path, and its arguments. */
  readonly argv: readonly string[];
  /** Working directory, the only place that can be written. Absolute. */
  readonly workdir: string;
  /** Whom the processes run as where the server is root: one number for each session. See identity.ts. */
  readonly uid?: number;
  /** Added to the scrubbed environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Folders and files that can be read besides those of the profile. */
  readonly readPaths?: readonly string[];
  readonly stdin: "ignore" | "pipe";
}

/** Which cap ended a process tree. */
export type BrokenLimit = "memory" | "cpu" | "procs" | "disk";

/** How a process ended. Exactly one of `code` and `signal` is there. */
export interface Ending {
  readonly code?: number;
  readonly signal?: string;
  /** The cap that it was killed for. */
  readonly limit?: BrokenLimit;
}

/** A process in the sandbox. */
export interface ConfinedProcess {
  readonly pid: number;
  /** Writes to standard input, where it is a pipe; false once nobody reads any more. */
  write(text: string): boolean;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** Sends SIGINT to the program itself. */
  interrupt(): void;
  /** Kills the program and everything it has started. */
  kill(): void;
  /** Ends once the program and everything that it has started are gone. */
  readonly ended: Promise<Ending>;
}

/** Starts confined processes. */
export interface Sandbox {
  readonly effective: EffectiveProtection;
  /** Throws when the process cannot be started. */
  spawn(job: SandboxJob): ConfinedProcess;
}
