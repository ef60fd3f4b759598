// Chunks of a request body as they arrive, with a minimum pace: a stalled or slow upload times out instead of holding its
// connection. Knows neither the content nor its limit.

import { ServiceError } from "../core/error.ts";
import { BODY_BYTES_PER_SEC_MIN, BODY_DRAIN_BYTES_MAX, BODY_STALL_MS } from "./limits.ts";
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
async function* bodyPieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
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

/** The refusal of a body that is too large. */
function bodyTooLarge(bytesMax: number): ServiceError {
  return new ServiceError("payload_too_large", `the request body is larger than ${bytesMax} bytes`);
}

/**
 * The pieces of a request's body, up to a size. The rest of a larger one is read and dropped first, within a bound, and then
 * `payload_too_large` is thrown: answered earlier, a connection that is still written to would be reset, and the answer lost.
 */
export async function* boundedPieces(request: Request, bytesMax: number): AsyncGenerator<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > bytesMax + BODY_DRAIN_BYTES_MAX) throw bodyTooLarge(bytesMax);
  let isTooLarge = declared > bytesMax;
  let bytes = 0;
  if (request.body !== null) {
    for await (const piece of bodyPieces(request.body)) {
      bytes += piece.byteLength;
      isTooLarge ||= bytes > bytesMax;
      if (bytes > bytesMax + BODY_DRAIN_BYTES_MAX) break;
      if (!isTooLarge) yield piece;
    }
  }
  if (isTooLarge) throw bodyTooLarge(bytesMax);
}

/** Result of the promise, or undefined after a timeout. */
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
  const pace = `it may pause for at most ${stallMs / 1000} s and must average at least ${bytesPerSec} bytes per second`;
  return new ServiceError(
    "request_timeout",
    `the request body arrived too slowly: ${pace}; send it again over a faster connection`,
  );
}
