// Models of the hub through the API of the executable: search, files and fit, pull, answer, deletion, against a hub on this machine.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HubInstalledResponse, HubPull, HubRepositoryDetails } from "../../src/core/hub.ts";
import { newFolder, startServer, TINY_FILE } from "../helpers/binary.ts";
import { ask, CAPITAL, complete, postChat } from "../helpers/chat-client.ts";
import { COMMIT, fakeHub, type FakeHub } from "../helpers/fake-hub.ts";
import { parseSse } from "../helpers/sse.ts";

const TINY = new Uint8Array(readFileSync(TINY_FILE));
const ID = "acme/tiny-GGUF:Q8_0";
const REPOS = {
  "acme/tiny-GGUF": {
    files: { "README.md": new Uint8Array(10), "tiny-Q8_0.gguf": TINY },
    facts: {
      downloads: 1234,
      pipeline_tag: "text-generation",
      tags: ["gguf", "license:mit"],
      gguf: { total: 4_000_000, architecture: "llama", context_length: 4096 },
    },
  },
  "acme/other-GGUF": { files: { "a-Q4_0.gguf": TINY } },
  "acme/safetensors": { files: { "model.safetensors": TINY } },
};

interface Setup {
  readonly hub: FakeHub;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

function setup(): Setup {
  const hub = fakeHub(REPOS);
  const home = newFolder();
  return { hub, home, env: { HF_ENDPOINT: hub.url, HF_HOME: home } };
}

async function get<T>(url: string, path: string): Promise<T> {
  const response = await fetch(url + path);
  const text = await response.text();
  if (!response.ok) throw new Error(`status ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

function post(url: string, path: string, body: unknown = {}): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function ids(url: string): Promise<readonly string[]> {
  const { data } = await get<{ data: { id: string }[] }>(url, "/v1/models");
  return data.map(({ id }) => id);
}

test("search, files and fit, pull with progress, an answer, deletion", async () => {
  const { home, env } = setup();
  const { url } = await startServer([], { env });
  const found = await get<{ data: object[] }>(url, "/v1/hub/search?q=tiny");
  expect(found.data).toEqual([
    expect.objectContaining({
      id: "acme/tiny-GGUF",
      access: "public",
      downloads: 1234,
      license: "mit",
      architecture: "llama",
      parameters: 4_000_000,
      downloaded: false,
    }),
  ]);

  const details = await get<HubRepositoryDetails>(url, "/v1/hub/models/acme/tiny-GGUF");
  expect(details).toMatchObject({ commit: COMMIT, revision: "main", downloaded: false });
  expect(details.files.map(({ path, role }) => [path, role])).toEqual([
    ["README.md", "other"],
    ["tiny-Q8_0.gguf", "model"],
  ]);
  expect(details.models).toEqual([
    expect.objectContaining({ id: ID, size_bytes: TINY.byteLength, fit: "fits", is_default: true }),
  ]);
  expect(details.models[0]?.memory_bytes).toBeGreaterThan(TINY.byteLength);

  const response = await post(url, "/v1/hub/pull", { source: "acme/tiny-GGUF" });
  expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  const events = parseSse(await response.text()).events;
  const states = events.map(({ data }) => JSON.parse(data) as HubPull);
  expect(events.map(({ event }) => event)).toEqual(states.map(({ status }) => `pull.${status}`));
  expect(states.at(-1)).toMatchObject({
    model: ID,
    status: "completed",
    total_bytes: TINY.byteLength,
    completed_bytes: TINY.byteLength,
    error: null,
  });

  expect(await ids(url)).toContain(ID);
  for (const model of [ID, "acme/tiny-GGUF"]) {
    const answer = await complete(url, ask(CAPITAL, { model }));
    expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
  }
  const { data } = await get<HubInstalledResponse>(url, "/v1/hub/models");
  expect(data).toEqual([
    expect.objectContaining({ id: ID, served_as: ID, is_removable: true, size_bytes: TINY.byteLength }),
  ]);

  const deleted = await fetch(`${url}/v1/hub/models/${ID}`, { method: "DELETE" });
  expect(await deleted.json()).toEqual({
    id: ID,
    object: "hub.model",
    deleted: true,
    freed_bytes: TINY.byteLength,
  });
  expect(await ids(url)).not.toContain(ID);
  expect((await postChat(url, ask(CAPITAL, { model: ID }))).status).toBe(404);
  expect(existsSync(join(home, "hub/models--acme--tiny-GGUF"))).toBe(false);
});
