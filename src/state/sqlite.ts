// Durable State in a SQLite file: every write is synced before it returns, so it survives kill and power loss. See
// docs/decisions/030.

import { assert } from "../core/assert.ts";
import type { Database } from "bun:sqlite";
import { ServiceError } from "../core/error.ts";
import { reasonOf } from "../core/reason.ts";
import type { Clock, Records, RecordsOptions, State } from "../core/state.ts";
import { BodyFolder } from "./bodies.ts";
import { reserveAt } from "./reserve.ts";
import { openStateFile } from "./sqlite-file.ts";
import { SqliteRecords } from "./sqlite-records.ts";

export interface SqliteOptions {
  readonly path: string;
  readonly clock?: Clock;
  /** Logs disk errors; clients get only a generic error. */
  readonly log: (line: string) => void;
}

/** Opens or creates a state file. Throws StateFileError. */
export function sqliteState({ path, clock = Date.now, log }: SqliteOptions): State {
  const db = openStateFile(path);
  const bodies = new BodyFolder(`${path}.bodies`);
  const reserve = reserveAt(`${path}.reserve`);
  reconcile(db, bodies);
  const sets = new Map<string, { sweep(): void }>();
  const guard = <R>(action: () => R): R => {
    try {
      return action();
    } catch (error) {
      throw storageFault(error, log);
    }
  };
  return {
    records<T>(name: string, options: RecordsOptions<T>): Records<T> {
      assert(!sets.has(name), `the set ${name} is opened once`);
      const records = new SqliteRecords({ db, bodies, reserve, clock, guard }, name, options);
      sets.set(name, records);
      return records;
    },
    stage: (pieces) =>
      bodies.stage(pieces).catch((error: unknown) => {
        throw storageFault(error, log);
      }),
    sweep() {
      for (const set of sets.values()) set.sweep();
      reserve.restore();
    },
    close: () => db.close(),
  };
}

/** Drops incomplete bodies from their records and deletes bodies without a record: files may have been changed externally. */
function reconcile(db: Database, bodies: BodyFolder): void {
  const rows = db
    .query<{ age: number; name: string; bytes: number }, []>(
      "SELECT age, body AS name, body_bytes AS bytes FROM records WHERE body IS NOT NULL",
    )
    .all();
  const whole = new Set<string>();
  for (const { age, name, bytes } of rows) {
    if (bodies.isWhole(name, bytes)) whole.add(name);
    else db.run("UPDATE records SET body = NULL, body_bytes = 0 WHERE age = ?", [age]);
  }
  bodies.keepOnly(whole);
}

function storageFault(error: unknown, log: (line: string) => void): ServiceError {
  if (error instanceof ServiceError) return error;
  log(`state: ${reasonOf(error)}`);
  return new ServiceError(
    "storage_unavailable",
    "the server could not read or write its state; its log has the reason",
    {
      cause: error,
    },
  );
}
