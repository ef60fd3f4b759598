// Where things that outlive a request are kept. Two implementations: memory, and SQLite for what must survive a restart.

/** A bounded set of JSON records by id. Calls return when the record is as safe as the implementation makes it. */
export interface Records<T> {
  /** The record, or undefined when it is unknown or has expired. */
  get(id: string): T | undefined;
  /** Inserts or replaces. A full set first drops what has expired, then the oldest record that may go. */
  put(id: string, value: T): void;
  /** False when there was none. */
  delete(id: string): boolean;
  /** All that have not expired, oldest first. */
  list(): readonly T[];
}

export interface RecordsOptions<T> {
  readonly capacity: number;
  /** Life of a record from its insertion, milliseconds; replacing does not lengthen it. Absent: no end. */
  readonly lifeMs?: number;
  /** Life from the last `put`, milliseconds, instead. */
  readonly idleMs?: number;
  /** Whether a full set may drop this one. Default: yes. */
  readonly mayGo?: (value: T) => boolean;
}

/** Named sets of records. */
export interface State {
  records<T>(name: string, options: RecordsOptions<T>): Records<T>;
  close(): void;
}
