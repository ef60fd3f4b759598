// One set of records in the state file. A put and its evictions are one transaction; unreferenced bodies are deleted after it.

import type { Database } from "bun:sqlite";
import { assert } from "../core/assert.ts";
import { leastWorth } from "../core/least-worth.ts";
import type { Clock, Records, RecordsOptions, StagedBody } from "../core/state.ts";
import { type BodyFolder, StagedFile } from "./bodies.ts";
import type { Reserve } from "./reserve.ts";
import { bodiesToElide, checkBodySize, clientOf, hasEnded, stateFull } from "./rules.ts";

/** Shared by the sets of one state file. */
export interface SqliteStore {
  readonly db: Database;
  readonly bodies: BodyFolder;
  readonly reserve: Reserve;
  readonly clock: Clock;
  /** Calls a function and converts disk errors to ServiceErrors. */
  readonly guard: <R>(action: () => R) => R;
}

/** A record without its value, which may be long. */
interface Head {
  readonly age: number;
  readonly id: string;
  readonly createdMs: number;
  readonly putMs: number;
  /** File name in the folder of bodies. */
  readonly body: string | null;
  readonly bodyBytes: number;
}

interface Row extends Head {
  readonly value: string;
}

const HEAD = "age, id, created_ms AS createdMs, put_ms AS putMs, body, body_bytes AS bodyBytes";

type Body = readonly [body: string | null, bodyBytes: number];

/** Statements of one set; `db.query` caches one prepared statement per SQL text. */
function statementsOf(db: Database) {
  return {
    one: db.query<Row, [kind: string, id: string]>(
      `SELECT ${HEAD}, value FROM records WHERE kind = ? AND id = ?`,
    ),
    head: db.query<Head, [kind: string, id: string]>(`SELECT ${HEAD} FROM records WHERE kind = ? AND id = ?`),
    rows: db.query<Row, [kind: string]>(`SELECT ${HEAD}, value FROM records WHERE kind = ? ORDER BY age`),
    heads: db.query<Head, [kind: string]>(`SELECT ${HEAD} FROM records WHERE kind = ? ORDER BY age`),
    owners: db.query<{ id: string; owner: string | null }, [kind: string]>(
      "SELECT id, json_extract(value, '$.owner') AS owner FROM records WHERE kind = ?",
    ),
    totals: db.query<{ count: number; bytes: number }, [kind: string]>(
      "SELECT count(*) AS count, coalesce(sum(body_bytes), 0) AS bytes FROM records WHERE kind = ?",
    ),
    insert: db.query<
      never,
      [kind: string, id: string, createdMs: number, putMs: number, ...Body, value: string]
    >(
      "INSERT INTO records (kind, id, created_ms, put_ms, body, body_bytes, value) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    update: db.query<never, [putMs: number, ...Body, value: string, age: number]>(
      "UPDATE records SET put_ms = ?, body = ?, body_bytes = ?, value = ? WHERE age = ?",
    ),
    elide: db.query<never, [age: number]>("UPDATE records SET body = NULL, body_bytes = 0 WHERE age = ?"),
    delete: db.query<never, [age: number]>("DELETE FROM records WHERE age = ?"),
    sync: db.query<never, []>("PRAGMA synchronous = FULL"),
    noSync: db.query<never, []>("PRAGMA synchronous = NORMAL"),
  };
}

export class SqliteRecords<T> implements Records<T> {
  private readonly store: SqliteStore;
  private readonly kind: string;
  private readonly options: RecordsOptions<T>;
  private readonly statements: ReturnType<typeof statementsOf>;
  /** Clients of the records by id, once they are needed: reading all values for them takes long. */
  private clients: Map<string, string> | undefined;
  /** Bodies that lose their record in the current transaction. */
  private readonly orphans: string[] = [];

  constructor(store: SqliteStore, kind: string, options: RecordsOptions<T>) {
    this.store = store;
    this.kind = kind;
    this.options = options;
    this.statements = statementsOf(store.db);
  }

  get(id: string): T | undefined {
    const row = this.living(id);
    return row === undefined ? undefined : this.valueOf(row);
  }

  has(id: string): boolean {
    return this.head(id) !== undefined;
  }

  put(id: string, value: T, staged?: StagedBody): void {
    try {
      checkBodySize(staged?.blob, this.options.bodyBytesMax);
      this.write(() => this.putRow(id, value, staged));
    } catch (error) {
      staged?.discard();
      throw error;
    }
  }

  body(id: string): Blob | undefined {
    const name = this.head(id)?.body ?? undefined;
    return name === undefined ? undefined : this.store.bodies.blob(name);
  }

  hasBody(id: string): boolean {
    return (this.head(id)?.body ?? null) !== null;
  }

  delete(id: string): boolean {
    const existed = this.has(id);
    if (existed) this.free(() => this.remove(id));
    return existed;
  }

  list(): readonly T[] {
    const nowMs = this.store.clock();
    const rows = this.store.guard(() => this.statements.rows.all(this.kind));
    return rows.filter((row) => !hasEnded(row, this.options.life, nowMs)).map((row) => this.valueOf(row));
  }

  sweep(): void {
    this.free(() => this.removeExpired());
  }

  private valueOf(row: Row): T {
    return JSON.parse(row.value) as T; // written by put
  }

  private row(id: string): Row | undefined {
    return this.statements.one.get(this.kind, id) ?? undefined;
  }

  private living(id: string): Row | undefined {
    return this.unlessEnded(this.store.guard(() => this.row(id)));
  }

  private head(id: string): Head | undefined {
    return this.unlessEnded(this.store.guard(() => this.statements.head.get(this.kind, id) ?? undefined));
  }

  private unlessEnded<H extends Head>(head: H | undefined): H | undefined {
    return head === undefined || hasEnded(head, this.options.life, this.store.clock()) ? undefined : head;
  }

  /** Runs in one transaction. */
  private write(action: () => void): void {
    this.store.guard(() => (this.options.isQuick === true ? this.quickly(action) : this.transact(action)));
    for (const name of this.orphans) this.store.bodies.remove(name);
  }

  /** What the system holds of the write-ahead log outlives the process without being synced. */
  private quickly(action: () => void): void {
    const { sync, noSync } = this.statements;
    noSync.run();
    try {
      this.transact(action);
    } finally {
      sync.run();
    }
  }

  /** The same for what only deletes: it works on a full disk. */
  private free(action: () => void): void {
    this.store.guard(() => this.store.reserve.freeing(() => this.transact(action)));
    for (const name of this.orphans) this.store.bodies.remove(name);
  }

  private transact(action: () => void): void {
    this.orphans.length = 0; // of an attempt that failed
    try {
      this.store.db.transaction(action).immediate();
    } catch (error) {
      this.clients = undefined; // the records are again those from before
      throw error;
    }
  }

  private putRow(id: string, record: T, staged: StagedBody | undefined): void {
    assert(staged === undefined || staged instanceof StagedFile, "a body was staged by this State");
    const nowMs = this.store.clock();
    let old = this.row(id);
    if (old !== undefined && hasEnded(old, this.options.life, nowMs)) {
      this.remove(id);
      old = undefined;
    }
    const value = JSON.stringify(record);
    const client = clientOf(record, this.options.legacyOwner);
    if (old === undefined) this.makeRoom(client);
    this.clients?.set(id, client);
    if (staged !== undefined && old !== undefined && old.body !== null) this.orphans.push(old.body);
    const body = staged === undefined ? (old?.body ?? null) : staged.name;
    const bodyBytes = staged === undefined ? (old?.bodyBytes ?? 0) : staged.blob.size;
    const { insert, update, delete: drop } = this.statements;
    if (old !== undefined && this.options.life.type !== "idle") {
      update.run(nowMs, body, bodyBytes, value, old.age);
    } else {
      if (old !== undefined) drop.run(old.age); // re-added as the youngest
      insert.run(this.kind, id, old?.createdMs ?? nowMs, nowMs, body, bodyBytes, value);
    }
    this.elideBodies(id);
  }

  private remove(id: string): void {
    const row = this.row(id);
    if (row !== undefined) this.removeRow(row);
  }

  private removeRow({ age, id, body }: Head): void {
    if (body !== null) this.orphans.push(body);
    this.clients?.delete(id);
    this.statements.delete.run(age);
  }

  private removeExpired(): void {
    const nowMs = this.store.clock();
    for (const head of this.statements.heads.all(this.kind)) {
      if (hasEnded(head, this.options.life, nowMs)) this.removeRow(head);
    }
  }

  /** Drops a record if all places are taken, for one of a client. */
  private makeRoom(client: string): void {
    if (this.count() < this.options.capacity) return;
    this.removeExpired();
    if (this.count() < this.options.capacity) return;
    const clients = this.clientsById();
    const heads = this.statements.heads.all(this.kind);
    const kept = new Set<Head>();
    for (;;) {
      const holders = heads.map((head) => {
        return { item: head, client: clients.get(head.id) ?? "", isFixed: kept.has(head) };
      });
      const victim = leastWorth<Head | undefined>(
        [...holders, { item: undefined, client, isFixed: true }],
        client,
      );
      if (victim === undefined) throw stateFull();
      if (this.mayGo(victim.id)) return this.removeRow(victim);
      kept.add(victim); // asked one by one: for an answer the whole value is read, which may be long
    }
  }

  /** Whose the records are. */
  private clientsById(): ReadonlyMap<string, string> {
    if (this.options.legacyOwner === undefined) return new Map();
    const { legacyOwner } = this.options;
    this.clients ??= new Map(
      this.statements.owners.all(this.kind).map(({ id, owner }) => [id, clientOf({ owner }, legacyOwner)]),
    );
    return this.clients;
  }

  private mayGo(id: string): boolean {
    const { mayGo } = this.options;
    const row = mayGo === undefined ? undefined : this.row(id);
    return mayGo === undefined || row === undefined || mayGo(this.valueOf(row));
  }

  private count(): number {
    return this.totals().count;
  }

  private totals(): { readonly count: number; readonly bytes: number } {
    const totals = this.statements.totals.get(this.kind);
    assert(totals !== null, "an aggregate has one row");
    return totals;
  }

  /** Evicts bodies above the limit, but never the one just put. */
  private elideBodies(id: string): void {
    const { bodyBytesMax: bytesMax } = this.options;
    if (bytesMax === undefined || this.totals().bytes <= bytesMax) return; // without a bound there are no bodies
    const clients = this.clientsById();
    const heads = new Map(
      this.statements.heads.all(this.kind).flatMap((head) => (head.body === null ? [] : [[head.id, head]])),
    );
    const holders = [...heads.values()].map((head) => {
      return { item: head.id, client: clients.get(head.id) ?? "", size: head.bodyBytes };
    });
    for (const victim of bodiesToElide(holders, { id, bytesMax })) {
      const head = heads.get(victim);
      if (head === undefined || head.body === null) continue;
      this.statements.elide.run(head.age);
      this.orphans.push(head.body);
    }
  }
}
