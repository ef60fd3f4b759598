// Waits that an abort can end early.

import { setTimeout as sleep } from "node:timers/promises";

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

/** Awaits `work`, which goes on after an abort; rejects with the signal's reason if that comes before. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const left = Promise.withResolvers<never>();
  const leave = (): void => left.reject(signal.reason);
  if (signal.aborted) leave();
  return withAbort(signal, leave, Promise.race([work, left.promise]));
}

/** Resolves after a while, or at once at an abort. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal && { signal }).catch(() => undefined);
}
