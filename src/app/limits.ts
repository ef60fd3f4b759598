// Limits of app, with their units and sources.

/** Of the memory that is free at the start, the share that bytes of files may take where they are kept in memory. */
export const FILE_BODIES_SHARE = 0.25;
/** Pause between sweeps of what has expired, milliseconds. */
export const STATE_SWEEP_MS = 120_000;
/** Time between two looks at how many connections the kernel has dropped, milliseconds. */
export const DROPS_CHECK_MS = 5_000;
/** Times that a free port is chosen, until it is free on all addresses of the server. */
export const FREE_PORT_ATTEMPTS_MAX = 16;
/** Time between two looks at a stopping server, milliseconds. */
export const LOOK_MS = 5;
/** Looks in a row that find no request before it stops; the least looks before connections are cut, and before it ends. */
export const QUIET_LOOKS = 3;
export const FLUSH_LOOKS = 100;
export const STOP_LOOKS = 150;
/** Time that last frames get to reach their clients after a drain, milliseconds. */
export const FLUSH_MS = 800;
/** Time after the drain after which a server ends, whatever has not: its children end with it. Milliseconds. */
export const STOP_MS_MAX = 1_900;
/** Bytes that are read to measure main memory, more than caches hold, and the time that the measurement may take, milliseconds. */
export const MACHINE_READ_BYTES = 256 * 1024 * 1024;
export const MACHINE_READ_MS = 60_000;
/** Records of the log of payloads that wait for the disk, bytes; what comes then is left out, and said. */
export const PAYLOADS_WAITING_BYTES = 64 * 1024 * 1024;
/** Most bytes of a library for graphics cards in a release (prebuilt/backends/build.sh keeps them below 64 MiB), and the time in which a
 * server must say how many it has, milliseconds. */
export const PART_BYTES_MAX = 512 * 1024 * 1024;
export const PART_SIZE_MS = 30_000;
