// Records owned by the API key that created them: invisible and immutable for other keys. Records from before keys were
// configured belong to the first key.

import { assert } from "../core/assert.ts";
import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import type { OwnedState, Records, RecordsOptions, StagedBody, State } from "../core/state.ts";

/** A stored record. Without an owner it is from before keys were configured. */
type Owned<T> = T & { readonly owner?: string };

/**
 * A State whose records are visible only to their owners; callers without one, where no key is needed, see all. `legacyOwner` owns
 * those without an owner; absent: all share all records.
 */
export function ownedState(state: State, legacyOwner?: () => string): OwnedState {
  return {
    ...state,
    records<T>(name: string, options: RecordsOptions<T>) {
      if (legacyOwner === undefined) {
        const shared = state.records(name, options);
        return () => shared;
      }
      const records = state.records<Owned<T>>(name, { ...options, legacyOwner });
      return (caller: Caller) => new OwnedRecords<T>(records, caller, legacyOwner);
    },
  };
}

/** What one caller has of the records. */
class OwnedRecords<T> implements Records<T> {
  private readonly inner: Records<Owned<T>>;
  private readonly caller: Caller;
  private readonly legacyOwner: () => string;

  constructor(inner: Records<Owned<T>>, caller: Caller, legacyOwner: () => string) {
    this.inner = inner;
    this.caller = caller;
    this.legacyOwner = legacyOwner;
  }

  get(id: string): T | undefined {
    const stored = this.inner.get(id);
    return stored !== undefined && this.isVisible(stored) ? stored : undefined;
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  put(id: string, value: T, body?: StagedBody): void {
    const stored = this.inner.get(id);
    assert(stored === undefined || this.isVisible(stored), `${id} belongs to another key`);
    const owner = stored?.owner ?? this.caller.owner;
    this.inner.put(id, { ...value, ...defined({ owner }) }, body);
  }

  body(id: string): Blob | undefined {
    return this.has(id) ? this.inner.body(id) : undefined;
  }

  hasBody(id: string): boolean {
    return this.has(id) && this.inner.hasBody(id);
  }

  delete(id: string): boolean {
    return this.has(id) && this.inner.delete(id);
  }

  list(): readonly T[] {
    return this.inner.list().filter((stored) => this.isVisible(stored));
  }

  /** The server itself has access to all. */
  private isVisible({ owner = this.legacyOwner() }: Owned<T>): boolean {
    return this.caller.owner === undefined || this.caller.owner === owner;
  }
}
