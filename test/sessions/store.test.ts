import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { InputMessage } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { SessionStore } from "../../src/sessions/store.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { sqliteState } from "../../src/state/sqlite.ts";
import { calls, result, said, user } from "../helpers/talk.ts";
import { tempDir } from "../helpers/tmp.ts";

const TALK = [user("Hi"), calls("look"), result("look", "seen"), said("Hello")];
const SEEN = [user("Hi"), said("Hello")];

function newStore(options: { capacity?: number; charactersMax?: number } = {}) {
  let nowMs = 0;
  const store = new SessionStore(ownedState(memoryState(() => nowMs)), options);
  const ended: string[] = [];
  store.onEnd((id) => void ended.push(id));
  return { store, ended, wait: (ms: number) => void (nowMs += ms) };
}

test("a new session has the requested id, or a generated one", () => {
  const { store } = newStore();
  expect(store.of(SERVER).open("mine", [user("Hi")])).toMatchObject({ id: "mine", messages: [user("Hi")] });
  const { id } = store.of(SERVER).open(undefined, [user("Hi")]);
  expect(id).toMatch(/^sess_\w{24}$/);
  expect(store.of(SERVER).get("mine")).toBeUndefined(); // opening stores nothing
});

test("a saved session is continued by id", () => {
  const { store } = newStore();
  store
    .of(SERVER)
    .open("mine", [user("Hi")])
    .save([user("Hi")], TALK.slice(1));
  expect(store.of(SERVER).get("mine")).toEqual(TALK);
  expect(store.of(SERVER).open("mine", [user("More")]).messages).toEqual([...TALK, user("More")]);
  expect(store.of(SERVER).open("mine", [...SEEN, user("More")]).messages).toEqual([...TALK, user("More")]);
  expect(store.of(SERVER).delete("mine")).toBe(true);
  expect(store.of(SERVER).delete("mine")).toBe(false);
  expect(store.of(SERVER).open("mine", [user("More")]).messages).toEqual([user("More")]);
});

test("a file in a message is stored by name, and replaced when sent again", () => {
  const { store } = newStore();
  const part = { type: "file", source: { type: "inline", data: "YSxi" }, param: "p" } as const;
  const withFile = (words: string): InputMessage => {
    return { role: "user", content: [{ type: "text", text: words }, part] };
  };
  const turn = [calls("look"), result("look", "seen"), said("Done.")];
  store
    .of(SERVER)
    .open("mine", [withFile("Read ")])
    .save([user("Read [File: a.csv]")], turn);
  const whole = store.of(SERVER).open("mine", [withFile("Read "), said("Done."), user("And?")]).messages;
  expect(whole).toHaveLength(5);
  expect(whole[0]).toEqual(withFile("Read "));
  const { messages } = store.of(SERVER).open("mine", [user("And?")]);
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
});

test("without an id the longest matching session is continued", () => {
  const { store } = newStore();
  const longer = [...TALK, user("More"), said("Yes")];
  store.of(SERVER).put("longer", longer);
  store.of(SERVER).put("short", TALK);
  store.of(SERVER).put("other", [user("Hi"), said("Good day")]);
  const sent = [...SEEN, user("More"), said("Yes"), user("And?")];
  expect(store.of(SERVER).open(undefined, sent)).toMatchObject({
    id: "longer",
    messages: [...longer, user("And?")],
  });
  expect(store.of(SERVER).open(undefined, [...SEEN, user("Else")]).id).toBe("short");
  expect(store.of(SERVER).open(undefined, [user("Hi")]).id).toStartWith("sess_");
});

describe("a session is dropped", () => {
  test("after half an hour without use", () => {
    const { store, ended, wait } = newStore();
    store.of(SERVER).put("mine", TALK);
    wait(30 * 60_000 - 1);
    store.of(SERVER).put("mine", TALK);
    wait(30 * 60_000 - 1);
    expect(store.of(SERVER).get("mine")).toEqual(TALK);
    wait(1);
    expect(store.of(SERVER).get("mine")).toBeUndefined();
    store.sweep();
    expect(ended).toEqual(["mine"]);
  });

  test("when the store is full, the least recently used first", () => {
    const { store, ended } = newStore({ capacity: 2 });
    store.of(SERVER).put("a", TALK);
    store.of(SERVER).put("b", TALK);
    store.of(SERVER).put("a", TALK);
    store.of(SERVER).put("c", TALK);
    expect(ended).toEqual(["b"]);
  });

  test("when all together exceed the size limit", () => {
    const { store, ended } = newStore({ charactersMax: 100 });
    store.of(SERVER).put("a", [user("x".repeat(60))]);
    store.of(SERVER).put("b", [user("x".repeat(40))]);
    store.of(SERVER).put("c", [user("x".repeat(30))]);
    expect(ended).toEqual(["a"]);
    store.of(SERVER).put("c", [user("x".repeat(101))]); // not even alone
    expect(ended).toEqual(["a", "b", "c"]);
    expect(store.of(SERVER).get("c")).toBeUndefined();
  });

  test("when it is deleted, with its approvals", () => {
    const { store, ended } = newStore();
    const session = store.of(SERVER).open("mine", [user("Hi")]);
    session.trust("*");
    session.save([user("Hi")], [said("Hello")]);
    expect(
      store
        .of(SERVER)
        .open("mine", [user("Hi")])
        .isTrusted("*"),
    ).toBe(true);
    expect(session.isTrusted("tool x")).toBe(false);
    store.of(SERVER).delete("mine");
    expect(ended).toEqual(["mine"]);
    expect(session.isTrusted("*")).toBe(false);
  });
});

test("a store on a file reloads its sessions", () => {
  const path = join(tempDir(), "state.db");
  const open = () => sqliteState({ path, log: () => undefined });
  const before = open();
  new SessionStore(ownedState(before)).of(SERVER).put("mine", TALK);
  before.close();
  const after = open();
  const session = new SessionStore(ownedState(after)).of(SERVER).open(undefined, [...SEEN, user("More")]);
  expect(session).toMatchObject({ id: "mine", messages: [...TALK, user("More")] });
  after.close();
});

test("a named session outlives one-shot requests of all keys; a key with many loses its own", () => {
  const { store, ended } = newStore({ capacity: 8 });
  const as = (owner: string, id: string | undefined): void => {
    const session = store.of({ client: owner, owner }).open(id, [user(`Hi ${owner} ${id ?? ended.length}`)]);
    session.save([user("Hi")], [said("Hello")]);
  };
  as("alice", "work");
  for (let n = 0; n < 66; n++) as("bob", undefined);
  for (let n = 0; n < 66; n++) as("alice", undefined);
  expect(ended).not.toContain("alice:work");
  expect(ended).toHaveLength(1 + 66 + 66 - 8);
  for (let n = 0; n < 20; n++) as("bob", `b${n}`);
  expect(store.of({ client: "alice", owner: "alice" }).get("work")).toBeDefined();
});

test("a session without a name is kept like others once a request names it", () => {
  const { store } = newStore({ capacity: 2 });
  const first = store.of(SERVER).open(undefined, [user("Hi")]);
  expect(first.isNamed).toBe(false);
  first.save([user("Hi")], [said("Hello")]);
  const again = store.of(SERVER).open(first.id, [user("More")]);
  expect(again.isNamed).toBe(true);
  again.save([user("More")], []);
  for (const word of ["a", "b", "c"])
    store
      .of(SERVER)
      .open(undefined, [user(word)])
      .save([user(word)], [said(word)]);
  expect(store.of(SERVER).get(first.id)).toBeDefined();
});
