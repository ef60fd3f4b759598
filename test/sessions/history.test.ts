// Conversations of the web interface on the server: versions, deletions, owners and bounds, and their routes.

import { describe, expect, test } from "bun:test";
import { type ForCaller, SERVER } from "../../src/core/caller.ts";
import type { History } from "../../src/core/history.ts";
import { Admission } from "../../src/http/admission.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { historyStore } from "../../src/sessions/history.ts";
import { memoryState } from "../../src/state/memory.ts";
import { openState } from "../../src/state/open.ts";
import { ownedState } from "../../src/state/owned.ts";
import { pageApp as testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";
import { tempDir } from "../helpers/tmp.ts";

const bytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text));
const mismatch = { code: "version_mismatch" };

describe("the history", () => {
  test("replaces the version that it has, and no other", async () => {
    const history = historyStore(ownedState(memoryState()))(SERVER);
    expect(await history.put("a", 0, bytes("one"))).toEqual({ id: "a", version: 1, isDeleted: false });
    expect(history.put("a", 0, bytes("two"))).rejects.toMatchObject(mismatch);
    expect(history.put("b", 1, bytes("two"))).rejects.toMatchObject(mismatch);
    const both = [history.put("a", 1, bytes("two")), history.put("a", 1, bytes("three"))];
    const results = await Promise.allSettled(both);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(history.list()).toEqual([{ id: "a", version: 2, isDeleted: false }]);
    expect(["two", "three"]).toContain(await history.get("a").content.text());
  });

  test("lists what was deleted, without its content, and takes it again", async () => {
    const history = historyStore(ownedState(memoryState()))(SERVER);
    await history.put("a", 0, bytes("one"));
    expect(history.delete("a")).toEqual({ id: "a", version: 2, isDeleted: true });
    expect(history.list()).toEqual([{ id: "a", version: 2, isDeleted: true }]);
    expect(() => history.get("a")).toThrow("keeps no conversation");
    expect(() => history.delete("b")).toThrow("keeps no conversation");
    expect(await history.put("a", 2, bytes("again"))).toMatchObject({ version: 3 });
    expect(await history.get("a").content.text()).toBe("again");
  });

  test("is each key's own, also under the same id", async () => {
    const history = historyStore(ownedState(memoryState(), () => "first"));
    const of = (owner: string): History => history({ client: owner, owner });
    await of("first").put("a", 0, bytes("mine"));
    await of("second").put("a", 0, bytes("theirs"));
    expect(await of("first").get("a").content.text()).toBe("mine");
    of("second").delete("a");
    expect(of("first").list()).toEqual([{ id: "a", version: 1, isDeleted: false }]);
  });

  test("drops the oldest content beyond its bytes, and survives a restart in a file", async () => {
    const file = `${tempDir()}/state.db`;
    const state = openState(`sqlite:${file}`, () => undefined);
    const history = historyStore(ownedState(state), { bytesMax: 10 })(SERVER);
    await history.put("a", 0, bytes("123456"));
    await history.put("b", 0, bytes("123456"));
    expect(() => history.get("a")).toThrow("keeps no conversation");
    expect(history.put("c", 0, bytes("12345678901"))).rejects.toMatchObject({ code: "payload_too_large" });
    state.close();
    const again = openState(`sqlite:${file}`, () => undefined);
    expect(await historyStore(ownedState(again))(SERVER).get("b").content.text()).toBe("123456");
    again.close();
  });
});

describe("its routes", () => {
  const app = (history?: ForCaller<History>) => testApp(undefined, history === undefined ? {} : { history });
  const put = (content: unknown): RequestInit => ({
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(content),
  });

  test("store, list, fetch and delete", async () => {
    const { request } = app(historyStore(ownedState(memoryState())));
    expect(await (await request("/ui/history/a?version=0", put({ title: "A" }))).json()).toMatchObject({
      version: 1,
    });
    const fetched = await request("/ui/history/a");
    expect(fetched.headers.get("x-svc-version")).toBe("1");
    expect(await fetched.json()).toEqual({ title: "A" });
    expect((await request("/ui/history/a?version=0", put({}))).status).toBe(409);
    expect((await request("/ui/history/a", { method: "DELETE" })).status).toBe(200);
    expect(await (await request("/ui/history")).json()).toEqual({
      conversations: [{ id: "a", version: 2, isDeleted: true }],
    });
    expect((await request("/ui/history/a")).status).toBe(404);
  });

  test.each([
    ["/ui/history/a", "version"],
    ["/ui/history/a?version=-1", "version"],
    ["/ui/history/a?version=1.5", "version"],
    ["/ui/history/a.b?version=0", "the id"],
    [`/ui/history/${"a".repeat(65)}?version=0`, "the id"],
  ])("refuse PUT %s", async (path, named) => {
    const response = await app(historyStore(ownedState(memoryState()))).request(path, put({}));
    expect(response.status).toBe(400);
    expect((await response.json()).error.message).toContain(named);
  });

  test("refuse what is no object", async () => {
    const { request } = app(historyStore(ownedState(memoryState())));
    expect((await request("/ui/history/a?version=0", put([]))).status).toBe(400);
  });

  test("keep nothing unless they are set up, and need a key", async () => {
    expect(await (await app().request("/ui/history")).json()).toEqual({ conversations: null });
    expect((await app().request("/ui/history/a?version=0", put({}))).status).toBe(404);
    const keys = new ApiKeys(["first"]);
    const admission = new Admission({
      keys,
      addressOf: () => "here",
      placesOf: () => 100,
      isCrowded: () => false,
    });
    const history = historyStore(ownedState(memoryState()));
    const { request } = testApp(playing(answer("Hi")).generate, { apiKeys: keys, admission, history });
    expect((await request("/ui/history")).status).toBe(401);
    expect((await request("/ui/history", { headers: { authorization: "Bearer first" } })).status).toBe(200);
  });
});
