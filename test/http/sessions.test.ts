// Sessions over HTTP: from a chat, out, in, and gone.

import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { chatBody, testApp, testStores } from "../helpers/app.ts";
import { parseDoneStream } from "../helpers/sse.ts";
import { said, user } from "../helpers/talk.ts";

const source = { tool: "user_upload", round: 0, turn: 0 };
const encode = (text: string) => new TextEncoder().encode(text);

function sessionApp() {
  const stores = testStores();
  const app = testApp(undefined, stores);
  const put = (id: string, body: object) =>
    app.request(`/v1/sessions/${id}`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { ...app, ...stores, put };
}

describe("an answer names its session", () => {
  test("in its body", async () => {
    const { app } = testApp();
    const post = (body: object) =>
      app.handle(
        new Request("http://localhost/v1/chat/completions", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      );
    expect(await (await post(chatBody({ session_id: "mine" }))).json()).toMatchObject({ session_id: "mine" });
    expect(await (await post(chatBody())).json()).not.toHaveProperty("session_id");
    const stored = await app.handle(new Request("http://localhost/v1/sessions/mine"));
    expect(await stored.json()).toMatchObject({
      messages: [
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi" },
      ],
    });
  });

  test("in its stream", async () => {
    const { post } = testApp();
    const response = await post("/v1/chat/completions", chatBody({ session_id: "mine", stream: true }));
    const chunks = parseDoneStream(await response.text()) as readonly { session_id?: string }[];
    expect(chunks.some(({ session_id }) => session_id === "mine")).toBe(true);
  });
});

test("a session goes out and into another server with its files", async () => {
  const here = sessionApp();
  here.sessions(SERVER).put("mine", [user("Hi"), said("Hello")]);
  const csv = await here
    .files(SERVER)
    .add({ name: "a.csv", purpose: "user_data", source, sessionId: "mine" }, [encode("a,b")]);
  await here
    .files(SERVER)
    .add({ name: "b.bin", purpose: "user_data", source, sessionId: "mine" }, [Uint8Array.of(0xff)]);
  await here.files(SERVER).add({ name: "other.txt", purpose: "user_data", source }, [encode("not of it")]);
  const exported = (await (await here.request("/v1/sessions/mine")).json()) as { files: object[] };
  expect(exported.files).toHaveLength(2);

  const there = sessionApp();
  const imported = await there.put("other%20name", exported);
  expect([imported.status, await imported.json()]).toEqual([200, { id: "other name", object: "session" }]);
  expect(there.sessions(SERVER).get("other name")).toEqual([user("Hi"), said("Hello")]);
  expect(
    there
      .files(SERVER)
      .list("other name")
      .map(({ name }) => name),
  ).toEqual(["a.csv", "b.bin"]);
  expect(await there.files(SERVER).body(csv.id)?.text()).toBe("a,b");
  const again = (await (await there.request("/v1/sessions/other%20name")).json()) as { files: object[] };
  const withoutTime = (files: readonly object[]) => files.map((file) => ({ ...file, created_at: 0 }));
  expect(withoutTime(again.files)).toEqual(withoutTime(exported.files));
});

test("an import replaces what was there", async () => {
  const { put, sessions } = sessionApp();
  sessions(SERVER).put("mine", [user("Hi"), said("Hello")]);
  await put("mine", { messages: [] });
  expect(sessions(SERVER).get("mine")).toEqual([]);
});

test("a session too large for one body leaves out the oldest bodies", async () => {
  const { request, files, sessions } = sessionApp();
  sessions(SERVER).put("mine", [user("Hi")]);
  for (let i = 0; i < 5; i++) {
    await files(SERVER).add({ name: `${i}.txt`, purpose: "user_data", source, sessionId: "mine" }, [
      new Uint8Array(7 * 1024 * 1024).fill(65),
    ]);
  }
  const exported = (await (await request("/v1/sessions/mine")).json()) as { files: { text?: string }[] };
  expect(exported.files.map(({ text }) => text !== undefined)).toEqual([false, true, true, true, true]);
  expect(JSON.stringify(exported).length).toBeLessThan(50 * 1024 * 1024);
});

test("a deleted session is gone, and deleting it again changes nothing", async () => {
  const { request, sessions } = sessionApp();
  sessions(SERVER).put("mine", [user("Hi")]);
  for (let i = 0; i < 2; i++) {
    const response = await request("/v1/sessions/mine", { method: "DELETE" });
    const body = { id: "mine", object: "session.deleted", deleted: true };
    expect([response.status, await response.json()]).toEqual([200, body]);
  }
  const response = await request("/v1/sessions/mine");
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { error: { code: "session_not_found" } },
  ]);
});

describe("an import is refused", () => {
  test.each([
    ["{", "application/json", 400, "invalid_json"],
    ["[]", "application/json", 400, "invalid_request"],
    ["{}", "application/json", 400, "missing_field"],
    ["{}", "text/plain", 415, "unsupported_media_type"],
  ])("%s as %s", async (body, type, status, code) => {
    const { request, sessions } = sessionApp();
    const response = await request("/v1/sessions/mine", {
      method: "PUT",
      headers: { "content-type": type },
      body,
    });
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
    expect(sessions(SERVER).get("mine")).toBeUndefined();
  });

  test("under an endless name", async () => {
    const { put } = sessionApp();
    const response = await put("x".repeat(257), { messages: [] });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param: "session_id" } }]);
  });

  test("as a whole, when one file of it is broken", async () => {
    const { put, files, sessions } = sessionApp();
    const good = { id: "file-1", name: "a", bytes: 1, created_at: 1, purpose: "p", source, text: "a" };
    const response = await put("mine", {
      messages: [],
      files: [good, { ...good, data_base64: "%", text: null }],
    });
    expect(response.status).toBe(400);
    expect([files(SERVER).list(), sessions(SERVER).get("mine")]).toEqual([[], undefined]);
  });
});

describe("a fork", () => {
  async function talk() {
    const app = sessionApp();
    const messages = [user("one"), said("1"), user("two"), said("2")];
    await app.put("s", {
      messages: messages.map(({ role, content }) => ({ role, content: [...content] })),
    });
    for (const turn of [0, 1]) {
      const file = { id: `file-${turn}`, name: `t${turn}.txt`, purpose: "agent_output", sessionId: "s" };
      await app.files(SERVER).add({ ...file, source: { tool: "svc_shell", round: 1, turn } }, [encode("x")]);
    }
    const fork = (body: object) => app.post("/v1/sessions/s/fork", body);
    return { ...app, fork };
  }

  test("has the messages and files of its turns, and its own id", async () => {
    const app = await talk();
    const response = await app.fork({ turn: 0, session_id: "other" });
    expect(await response.json()).toEqual({ id: "other", object: "session", forked_from: "s", turn: 0 });
    const exported: unknown = await (await app.request("/v1/sessions/other")).json();
    expect(exported).toMatchObject({
      messages: [{ content: "one" }, { content: "1" }],
      files: [{ id: "file-0" }],
    });
    const { id, turn } = await (await app.fork({})).json();
    expect(id).toMatch(/^sess_/);
    expect(turn).toBe(1);
    expect(
      app
        .files(SERVER)
        .list(id)
        .map((file) => file.id),
    ).toEqual(["file-0", "file-1"]);
    await app.request("/v1/sessions/s", { method: "DELETE" });
    expect((await app.request("/v1/sessions/other")).status).toBe(200);
  });

  test.each<[object, string]>([
    [{ turn: 2 }, "turn"],
    [{ turn: -1 }, "turn"],
    [{ session_id: "s" }, "session_id"],
    [{ turns: 1 }, "turns"],
  ])("%j is refused", async (body, param) => {
    const response = await (await talk()).fork(body);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  });

  test("of an unknown session is not found", async () => {
    const response = await sessionApp().post("/v1/sessions/none/fork", {});
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { code: "session_not_found" } },
    ]);
  });
});
