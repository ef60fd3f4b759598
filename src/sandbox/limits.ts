// Limits of sandbox, with their units and sources.

/** Time between two looks at confined processes, milliseconds; more where a look takes long. Spec: sandbox caps. */
export const SANDBOX_POLL_MS = 200;
export const SANDBOX_POLL_MS_MAX = 500;
/** A look should take one part in so many of the time. */
export const SANDBOX_POLL_SHARE = 50;
/** Time between two measurements of a private working directory, milliseconds. */
export const WORKDIR_POLL_MS = 1_000;
/** Time between two queries of the sockets of a process tree, where they may matter, milliseconds. */
export const SOCKETS_POLL_MS = 400;
/** Bytes and entries of a private working directory. */
export const WORKDIR_BYTES_MAX = 4 * 1024 * 1024 * 1024;
export const WORKDIR_ENTRIES_MAX = 200_000;
/** Free bytes of its disk below which a private working directory may not grow. */
export const DISK_RESERVE_BYTES = 1024 * 1024 * 1024;
/** Bytes of one file that confined processes write, and files that one of them holds open. */
export const SANDBOX_FILE_BYTES_MAX = 256 * 1024 * 1024;
export const SANDBOX_OPEN_FILES_MAX = 1024;
/** Time a mechanism's trial run may take, milliseconds. */
export const SANDBOX_PROBE_MS = 10_000;
/** Trial runs of one mechanism. */
export const SANDBOX_TRIALS = 3;
/**
 * Users that sessions run as where the server is root. Distributions leave this range free, and it lies below 65536 as
 * containers need it.
 */
export const SANDBOX_UID_FIRST = 60_706;
export const SANDBOX_UIDS = 478;
/** Time between two attempts to kill what a tool has left behind, milliseconds. */
export const SANDBOX_KILL_MS = 20;
/** Tasks that a control group holds beyond `max_procs`: launchers, and the processes of bubblewrap. */
export const CONTROL_GROUP_TASKS = 24;
/** Share of the processors against the 100 of the server where both are busy. */
export const CONTROL_GROUP_WEIGHT = 50;
/** The pipes of a process that has ended are read for so long, milliseconds: somebody who got away may hold them for ever. */
export const SANDBOX_PIPES_MS = 1_000;
