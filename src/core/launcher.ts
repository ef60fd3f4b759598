// Arguments of the sandbox launcher (ffi/linux/sandbox-launcher.ts): `svc sandbox POLICY PROGRAM WORDS…`, the policy as JSON.
// It applies the policy to itself and then becomes the program.

/** The hidden command's first word. */
export const LAUNCHER_WORD = "sandbox";
/** In place of a policy: print LauncherAbilities as JSON. */
export const PROBE_WORD = "probe";
/** In place of it: start the rest of the words below a network guard, whose policy comes first (ffi/linux/network-guard.ts). */
export const GUARD_WORD = "sandbox-guard";
/** Tells how much memory sockets hold: `svc sandbox-sockets [PID]` (ffi/linux/socket-memory.ts). */
export const SOCKETS_WORD = "sandbox-sockets";
/** Descriptor by which the launcher hands the listener of its filter to the guard. */
export const GUARD_CHANNEL = 100;
/** Exit code when the policy cannot be applied; the reason is on standard error. */
export const LAUNCHER_FAILED = 125;

/** Arguments of a network guard. */
export interface GuardPolicy {
  /** Which of the machine's listening sockets can be reached: those of guards with the same one. */
  readonly session: string;
  /** Whether the command may connect UNIX sockets of its file system, and abstract ones of its session. */
  readonly allowsUnixSockets: boolean;
  /** File descriptors that the command gets besides 0, 1 and 2. */
  readonly keep: readonly number[];
}

export interface LauncherPolicy {
  /** Working directory of the program. */
  readonly folder: string;
  /** User and group to become; needs root. */
  readonly uid?: number;
  /** A network of its own with nothing but loopback in it, and an IPC namespace; needs root. */
  readonly hasOwnNetwork: boolean;
  /** A process whose network it joins instead; needs root. */
  readonly networkOf?: number;
  /**
   * Files that can be reached, by Landlock and, where `uid` may not enter a folder above them, by mounts. Absent: all that the
   * user can reach.
   */
  readonly files?: {
    readonly read: readonly string[];
    readonly write: readonly string[];
  };
  /** A file to be mounted as /etc/passwd; needs root that may mount. */
  readonly passwd?: string;
  /** Whether abstract sockets and processes outside are out of reach, where the kernel can do that. */
  readonly isScoped: boolean;
  /** Whether orphans below the program become its children. */
  readonly adoptsOrphans?: boolean;
  /** The system call filter, base64. */
  readonly filter?: string;
  /** The filter of calls that a guard above makes in the program's place, base64; its listener goes through GUARD_CHANNEL. */
  readonly guarded?: string;
  /** Soft and hard limits by name. A lower hard limit that is there already stays. */
  readonly limits: Partial<Record<LimitName, readonly [soft: number, hard: number]>>;
  /** File descriptors that the program gets besides 0, 1 and 2. */
  readonly keep: readonly number[];
}

/**
 * As in getrlimit(2), without RLIMIT_. That on data is missing: it holds for the launcher too, whose runtime may need
 * memory at any moment and gives up when none is left.
 */
export type LimitName = "cpu" | "fsize" | "core" | "nproc" | "nofile";

/** Features of the kernel. */
export interface LauncherAbilities {
  /** Version of Landlock's interface; 0: none. */
  readonly landlock: number;
  readonly seccomp: boolean;
  /** Whether calls can be made in another process's place, so that a guard can watch over the network. */
  readonly guards: boolean;
  /** Whether it may mount, which takes root with CAP_SYS_ADMIN. */
  readonly mounts: boolean;
  /** Processes can be given networks of their own: root outside of a container that keeps that right from it. */
  readonly networks: boolean;
}
