// Limits of the sandbox, with units and sources.

/** Time between two measurements of sandboxed processes, milliseconds; more where a measurement is slow. Spec: sandbox caps. */
export const SANDBOX_POLL_MS = 200;
export const SANDBOX_POLL_MS_MAX = 500;
/** Ratio of pause to duration of a measurement. */
export const SANDBOX_POLL_SHARE = 50;
/** Time between two measurements of a private working directory, milliseconds. */
export const WORKDIR_POLL_MS = 1_000;
/** Time between two queries of the sockets of a process tree, milliseconds. */
export const SOCKETS_POLL_MS = 400;
/** Bytes and entries of a private working directory. */
export const WORKDIR_BYTES_MAX = 4 * 1024 * 1024 * 1024;
export const WORKDIR_ENTRIES_MAX = 200_000;
/** Levels of folders in a working directory. Below them nothing is measured, listed or copied. */
export const WORKDIR_DEPTH_MAX = 256;
/** Time a walk of a working directory may take, milliseconds, and entries it looks at together. */
export const WALK_MS_MAX = 10_000;
export const WALK_CHUNK = 128;
/** Time the end of a process waits for the last measurement of its folder, milliseconds. */
export const WORKDIR_LAST_MS = 1_000;
/** Child processes that remove trees at the same time; processor time, seconds, and memory, KiB, of each. */
export const REMOVALS_MAX = 2;
export const REMOVAL_CPU_SECS = 600;
export const REMOVAL_MEMORY_KIB = 1024 * 1024;
/** Free bytes of its disk below which a private working directory may not grow. */
export const DISK_RESERVE_BYTES = 1024 * 1024 * 1024;
/** Size of one file that a sandboxed process writes, bytes, and its open files. */
export const SANDBOX_FILE_BYTES_MAX = 256 * 1024 * 1024;
export const SANDBOX_OPEN_FILES_MAX = 1024;
/** Time a mechanism's trial run may take, milliseconds. */
export const SANDBOX_PROBE_MS = 10_000;
/** Trial runs of one mechanism. */
export const SANDBOX_TRIALS = 3;
/**
 * Users of the sessions of a root server. Distributions leave this range free, and containers need users below 65536.
 */
export const SANDBOX_UID_FIRST = 60_706;
export const SANDBOX_UIDS = 478;
/** Time between two attempts to kill the leftover processes of a tool, milliseconds. */
export const SANDBOX_KILL_MS = 20;
/** Tasks that a control group holds beyond `max_procs`: launchers, and the processes of bubblewrap. */
export const CONTROL_GROUP_TASKS = 24;
/** Share of the processors against the 100 of the server where both are busy. */
export const CONTROL_GROUP_WEIGHT = 50;
/** Time after a process's exit for which its pipes are read, milliseconds: an escaped process may hold them open. */
export const SANDBOX_PIPES_MS = 1_000;
