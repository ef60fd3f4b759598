// Where keys are needed, what was made under a key is for that key alone: files, sessions, responses.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ownedState } from "../../src/state/owned.ts";
import type { State } from "../../src/core/state.ts";
import { Admission } from "../../src/http/admission.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { memoryState } from "../../src/state/memory.ts";
import { openState } from "../../src/state/open.ts";
import { testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

type Ask = (path: string, body?: unknown, method?: string) => Promise<{ status: number; body: string }>;

/** A server with keys; the result asks it with one of them. */
function keyed(state: State = memoryState(), keys = new ApiKeys(["first", "second"])) {
  const played = playing(answer("Hi"));
  const admission = new Admission({
    keys,
    addressOf: () => "here",
    placesOf: () => 100,
    isCrowded: () => false,
  });
  const owned = ownedState(state, () => keys.legacyOwner);
  const { request } = testApp(played.generate, { apiKeys: keys, admission, state: owned });
  const as =
    (key: string): Ask =>
    async (path, body, method = body === undefined ? "GET" : "POST") => {
      const isForm = body instanceof FormData;
      const response = await request(path, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(isForm ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.text() };
    };
  return { as, played };
}

function upload(text: string): FormData {
  const form = new FormData();
  form.set("file", new File([text], "a.txt"));
  return form;
}

const idOf = ({ body }: { body: string }): string => /"id":"([^"]+)"/.exec(body)?.[1] ?? "";
const chat = (text: string, more: object = {}) => ({ messages: [{ role: "user", content: text }], ...more });

describe("another key", () => {
  const { as, played } = keyed();
  const [mine, theirs] = [as("first"), as("second")];

  test("neither sees, reads, uses nor deletes a file", async () => {
    const id = idOf(await mine("/v1/files", upload("secret")));
    expect(await theirs("/v1/files")).toMatchObject({ body: "[]" });
    const asked = [
      theirs(`/v1/files/${id}`),
      theirs(`/v1/files/${id}/content`),
      theirs(`/v1/containers/c/files/${id}/content`),
      theirs(`/v1/files/${id}`, undefined, "DELETE"),
      theirs("/v1/chat/completions", {
        messages: [{ role: "user", content: [{ type: "file", file: { file_id: id } }] }],
      }),
    ];
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect(await mine(`/v1/files/${id}/content`)).toEqual({ status: 200, body: "secret" });
  });

  test("has a session of its own under the same name", async () => {
    await mine("/v1/chat/completions", chat("My name is Anna.", { session_id: "s" }));
    expect((await theirs("/v1/sessions/s")).status).toBe(404);
    await theirs("/v1/chat/completions", chat("Who am I?", { session_id: "s" }));
    expect(JSON.stringify(played.requests.at(-1))).not.toContain("Anna");
    expect((await theirs("/v1/sessions/s")).body).not.toContain("Anna");
    await theirs("/v1/sessions/s", undefined, "DELETE");
    expect((await mine("/v1/sessions/s")).body).toContain("Anna");
    await mine("/v1/chat/completions", chat("Who am I?", { session_id: "s" }));
    expect(JSON.stringify(played.requests.at(-1))).toContain("Anna");
  });

  test("has no files of a session of that name either", async () => {
    const file = { type: "file", file: { filename: "a.txt", file_data: btoa("in the session") } };
    const body = { session_id: "f", messages: [{ role: "user", content: [file] }] };
    await mine("/v1/chat/completions", body);
    await theirs("/v1/chat/completions", body);
    const ids = [await mine("/v1/files"), await theirs("/v1/files")].map(idOf);
    expect(new Set(ids).size).toBe(2);
    expect((await mine("/v1/sessions/f")).body).toContain("a.txt");
  });

  test.each([
    ["at once", {}],
    ["streamed", { stream: true }],
    ["in the background", { background: true }],
  ])("neither sees, continues, cancels nor deletes a response that was made %s", async (_, how) => {
    const id = idOf(await mine("/v1/responses", { input: "My name is Anna.", ...how }));
    await until("it is final", async () => (await mine(`/v1/responses/${id}`)).body.includes('"completed"'));
    const asked = [
      theirs(`/v1/responses/${id}`),
      theirs(`/v1/responses/${id}?stream=true`),
      theirs(`/v1/responses/${id}/input_items`),
      theirs(`/v1/responses/${id}/cancel`, {}),
      theirs(`/v1/responses/${id}`, undefined, "DELETE"),
      theirs("/v1/responses", { input: "Who am I?", previous_response_id: id }),
    ];
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 404));
    expect((await mine("/v1/responses", { input: "Who?", previous_response_id: id })).status).toBe(200);
  });
});

test("records from before there were keys belong to the first key; they outlive a restart as they are", async () => {
  const setting = `sqlite:${join(tempDir(), "state.db")}`;
  const before = openState(setting, () => {});
  const open = testApp(playing(answer("Hi")).generate, { state: ownedState(before) });
  const ask = async (path: string, init: RequestInit) => ({
    body: await (await open.request(path, init)).text(),
  });
  const fileId = idOf(await ask("/v1/files", { method: "POST", body: upload("old") }));
  await open.post("/v1/chat/completions", chat("Old talk", { session_id: "old" }));
  before.close();

  const keys = ["first", "second"];
  const state = openState(setting, () => {});
  const { as } = keyed(state, new ApiKeys(keys));
  expect((await as("first")(`/v1/files/${fileId}/content`)).body).toBe("old");
  expect((await as("first")("/v1/sessions/old")).body).toContain("Old talk");
  expect((await as("second")(`/v1/files/${fileId}`)).status).toBe(404);
  expect((await as("second")("/v1/sessions/old")).status).toBe(404);
  await as("second")("/v1/chat/completions", chat("New talk", { session_id: "new" }));
  state.close();

  const again = openState(setting, () => {});
  const later = keyed(again, new ApiKeys(keys.toReversed()));
  expect((await later.as("second")("/v1/sessions/new")).body).toContain("New talk");
  expect((await later.as("first")("/v1/sessions/new")).status).toBe(404);
  again.close();
});

test("without keys a bearer changes nothing", async () => {
  const { request } = testApp(playing(answer("Hi")).generate, {
    admission: new Admission({ addressOf: () => "", placesOf: () => 9, isCrowded: () => false }),
  });
  const made = await request("/v1/files", {
    method: "POST",
    body: upload("shared"),
    headers: { authorization: "Bearer one" },
  });
  const id = idOf({ body: await made.text() });
  const read = await request(`/v1/files/${id}/content`, { headers: { authorization: "Bearer two" } });
  expect(await read.text()).toBe("shared");
});
