/** How often a condition is looked at, milliseconds. */
const POLL_MS = 5;
/** Factor on how long to wait at most, for processors that are emulated (test/platforms.sh) or busy. */
const PATIENCE = Number(process.env["SVC_TEST_PATIENCE"] ?? 1);

/** A longest wait, milliseconds, with that factor. */
export const patient = (ms: number): number => ms * PATIENCE;

/**
 * Waits until `condition` gives something other than false or undefined, and returns it. Throws when that takes longer
 * than `withinMs` times SVC_TEST_PATIENCE; `what` completes the sentence "… did not happen".
 */
export async function until<T>(
  what: string,
  condition: () => T | false | undefined | Promise<T | false | undefined>,
  withinMs = 20_000,
): Promise<T> {
  const patientMs = patient(withinMs);
  const deadline = performance.now() + patientMs;
  for (;;) {
    const result = await condition();
    if (result !== false && result !== undefined) return result;
    if (performance.now() > deadline) throw new Error(`within ${patientMs} ms this did not happen: ${what}`);
    await Bun.sleep(POLL_MS);
  }
}

/** The promise's value; throws when it takes longer than `withinMs` times SVC_TEST_PATIENCE. */
export async function within<T>(withinMs: number, what: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const patientMs = patient(withinMs);
  const timer = setTimeout(
    () => late.reject(new Error(`within ${patientMs} ms this did not happen: ${what}`)),
    patientMs,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
