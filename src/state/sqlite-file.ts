// SQLite file of a State: exclusive lock, application id, integrity check, schema version.

import { Database } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { codeOf, reasonOf } from "../core/reason.ts";

/** Application id of svc's state files: "svc!" */
const APPLICATION_ID = 0x73_76_63_21;
/** Increment with every change of the table or the records. */
const SCHEMA_VERSION = 1;

/** `age` increases with every insertion; reinserting a record makes it the youngest. Values are last because they are long. */
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

/** Size to which the write-ahead log is truncated, bytes. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/** Why a state file cannot be used; the message has the file and the fix. */
export class StateFileError extends Error {
  constructor(path: string, problem: string, cause?: unknown) {
    super(`the state file ${path} ${problem}`, { cause });
    this.name = "StateFileError";
  }
}

/** Opens or creates a state file and locks it until it is closed. Throws StateFileError. */
export function openStateFile(path: string): Database {
  let db: Database | undefined;
  try {
    closeSync(openSync(path, "a", 0o600)); // conversations are private; SQLite keeps the mode
    db = new Database(path, { readwrite: true, strict: true });
    prepare(db, path);
    return db;
  } catch (error) {
    db?.close();
    throw stateFileError(path, error);
  }
}

/** Writes only after the file is known to be svc's or empty. */
function prepare(db: Database, path: string): void {
  db.run("PRAGMA locking_mode = EXCLUSIVE");
  const isNew = isEmpty(db);
  if (!isNew) checkIdentity(db, path);
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run(`PRAGMA journal_size_limit = ${LOG_BYTES_MAX}`);
  if (isNew) db.transaction(() => db.run(SCHEMA)).immediate();
  else checkIntegrity(db, path);
}

function numberOf(db: Database, sql: string): number {
  const [row] = db.query(sql).values();
  return Number(row?.[0]);
}

/** Also true after an interrupted creation: the schema is one transaction. */
function isEmpty(db: Database): boolean {
  const tables = numberOf(db, "SELECT count(*) FROM sqlite_schema");
  return tables === 0 && numberOf(db, "PRAGMA application_id") === 0;
}

function checkIdentity(db: Database, path: string): void {
  if (numberOf(db, "PRAGMA application_id") !== APPLICATION_ID) {
    throw new StateFileError(path, "is a database of another program; set another file");
  }
  const version = numberOf(db, "PRAGMA user_version");
  if (version === SCHEMA_VERSION) return;
  const problem = `was written by another version of svc (format ${version}, not ${SCHEMA_VERSION}); set another file`;
  throw new StateFileError(path, problem);
}

function checkIntegrity(db: Database, path: string): void {
  const [row] = db.query("PRAGMA quick_check(1)").values();
  if (row?.[0] === "ok") return;
  throw new StateFileError(path, "is damaged; restore a backup, or set another file");
}

/** Converts an error of SQLite or the file system to one with a fix. */
function stateFileError(path: string, error: unknown): StateFileError {
  if (error instanceof StateFileError) return error;
  const code = codeOf(error);
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return new StateFileError(path, "is in use by another process; each server needs its own file", error);
  }
  if (code === "SQLITE_NOTADB") {
    return new StateFileError(path, "is not a database; set another file", error);
  }
  if (code.startsWith("SQLITE_CORRUPT")) {
    return new StateFileError(path, "is damaged; restore a backup, or set another file", error);
  }
  const reason = reasonOf(error);
  const problem = `could not be opened: ${reason}; its folder must exist, and file and folder must be writable`;
  return new StateFileError(path, problem, error);
}
