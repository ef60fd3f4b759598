// In-memory State, the default: lost when the process ends.

import { assert } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { leastWorth } from "../core/least-worth.ts";
import type { Clock, Records, RecordsOptions, StagedBody, State } from "../core/state.ts";
import { bodiesToElide, checkBodySize, clientOf, hasEnded, type Stamps, stateFull } from "./rules.ts";

/** An empty State. */
export function memoryState(clock: Clock = Date.now): State {
  const sets = new Map<string, { sweep(): void }>();
  return {
    records<T>(name: string, options: RecordsOptions<T>): Records<T> {
      assert(!sets.has(name), `the set ${name} is opened once`);
      const records = new MemoryRecords(options, clock);
      sets.set(name, records);
      return records;
    },
    stage: async (pieces) => ({ blob: new Blob([...pieces]), discard: () => undefined }),
    sweep() {
      for (const set of sets.values()) set.sweep();
    },
    close: () => sets.clear(),
  };
}

interface Entry<T> extends Stamps {
  readonly value: T;
  readonly body?: Blob;
}

class MemoryRecords<T> implements Records<T> {
  /** Oldest first: a Map keeps insertion order. */
  private readonly entries = new Map<string, Entry<T>>();
  private readonly options: RecordsOptions<T>;
  private readonly clock: Clock;
  private bodyBytes = 0;

  constructor(options: RecordsOptions<T>, clock: Clock) {
    this.options = options;
    this.clock = clock;
  }

  get(id: string): T | undefined {
    return this.living(id)?.value;
  }

  has(id: string): boolean {
    return this.living(id) !== undefined;
  }

  put(id: string, value: T, staged?: StagedBody): void {
    checkBodySize(staged?.blob, this.options.bodyBytesMax);
    const old = this.living(id);
    const client = this.clientOf(value);
    if (old === undefined) this.makeRoom(client);
    const victims = staged === undefined ? [] : this.bodiesToElide(id, client, staged.blob.size);
    const putMs = this.clock();
    const kept = staged?.blob ?? old?.body;
    const entry = {
      value,
      createdMs: old?.createdMs ?? putMs,
      putMs,
      ...defined({ body: kept }),
    };
    if (this.options.life.type === "idle") this.remove(id); // so that it is re-added as the youngest
    this.replace(id, entry);
    for (const victim of victims) this.elide(victim);
  }

  body(id: string): Blob | undefined {
    return this.living(id)?.body;
  }

  hasBody(id: string): boolean {
    return this.body(id) !== undefined;
  }

  delete(id: string): boolean {
    const existed = this.living(id) !== undefined;
    this.remove(id);
    return existed;
  }

  list(): readonly T[] {
    this.sweep();
    return [...this.entries.values()].map(({ value }) => value);
  }

  sweep(): void {
    for (const id of this.entries.keys()) this.living(id);
  }

  /** The entry; removed if expired. */
  private living(id: string): Entry<T> | undefined {
    const entry = this.entries.get(id);
    if (entry === undefined || !hasEnded(entry, this.options.life, this.clock())) return entry;
    this.remove(id);
    return undefined;
  }

  private clientOf(value: T): string {
    return clientOf(value, this.options.legacyOwner);
  }

  /** Drops a record if all places are taken, for one of a client. */
  private makeRoom(client: string): void {
    if (this.entries.size < this.options.capacity) return;
    this.sweep();
    if (this.entries.size < this.options.capacity) return;
    const { mayGo } = this.options;
    const holders = [...this.entries].map(([item, { value }]) => {
      return { item, client: this.clientOf(value), isFixed: mayGo !== undefined && !mayGo(value) };
    });
    const victim = leastWorth([...holders, { item: "", client, isFixed: true }], client);
    if (victim === undefined) throw stateFull();
    this.remove(victim);
  }

  /** Records whose bodies have to go for a new one of this size. */
  private bodiesToElide(id: string, client: string, size: number): readonly string[] {
    const bytesMax = this.options.bodyBytesMax ?? 0;
    const oldBytes = bytesOf(this.entries.get(id));
    if (this.bodyBytes - oldBytes + size <= bytesMax) return [];
    const others = [...this.entries].flatMap(([item, { value, body }]) =>
      body === undefined || item === id ? [] : [{ item, client: this.clientOf(value), size: body.size }],
    );
    return bodiesToElide([...others, { item: id, client, size }], { id, bytesMax });
  }

  private elide(id: string): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    const { body: _, ...rest } = entry;
    this.replace(id, rest);
  }

  /** Replaces an entry in place. */
  private replace(id: string, entry: Entry<T>): void {
    this.bodyBytes += bytesOf(entry) - bytesOf(this.entries.get(id));
    this.entries.set(id, entry);
  }

  private remove(id: string): void {
    this.bodyBytes -= bytesOf(this.entries.get(id));
    this.entries.delete(id);
  }
}

function bytesOf(entry: Entry<unknown> | undefined): number {
  return entry?.body?.size ?? 0;
}
