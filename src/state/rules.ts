// What holds for every kind of State: when a record's life is over, and what is refused.

import { ServiceError } from "../core/error.ts";
import type { Life } from "../core/state.ts";

/** When a record came and when it was last put, Unix milliseconds. */
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

/** No record of a full set may be dropped. */
export function stateFull(): ServiceError {
  return new ServiceError("state_full", "the server holds as many unfinished things of this kind as it can");
}

/** Refuses a body that would not fit if it were the only one. */
export function checkBodySize(body: Blob | undefined, bytesMax = 0): void {
  if (body === undefined || body.size <= bytesMax) return;
  throw new ServiceError("payload_too_large", `more than ${bytesMax} bytes cannot be kept`);
}
