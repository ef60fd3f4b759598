// The SQLite file of a State: opened by one process at a time, recognised as ours, checked, of a known version.

import { Database } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { reasonOf } from "../core/reason.ts";

/** Marks a file as ours: "svc!" */
const APPLICATION_ID = 0x73_76_63_21;
/** Raised with every change to the table or to the records in it. */
const SCHEMA_VERSION = 1;

/** `age` rises with every insertion; a record becomes the youngest by a new one. Values come last, being long. */
const SCHEMA = `
  CREATE TABLE records (
    age INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    put_ms INTEGER NOT NULL,
    body TEXT,
    body_bytes INTEGER NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX records_by_age ON records (kind, age);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Left over write-ahead log that may stay on disk, bytes. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/** Why a state file cannot be used; the message names the file and the way out. */
export class StateFileError extends Error {
  constructor(path: string, problem: string, cause?: unknown) {
    super(`the state file ${path} ${problem}`, { cause });
    this.name = "StateFileError";
  }
}

/** Opens a state file, or makes it, and holds it until it is closed. Throws StateFileError. */
export function openStateFile(path: string): Database {
  let db: Database | undefined;
  try {
    closeSync(openSync(path, "a", 0o600)); // conversations are nobody else's business; SQLite keeps the mode
    db = new Database(path, { readwrite: true, strict: true });
    prepare(db, path);
    return db;
  } catch (error) {
    db?.close();
    throw explained(path, error);
  }
}

/** Nothing is written before the file is known to be ours or empty. */
function prepare(db: Database, path: string): void {
  db.run("PRAGMA locking_mode = EXCLUSIVE");
  const isNew = isEmpty(db);
  if (!isNew) checkIdentity(db, path);
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run(`PRAGMA journal_size_limit = ${LOG_BYTES_MAX}`);
  if (isNew) db.transaction(() => db.run(SCHEMA)).immediate();
  else checkWhole(db, path);
}

function numberOf(db: Database, sql: string): number {
  const [row] = db.query(sql).values();
  return Number(row?.[0]);
}

/** Also true for a file whose making was cut short: the schema comes in one transaction. */
function isEmpty(db: Database): boolean {
  const tables = numberOf(db, "SELECT count(*) FROM sqlite_schema");
  return tables === 0 && numberOf(db, "PRAGMA application_id") === 0;
}

function checkIdentity(db: Database, path: string): void {
  if (numberOf(db, "PRAGMA application_id") !== APPLICATION_ID) {
    throw new StateFileError(path, "is a database of another program; name another file");
  }
  const version = numberOf(db, "PRAGMA user_version");
  if (version === SCHEMA_VERSION) return;
  const problem = `was written by another version of svc (format ${version}, not ${SCHEMA_VERSION}); name another file`;
  throw new StateFileError(path, problem);
}

function checkWhole(db: Database, path: string): void {
  const [row] = db.query("PRAGMA quick_check(1)").values();
  if (row?.[0] === "ok") return;
  throw new StateFileError(path, "is damaged; restore it from a copy, or name another file");
}

/** What SQLite or the file system said, in words that help. */
function explained(path: string, error: unknown): StateFileError {
  if (error instanceof StateFileError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return new StateFileError(path, "is in use by another process; each server needs its own", error);
  }
  if (code === "SQLITE_NOTADB") {
    return new StateFileError(path, "is not a database; name another file", error);
  }
  if (code.startsWith("SQLITE_CORRUPT")) {
    return new StateFileError(path, "is damaged; restore it from a copy, or name another file", error);
  }
  const reason = reasonOf(error);
  const problem = `cannot be opened: ${reason}; its folder must exist, and both must be writable`;
  return new StateFileError(path, problem, error);
}
