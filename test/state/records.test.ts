// Contract of both kinds of State, with a fake clock.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Caller } from "../../src/core/caller.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { Clock, Life, State } from "../../src/core/state.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { sqliteState } from "../../src/state/sqlite.ts";
import { tempDir } from "../helpers/tmp.ts";

const folder = tempDir();
let files = 0;

const KINDS: readonly (readonly [string, (clock: Clock) => State])[] = [
  ["memory", memoryState],
  [
    "sqlite",
    (clock) =>
      sqliteState({ path: join(folder, `${files++}.db`), clock, log: (line) => expect(line).toBe("") }),
  ],
];

interface Note {
  readonly text: string;
  readonly pinned?: boolean;
}

const note = (text: string): Note => ({ text });
const bytes = (count: number) => new Uint8Array(count).fill(count);

function codeOf(action: () => void): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  return "accepted";
}

describe.each(KINDS)("%s", (_, open) => {
  let nowMs = 1_000_000;
  const notes = (life: Life, extra: { bodyBytesMax?: number; mayGo?: (value: Note) => boolean } = {}) => {
    const state = open(() => nowMs);
    return { state, records: state.records<Note>("notes", { capacity: 3, life, ...extra }) };
  };
  const endless: Life = { type: "endless" };
  const fixed: Life = { type: "fixed", ms: 1000 };
  const idle: Life = { type: "idle", ms: 1000 };

  describe("with keys, a full set is shared", () => {
    const by = (owner: string): Caller => ({ client: owner, owner });
    const shared = () => {
      const state = ownedState(
        open(() => nowMs),
        () => "first",
      );
      return {
        state,
        records: state.records<Note>("notes", { capacity: 3, life: endless, bodyBytesMax: 100 }),
      };
    };

    test("records of one key drop none of another that has fewer", () => {
      const { records } = shared();
      records(by("b")).put("b", note("of b"));
      for (let n = 0; n < 10; n++) records(by("a")).put(`a${n}`, note("of a"));
      expect(records(by("b")).get("b")).toMatchObject(note("of b"));
      records(by("b")).put("b2", note("another"));
      expect(records(by("b")).get("b2")).toMatchObject(note("another"));
      expect(
        records(by("a"))
          .list()
          .map(({ text }) => text),
      ).toEqual(["of a", "of a"]);
    });

    test("bodies of one key drop none of another that has less, and are refused beyond that", async () => {
      const { state, records } = shared();
      const put = async (owner: string, id: string, size: number) => {
        const staged = await state.stage([bytes(size)]);
        return codeOf(() => records(by(owner)).put(id, note(id), staged));
      };
      expect(await put("b", "b", 20)).toBe("accepted");
      expect(await put("a", "a1", 40)).toBe("accepted");
      expect(await put("a", "a2", 70)).toBe("accepted");
      expect(records(by("a")).hasBody("a1")).toBe(false);
      expect(records(by("b")).hasBody("b")).toBe(true);
      expect(await put("a", "a3", 90)).toBe("state_full");
      expect(records(by("b")).hasBody("b")).toBe(true);
      expect(records(by("a")).has("a3")).toBe(false);
    });
  });

  test("a record has the last value put, and is gone once deleted", () => {
    const { records } = notes(endless);
    expect(records.get("a")).toBeUndefined();
    records.put("a", note("one"));
    records.put("a", note("two"));
    expect(records.get("a")).toEqual(note("two"));
    expect([records.has("a"), records.has("b")]).toEqual([true, false]);
    expect(records.list()).toEqual([note("two")]);
    expect(records.delete("a")).toBe(true);
    expect(records.delete("a")).toBe(false);
    expect(records.get("a")).toBeUndefined();
    expect(records.list()).toEqual([]);
  });

  test("ids and values are any text", () => {
    const { records } = notes(endless);
    for (const id of ["", "__proto__", "a'; drop table records; --", "ü 🦊", "a\u0000b"]) {
      records.put(id, note(id));
      expect(records.get(id)).toEqual(note(id));
      expect(records.delete(id)).toBe(true);
    }
  });

  test("sets are independent", () => {
    const { state, records } = notes(endless);
    const others = state.records<Note>("others", { capacity: 1, life: endless });
    records.put("a", note("here"));
    others.put("a", note("there"));
    others.put("b", note("there"));
    expect(records.get("a")).toEqual(note("here"));
    expect(others.list()).toEqual([note("there")]);
  });

  test("a full set evicts its oldest; a replacement keeps its age", () => {
    const { records } = notes(endless);
    for (const id of ["a", "b", "c"]) records.put(id, note(id));
    records.put("a", note("a2"));
    records.put("d", note("d"));
    expect(records.list()).toEqual([note("b"), note("c"), note("d")]);
  });

  test("a full set drops expired records first", () => {
    const { records } = notes(idle);
    for (const id of ["a", "b", "c"]) records.put(id, note(id));
    nowMs += 600;
    records.put("a", note("a"));
    nowMs += 600; // b and c are over
    records.put("d", note("d"));
    expect(records.list()).toEqual([note("a"), note("d")]);
  });

  test("a fixed lifetime ends on time, regardless of puts and reads", () => {
    const { records } = notes(fixed);
    records.put("a", note("a"));
    nowMs += 999;
    records.put("a", note("again"));
    expect(records.get("a")).toEqual(note("again"));
    nowMs += 1;
    expect(records.get("a")).toBeUndefined();
    expect(records.has("a")).toBe(false);
    expect(records.list()).toEqual([]);
    expect(records.delete("a")).toBe(false);
    records.put("a", note("new"));
    nowMs += 999;
    expect(records.get("a")).toEqual(note("new"));
  });

  test("an idle lifetime counts from the last put", () => {
    const { records } = notes(idle);
    records.put("a", note("a"));
    nowMs += 999;
    records.put("a", note("a"));
    nowMs += 999;
    expect(records.get("a")).toEqual(note("a"));
    nowMs += 1;
    expect(records.get("a")).toBeUndefined();
  });

  test("with an idle lifetime the oldest is the least recently put", () => {
    const { records } = notes(idle);
    for (const id of ["a", "b", "c"]) records.put(id, note(id));
    records.put("a", note("a"));
    records.put("d", note("d"));
    expect(records.list()).toEqual([note("c"), note("a"), note("d")]);
  });

  test("pinned records stay; if all are pinned, a put is refused", () => {
    const { records } = notes(fixed, { mayGo: ({ pinned }) => pinned !== true });
    records.put("a", { text: "a", pinned: true });
    records.put("b", note("b"));
    records.put("c", { text: "c", pinned: true });
    records.put("d", { text: "d", pinned: true });
    expect(records.get("b")).toBeUndefined();
    expect(codeOf(() => records.put("e", note("e")))).toBe("state_full");
    expect(records.list().map(({ text }) => text)).toEqual(["a", "c", "d"]);
    records.put("a", note("a")); // what is there may always be replaced
    records.put("e", note("e"));
    expect(records.list().map(({ text }) => text)).toEqual(["c", "d", "e"]);
    nowMs += 1000; // and the end of a life asks nobody
    expect(records.list()).toEqual([]);
  });

  test("a body stays until it is replaced or its record is removed", async () => {
    const { state, records } = notes(fixed, { bodyBytesMax: 100 });
    records.put("a", note("a"), await state.stage([bytes(10), bytes(0), bytes(20)]));
    records.put("b", note("b"));
    records.put("a", note("a2"));
    expect(await records.body("a")?.bytes()).toEqual(new Uint8Array([...bytes(10), ...bytes(20)]));
    expect(records.body("a")?.size).toBe(30);
    expect(records.hasBody("b")).toBe(false);
    expect(records.body("b")).toBeUndefined();
    records.put("a", note("a3"), await state.stage([]));
    expect(records.body("a")?.size).toBe(0);
    expect(records.hasBody("a")).toBe(true);
    nowMs += 1000;
    expect(records.hasBody("a")).toBe(false);
    records.put("a", note("a4"));
    expect(records.body("a")).toBeUndefined();
  });

  test("above the limit the oldest bodies are evicted; their records stay", async () => {
    const { state, records } = notes(endless, { bodyBytesMax: 100 });
    const put = async (id: string, count: number) =>
      records.put(id, note(id), await state.stage([bytes(count)]));
    const kept = () => ["a", "b", "c"].filter((id) => records.hasBody(id));
    await put("a", 40);
    await put("b", 40);
    await put("c", 41);
    expect(kept()).toEqual(["b", "c"]);
    expect(records.list()).toHaveLength(3);
    await put("b", 100); // the one just put is spared, also when it is not the youngest
    expect(kept()).toEqual(["b"]);
    const big = await state.stage([bytes(101)]);
    expect(codeOf(() => records.put("b", note("big"), big))).toBe("payload_too_large");
    expect(records.get("b")).toEqual(note("b"));
    records.delete("b"); // gives its bytes back
    await put("c", 60);
    await put("a", 40);
    expect(kept()).toEqual(["a", "c"]);
  });

  test("sweeping frees what has expired", async () => {
    const { state, records } = notes(fixed, { bodyBytesMax: 100 });
    records.put("a", note("a"), await state.stage([bytes(100)]));
    nowMs += 1000;
    state.sweep();
    records.put("b", note("b"), await state.stage([bytes(100)]));
    expect(records.hasBody("b")).toBe(true);
    expect(records.list()).toEqual([note("b")]);
    state.close();
  });
});
