// The pieces of a request body as they arrive, and no slower than they may: a connection whose body stands still or drips
// would otherwise be held without end. Knows neither what the body is nor how much of it is wanted.

import { ServiceError } from "../core/error.ts";
import { BODY_BYTES_PER_SEC_MIN, BODY_STALL_MS } from "../core/limits.ts";
import { observed } from "./observe.ts";

/** How slowly a body may come. */
export interface BodyPace {
  /** Time without a byte, and what the average may be behind at any moment, milliseconds. */
  readonly stallMs: number;
  /** Bytes a second, on average. */
  readonly bytesPerSec: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

const BODY_PACE: BodyPace = {
  stallMs: BODY_STALL_MS,
  bytesPerSec: BODY_BYTES_PER_SEC_MIN,
  now: () => performance.now(),
};

/**
 * A body's pieces, at the pace that the request's observation names. What is done with a piece takes none of the client's
 * time. Throws `request_timeout` when too little has come; leaving early cancels the body.
 */
export async function* bodyPieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { stallMs, bytesPerSec, now } = observed()?.bodyPace ?? BODY_PACE;
  const reader = body.getReader();
  let bytes = 0;
  let waitedMs = 0;
  try {
    for (;;) {
      const behindMs = waitedMs - (bytes / bytesPerSec) * 1000;
      const startMs = now();
      const piece = await within(stallMs - Math.max(0, behindMs), reader.read());
      if (piece === undefined) throw tooSlow(stallMs, bytesPerSec);
      waitedMs += now() - startMs;
      if (piece.done) return;
      bytes += piece.value.byteLength;
      yield piece.value;
    }
  } finally {
    reader.cancel().catch(() => undefined); // what has ended or broken off needs none
  }
}

/** What the promise brings, or undefined where it takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  if (ms <= 0) return undefined;
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function tooSlow(stallMs: number, bytesPerSec: number): ServiceError {
  const pace = `at most ${stallMs / 1000} s may pass without a byte, and ${bytesPerSec} bytes a second are the least on average`;
  return new ServiceError(
    "request_timeout",
    `the request body came too slowly: ${pace}; send it again, in one go or over a faster line`,
  );
}
