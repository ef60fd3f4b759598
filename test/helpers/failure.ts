/** Message of the error that a promise rejects with; throws when it does not. */
export async function failure(promise: Promise<unknown>): Promise<string> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  if (outcome === undefined) throw new Error("a failure was expected");
  return outcome;
}

/** What a promise rejects with; undefined where it does not. */
export function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(promise).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}
