// Work on an engine with a lease, which ends with the work.

import type { EngineClient } from "./client.ts";
import { type Failed, failedRun } from "./death.ts";

/** Gives an engine back. */
type Release = (engine: EngineClient) => void;

/** Work with one result. Rejects where no engine can be acquired. */
export async function leased<T>(
  acquiring: Promise<EngineClient>,
  release: Release,
  work: (engine: EngineClient) => Promise<T>,
): Promise<T> {
  const engine = await acquiring;
  try {
    return await work(engine);
  } finally {
    release(engine);
  }
}

/** A run, after the events of acquiring the engine (`R`). A failure of that becomes the run's `error` event. */
export async function* leasedRun<E, R = never>(
  acquiring: Promise<EngineClient> | AsyncGenerator<R, EngineClient>,
  release: Release,
  work: (engine: EngineClient) => AsyncIterable<E>,
  signal: AbortSignal,
): AsyncGenerator<E | R | Failed> {
  let engine: EngineClient;
  try {
    engine = "next" in acquiring ? yield* acquiring : await acquiring;
  } catch (error) {
    if (!signal.aborted) yield failedRun(error);
    return;
  }
  try {
    yield* work(engine);
  } finally {
    release(engine);
  }
}
