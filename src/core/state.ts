// Interface of storage that outlives a request. Two implementations: memory, and SQLite, which survives a restart.

import type { ForCaller } from "./caller.ts";

/**
 * A bounded set of JSON records by id, each with a body of bytes if it needs one. Calls return when the record is as safe
 * as the implementation makes it. A value is never changed in place: what is to change is put again.
 */
export interface Records<T> {
  /** The record, or undefined when it is unknown or has expired. */
  get(id: string): T | undefined;
  has(id: string): boolean;
  /**
   * Inserts or replaces; a body that is not given stays as it is. A full set first drops what has expired, then the
   * oldest record that may go of the client with the most. Takes the body over, also when it throws: `state_full` when no record
   * or body may go in favour of this client, `payload_too_large` for a body that could not even fit alone, `storage_unavailable`.
   */
  put(id: string, value: T, body?: StagedBody): void;
  /** The body; undefined without one, or after it was evicted. Reading it fails once its record is deleted. */
  body(id: string): Blob | undefined;
  hasBody(id: string): boolean;
  /** False when there was none. */
  delete(id: string): boolean;
  /** All that have not expired, oldest first. */
  list(): readonly T[];
}

/** Bytes that are safe, but belong to no record yet. */
export interface StagedBody {
  readonly blob: Blob;
  /** Gives them up, where they are not put after all. */
  discard(): void;
}

/** How long records live. */
export type Life =
  /** Until they are deleted, or dropped for others. */
  | { readonly type: "endless" }
  /** From their insertion, milliseconds; replacing does not lengthen it. The oldest is the one inserted first. */
  | { readonly type: "fixed"; readonly ms: number }
  /** From their last `put`, milliseconds. The oldest is the one put longest ago. */
  | { readonly type: "idle"; readonly ms: number };

export interface RecordsOptions<T> {
  /** Records held at the same time. */
  readonly capacity: number;
  readonly life: Life;
  /** Bytes of all bodies: beyond it the oldest bodies go, while their records stay. Default: none are kept. */
  readonly bodyBytesMax?: number;
  /** Whether a full set may drop this one. Default: yes. Its life ends all the same. */
  readonly mayGo?: (value: T) => boolean;
  /**
   * Records carry an `owner`, and those without are this one's: a full set drops nothing for an owner who has more. Absent: all are
   * one client's.
   */
  readonly legacyOwner?: () => string;
  /** Puts survive the end of the process, but not that of the machine: they do not wait for the disk. Default: both. */
  readonly isQuick?: boolean;
}

/** Named sets of records. */
export interface State {
  /** The set of this name. A name is asked for once: two callers would not know of each other. */
  records<T>(name: string, options: RecordsOptions<T>): Records<T>;
  /** Keeps the bytes of a body that is about to be put. Rejects with `storage_unavailable`. */
  stage(pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<StagedBody>;
  /** Frees what has expired; without it, that happens when a set is full. */
  sweep(): void;
  /** Nothing may be asked of it afterwards. */
  close(): void;
}

/** A State whose records belong to the callers that made them: each sees its own, the server all. */
export interface OwnedState extends Omit<State, "records"> {
  records<T>(name: string, options: RecordsOptions<T>): ForCaller<Records<T>>;
}

/** Unix time, milliseconds. Wall-clock time, because records may outlive the process. */
export type Clock = () => number;
