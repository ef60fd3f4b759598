// Rules shared by all States: expiry of records, and refusals.

import { ServiceError } from "../core/error.ts";
import type { Life } from "../core/state.ts";

/** Time of creation and of the last put, Unix milliseconds. */
export interface Stamps {
  readonly createdMs: number;
  readonly putMs: number;
}

/** Whether a record has expired at `nowMs`. */
export function hasEnded({ createdMs, putMs }: Stamps, life: Life, nowMs: number): boolean {
  switch (life.type) {
    case "endless":
      return false;
    case "fixed":
      return nowMs - createdMs >= life.ms;
    case "idle":
      return nowMs - putMs >= life.ms;
  }
}

/** Error for a full set in which no record may be evicted. */
export function stateFull(): ServiceError {
  return new ServiceError("state_full", "too many unfinished records; retry later");
}

/** Refuses a body larger than the limit of all bodies. */
export function checkBodySize(body: Blob | undefined, bytesMax = 0): void {
  if (body === undefined || body.size <= bytesMax) return;
  throw new ServiceError("payload_too_large", `the content exceeds the limit of ${bytesMax} bytes`);
}
