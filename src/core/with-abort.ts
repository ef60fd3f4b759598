// A wait that an abort can end early.

/** Awaits `settled`; calls `onAbort`, which should settle it, if the signal aborts before. */
export async function withAbort<T>(
  signal: AbortSignal,
  onAbort: () => void,
  settled: Promise<T>,
): Promise<T> {
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await settled;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
