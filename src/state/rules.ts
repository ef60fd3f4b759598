// Rules shared by all States: expiry of records, and refusals.

import { ServiceError } from "../core/error.ts";
import { type Holder, leastWorthBeyond } from "../core/least-worth.ts";
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

/** Error for a full set in which no record may be evicted for this client. */
export function stateFull(): ServiceError {
  return new ServiceError(
    "state_full",
    "no room for another record beside those that must stay; retry later",
  );
}

/** Whose a record is: `legacyOwner` has those without an owner; "" without owners. */
export function clientOf(record: unknown, legacyOwner: (() => string) | undefined): string {
  if (legacyOwner === undefined) return "";
  const owner = typeof record === "object" && record !== null && "owner" in record ? record.owner : undefined;
  return typeof owner === "string" ? owner : legacyOwner();
}

/** A record that takes a place, or bytes. */
export type RecordHolder = Holder<string> & { readonly size: number };

/**
 * The records that lose their bodies for the one of `id`, so that all bodies fit. `holders`: the records with bodies, oldest first, the
 * new one among them. Throws `state_full` where others would lose theirs to a client that has more.
 */
export function bodiesToElide(
  holders: readonly RecordHolder[],
  { id, bytesMax }: { readonly id: string; readonly bytesMax: number },
): readonly string[] {
  const total = holders.reduce((sum, { size }) => sum + size, 0);
  if (total <= bytesMax) return [];
  const asking = holders.find(({ item }) => item === id)?.client ?? "";
  const fixed = holders.map((one) => (one.item === id ? { ...one, isFixed: true } : one));
  const victims = leastWorthBeyond(bytesMax, fixed, asking);
  if (victims !== undefined) return victims;
  throw new ServiceError(
    "state_full",
    "there is no room for this content beside that of other keys; send less, or retry later",
  );
}

/** Refuses a body larger than the limit of all bodies. */
export function checkBodySize(body: Blob | undefined, bytesMax = 0): void {
  if (body === undefined || body.size <= bytesMax) return;
  throw new ServiceError("payload_too_large", `the content exceeds the limit of ${bytesMax} bytes`);
}
