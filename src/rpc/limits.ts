// Bounds of the RPC relay.

/** Longest line of the handshake, bytes. */
export const LINE_BYTES_MAX = 512;

/** Time for a connection with its handshake, milliseconds. */
export const HANDSHAKE_MS = 5_000;

/** Time for the process with the devices to listen, milliseconds. */
export const DEVICES_MS = 60_000;

/** Interval at which its port is tried, milliseconds. */
export const DEVICES_POLL_MS = 50;

/** Connections of a worker at the same time; one of them uses its devices. */
export const CLIENTS_MAX = 64;

/** Bytes that a measurement sends to a worker and gets back. */
export const ECHO_BYTES = 8 * 1024 * 1024;

/** Round trips of one byte that a measurement makes. */
export const ECHO_ROUNDS = 20;

/** Time for a whole measurement, milliseconds. */
export const ECHO_MS = 15_000;
