/**
 * Lets the event loop turn so often that everything that is ready has run. To prove that something does not happen without
 * waiting for time: a busy machine turns slower, not less.
 */
export async function turns(count = 100): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
