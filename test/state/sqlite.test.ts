// Durable State: data after a restart, and files that are refused.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteState } from "../../src/state/sqlite.ts";
import { StateFileError } from "../../src/state/sqlite-file.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

const folder = tempDir();
let files = 0;
const newPath = () => join(folder, `${files++}.db`);

interface Note {
  readonly text: string;
}

const OPTIONS = { capacity: 10, life: { type: "fixed", ms: 1000 }, bodyBytesMax: 1000 } as const;

function open(path: string, nowMs = 0) {
  const logged: string[] = [];
  const state = sqliteState({ path, clock: () => nowMs, log: (line) => void logged.push(line) });
  return { state, logged, records: state.records<Note>("notes", OPTIONS) };
}

const piece = () => new Uint8Array(10).fill(7);
const bodiesOf = (path: string) => readdirSync(`${path}.bodies`);

function refusal(path: string): string {
  try {
    sqliteState({ path, log: () => undefined }).close();
  } catch (error) {
    if (error instanceof StateFileError) return error.message;
    throw error;
  }
  return "opened";
}

describe("after a restart", () => {
  test("records keep bodies, age and remaining lifetime", async () => {
    const path = newPath();
    const before = open(path, 100);
    for (const id of ["b", "a"]) before.records.put(id, { text: id }, await before.state.stage([piece()]));
    before.state.close();

    const after = open(path, 1099);
    expect(after.records.list()).toEqual([{ text: "b" }, { text: "a" }]);
    expect(await after.records.body("a")?.bytes()).toEqual(piece());
    after.state.close();

    const late = open(path, 1100);
    expect(late.records.list()).toEqual([]);
    late.state.sweep();
    late.state.close();
    await until("the bodies are gone", () => bodiesOf(path).length === 0);
  });

  test("bodies without a record are deleted, other files are not", async () => {
    const path = newPath();
    const before = open(path);
    before.records.put("a", { text: "a" }, await before.state.stage([piece()]));
    await before.state.stage([piece()]); // the process ends before it is put
    before.state.close();
    writeFileSync(join(`${path}.bodies`, "notes.txt"), "mine");
    expect(bodiesOf(path)).toHaveLength(3);

    const after = open(path);
    expect(bodiesOf(path)).toHaveLength(2);
    expect(bodiesOf(path)).toContain("notes.txt");
    expect(after.records.hasBody("a")).toBe(true);
    after.state.close();
  });

  test("a record with an incomplete body loses it", async () => {
    const path = newPath();
    const before = open(path);
    before.records.put("a", { text: "a" }, await before.state.stage([piece()]));
    before.state.close();
    truncateSync(join(`${path}.bodies`, bodiesOf(path)[0] ?? ""), 5);

    const after = open(path);
    expect(after.records.get("a")).toEqual({ text: "a" });
    expect(after.records.hasBody("a")).toBe(false);
    expect(bodiesOf(path)).toEqual([]);
    after.state.close();
  });
});

test("bodies that are replaced, evicted or refused are deleted", async () => {
  const path = newPath();
  const { state, records } = open(path);
  records.put("a", { text: "a" }, await state.stage([piece()]));
  records.put("a", { text: "a" }, await state.stage([piece()]));
  const big = await state.stage([new Uint8Array(1001)]);
  expect(() => records.put("b", { text: "b" }, big)).toThrow("1000 bytes");
  await until("one body is left", () => bodiesOf(path).length === 1);
  records.delete("a");
  (await state.stage([piece()])).discard();
  await until("none is left", () => bodiesOf(path).length === 0);
  state.close();
});

test("the files are accessible only to their owner", async () => {
  const path = newPath();
  const { state, records } = open(path);
  records.put("a", { text: "a" }, await state.stage([piece()]));
  const modes = [path, `${path}-wal`, `${path}.bodies`, join(`${path}.bodies`, bodiesOf(path)[0] ?? "")].map(
    (file) => (statSync(file).mode & 0o777).toString(8),
  );
  expect(modes).toEqual(["600", "600", "700", "600"]);
  state.close();
});

test("a disk error throws a ServiceError and logs a line", () => {
  const { state, records, logged } = open(newPath());
  state.close();
  expect(() => records.put("a", { text: "a" })).toThrow("could not read or write its state");
  expect(logged).toHaveLength(1);
});

describe("refused with a clear message", () => {
  test("a file that another process has open", () => {
    const path = newPath();
    const { state } = open(path);
    expect(refusal(path)).toContain("in use by another process");
    state.close();
    expect(refusal(path)).toBe("opened");
  });

  test("not a database", () => {
    const path = newPath();
    const text = "These are my notes, keep them. ".repeat(100);
    writeFileSync(path, text);
    expect(refusal(path)).toContain("is not a database");
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(existsSync(`${path}.bodies`)).toBe(false);
  });

  test("a database of another program, which stays unchanged", () => {
    const path = newPath();
    const other = new Database(path, { create: true });
    other.run("CREATE TABLE songs (title TEXT)");
    other.close();
    const before = readFileSync(path);
    expect(refusal(path)).toContain("another program");
    expect(readFileSync(path)).toEqual(before);
  });

  test("a later format", () => {
    const path = newPath();
    open(path).state.close();
    const raw = new Database(path);
    raw.run("PRAGMA user_version = 2");
    raw.close();
    expect(refusal(path)).toContain("another version of svc (format 2, not 1)");
  });

  test("a damaged file", () => {
    const path = newPath();
    const { state, records } = open(path);
    for (let i = 0; i < 10; i++) records.put(`${i}`, { text: "x".repeat(5000) });
    state.close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096);
    writeFileSync(path, bytes);
    expect(refusal(path)).toContain("is damaged");
  });

  test("a missing folder", () => {
    expect(refusal(join(folder, "nowhere", "state.db"))).toContain("its folder must exist");
  });
});

test("a full set reads no more values than it must to find the one that goes", () => {
  const asked: string[] = [];
  const { state } = open(newPath());
  const records = state.records<Note>("kept", {
    capacity: 10,
    life: { type: "endless" },
    mayGo: ({ text }) => asked.push(text) > 1,
  });
  for (let n = 0; n <= 10; n++) records.put(`${n}`, { text: `${n}` });
  expect(asked).toEqual(["0", "1"]);
  expect(records.has("1")).toBe(false);
  state.close();
});
