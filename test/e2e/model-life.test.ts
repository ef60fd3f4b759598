// Models that come and go under a running server.

import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, type Server, startServer, TINY_FILE } from "../helpers/binary.ts";
import {
  ask,
  CAPITAL,
  complete,
  completeText,
  COUNT_100,
  ENDLESS,
  FIRST_TEXT,
  openStream,
  postChat,
} from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { treeRssBytes } from "../helpers/processes.ts";
import { until } from "../helpers/until.ts";

async function command(
  server: Server,
  name: string,
  model_id: string,
): Promise<{ status: number; body: unknown }> {
  const response = await postJson(`${server.url}/v1/models/${name}`, { model_id });
  return { status: response.status, body: await response.json() };
}

async function statuses(server: Server): Promise<Readonly<Record<string, string>>> {
  const list: unknown = await (await fetch(`${server.url}/v1/models`)).json();
  const { data } = list as { data: { id: string; status: string }[] }; // the wire's shape is tested elsewhere
  return Object.fromEntries(
    data.filter(({ id }) => id !== "svc-voice").map(({ id, status }) => [id, status]), // that has a place of its own
  );
}

/** A server with two models, `a` and `b`, and these lines under [server]. */
async function twoModels(...lines: readonly string[]): Promise<Server> {
  const cwd = newFolder();
  copyFileSync(TINY_FILE, join(cwd, "a.gguf"));
  copyFileSync(TINY_FILE, join(cwd, "b.gguf"));
  const models = ["a", "b"].flatMap((name) => ["[[models]]", `model_id = "${name}.gguf"`]);
  writeFileSync(join(cwd, "svc.toml"), ["[server]", ...lines, ...models].join("\n"));
  const server = await startServer(["svc.toml"], { cwd });
  await server.says("Ready.");
  return server;
}

test("unload frees the memory, the next request loads the model again", async () => {
  const server = await startServer();
  await server.says("Ready.");
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  expect(await command(server, "unload", "svc-tiny")).toEqual({
    status: 200,
    body: { model_id: "svc-tiny", status: "unloaded", pinned: false },
  });
  expect(server.enginePids()).toEqual([]);
  const before = treeRssBytes(server.pid);
  for (let round = 0; round < 3; round++) {
    expect(await completeText(server.url, ask(COUNT_100))).toBe(COUNT_100.answer);
    expect((await command(server, "status", "default")).body).toEqual({
      model_id: "svc-tiny",
      status: "loaded",
      pinned: false,
    });
    expect(treeRssBytes(server.pid) - before).toBeGreaterThan(30e6);
    await command(server, "unload", "svc-tiny");
  }
  expect(treeRssBytes(server.pid) - before).toBeLessThan(20e6);
});

test("unload and reload under traffic lose no request; a stream that has begun is finished first", async () => {
  const server = await startServer();
  await server.says("Ready.");
  const stream = await openStream(server.url, ask(ENDLESS, { max_tokens: 400 }));
  await stream.readTo(FIRST_TEXT);
  const done = new AbortController();
  let answered = 0;
  const asking = Array.from({ length: 4 }, async () => {
    while (!done.signal.aborted) {
      expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
      answered++;
    }
  });
  for (const name of ["unload", "reload", "unload", "reload"]) {
    const count = answered;
    expect((await command(server, name, "svc-tiny")).status).toBe(200);
    await until("requests are answered again", () => answered >= count + 4);
  }
  done.abort();
  await Promise.all(asking);
  const { errors, chunks } = await stream.finish();
  expect(errors).toEqual([]);
  expect(chunks.at(-1)?.choices[0]?.finish_reason ?? "length").toBe("length");
  expect(server.enginePids()).toHaveLength(1);
});

test("with one place for two models each is loaded when it is asked for", async () => {
  const server = await twoModels("max_loaded_models = 1");
  expect(await statuses(server)).toEqual({ a: "loaded", b: "unloaded" });
  const models = ["a", "b", "a", "b", "b", "a"];
  const answers = await Promise.all(models.map((model) => complete(server.url, ask(CAPITAL, { model }))));
  expect(answers.map(({ model }) => model)).toEqual(models);
  for (const { choices } of answers) expect(choices[0]?.message.content).toBe(CAPITAL.answer);
  expect(server.enginePids().length).toBeLessThan(2);
});

/** A server with models `a` to `e`, these lines under [server], and these below the first model. */
async function fiveModels(lines: readonly string[], first: readonly string[] = []): Promise<Server> {
  const cwd = newFolder();
  const models = ["a", "b", "c", "d", "e"].flatMap((name) => {
    copyFileSync(TINY_FILE, join(cwd, `${name}.gguf`));
    return ["[[models]]", `model_id = "${name}.gguf"`, ...(name === "a" ? first : [])];
  });
  writeFileSync(join(cwd, "svc.toml"), ["[server]", ...lines, ...models].join("\n"));
  const server = await startServer(["svc.toml"], { cwd });
  await server.says("Ready.");
  return server;
}

/** Memory that is counted for each loaded model, bytes. */
async function memory(server: Server): Promise<Readonly<Record<string, number>>> {
  const info: unknown = await (await fetch(`${server.url}/v1/system/info`)).json();
  const { models } = info as { models: { id: string; memory_bytes: number | null }[] };
  return Object.fromEntries(
    models.flatMap(({ id, memory_bytes: bytes }) => (bytes === null ? [] : [[id, bytes]])),
  );
}

/** A dozen loads take a minute on a busy machine. */
const LOADS_MS_MAX = 300_000;

test(
  "100 requests over five models of which two fit: none is lost, a pinned model stays",
  async () => {
    const alone = await twoModels();
    const bytes = Math.max(...Object.values(await memory(alone)));
    expect(bytes).toBeGreaterThan(30e6);
    await alone.stop();
    const limit = Math.ceil((2.3 * bytes) / 2 ** 20);
    const server = await fiveModels([`models_memory_mb = ${limit}`], ["pin = true"]);
    const names = (what: string) =>
      [...server.stderr().matchAll(new RegExp(`^(\\w): ${what}$`, "gm"))].map(([, name]) => name);
    const left = () => names("unloading it for another model");
    const begun = await statuses(server);
    expect(begun["a"]).toBe("loaded");
    const atStart = Object.values(begun).filter((status) => status === "loaded").length + left().length;
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, async (_, client) => {
        for (let i = 0; i < 5; i++) {
          const model = "abcde"[(client + i) % 5] ?? "a";
          expect(await completeText(server.url, ask(CAPITAL, { model }))).toBe(CAPITAL.answer);
          most = Math.max(most, server.enginePids().length);
        }
      }),
    );
    expect(most).toBe(2);
    expect((await statuses(server))["a"]).toBe("loaded");
    const loads = names("loading it for a request");
    console.log(`loaded: ${loads.join(" ")}; unloaded for another model: ${left().join(" ")}`);
    // What engines take is measured: more may be loaded at the start than fit, and one load may need the memory of two.
    expect(atStart + loads.length - left().length).toBeOneOf([1, 2]);
    expect(left()).not.toContain("a");
    expect(new Set(left()).size).toBeGreaterThan(2);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const evicted = (name: string, reason: string) => valueOf(metrics, name, { reason });
    expect(evicted("svc_model_evictions_total", "memory")).toBe(left().length);
    expect(evicted("svc_model_evictions_total", "count")).toBe(0);
    expect(evicted("svc_model_evicted_bytes_total", "memory")).toBeGreaterThan(left().length * 30e6);
    expect(server.enginePids().length).toBe(2);
  },
  LOADS_MS_MAX,
);

test("keep_alive of a model and of a request; a pinned model ignores both", async () => {
  const server = await fiveModels(
    ["max_loaded_models = 3", "idle_timeout = 1"],
    ['keep_alive = "10m"', "pin = true"],
  );
  await until("the models that are not pinned are unloaded", async () => {
    const loaded = Object.entries(await statuses(server)).filter(([, status]) => status === "loaded");
    return loaded.length === 1 && loaded[0]?.[0] === "a";
  });
  for (const model of ["a", "b", "c"]) {
    expect(await completeText(server.url, ask(CAPITAL, { model, keep_alive: model === "b" ? -1 : 0 }))).toBe(
      CAPITAL.answer,
    );
  }
  await until("the last one is unloaded", async () => (await statuses(server))["c"] === "unloaded");
  expect(await statuses(server)).toMatchObject({ a: "loaded", b: "loaded", c: "unloaded" });
  const refused = await postChat(server.url, ask(CAPITAL, { keep_alive: "soon" }));
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("keep_alive")]);
});

test("a model that nobody uses is unloaded", async () => {
  const server = await twoModels("idle_timeout = 1");
  await until("both are unloaded", async () =>
    Object.values(await statuses(server)).every((status) => status === "unloaded"),
  );
  expect(server.stderr()).toContain("a: idle for 1 s; unloading");
  expect(await completeText(server.url, ask(CAPITAL, { model: "b" }))).toBe(CAPITAL.answer);
});

describe("a model whose file is gone", () => {
  test("is 503 for requests, without a path, and says so in its state", async () => {
    const cwd = newFolder();
    copyFileSync(TINY_FILE, join(cwd, "a.gguf"));
    const server = await startServer(["-m", "a.gguf"], { cwd });
    await server.says("Ready.");
    await command(server, "unload", "a");
    rmSync(join(cwd, "a.gguf"));
    const response = await postChat(server.url, ask(CAPITAL));
    const text = await response.text();
    expect([response.status, response.headers.has("retry-after")]).toEqual([503, true]);
    expect(text).toContain("model_unavailable");
    expect(text).not.toContain(cwd);
    expect((await command(server, "status", "a")).body).toMatchObject({
      status: "unloaded",
      error: "the model could not be loaded; the server's log says why; it is tried again",
    });
    expect((await command(server, "reload", "a")).status).toBe(503);
    expect(server.stderr()).toContain("a: could not be loaded: ");
    copyFileSync(TINY_FILE, join(cwd, "a.gguf"));
    expect((await command(server, "reload", "a")).body).toEqual({
      model_id: "a",
      status: "loaded",
      pinned: false,
    });
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  });
});

test("a cache that cannot fit is refused with advice before an engine is started", async () => {
  const cwd = newFolder();
  copyFileSync(TINY_FILE, join(cwd, "a.gguf"));
  const { exit, err } = await runBinary(
    ["serve", "--port", "0", "-m", "a.gguf", "--pa-context-len", "2000000000"],
    { cwd },
  );
  expect(exit).toBe(1);
  expect(err).toMatch(
    /svc: a: the model needs about [\d.]+ [MG]B of memory .* are free; use context_len of at most \d+/,
  );
});

test("models of a folder come and go, are loaded as chosen, and files are added by their path", async () => {
  const folder = newFolder();
  const env = { XDG_CONFIG_HOME: newFolder() };
  const elsewhere = join(newFolder(), "added.gguf");
  copyFileSync(TINY_FILE, join(folder, "first.gguf"));
  copyFileSync(TINY_FILE, elsewhere);
  const post = async (server: Server, path: string, body: unknown) => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/v1/${path}`, init);
    return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
  };
  const lengthOf = async (server: Server, id: string): Promise<unknown> =>
    ((await (await fetch(`${server.url}/v1/models/${id}`)).json()) as { context_length?: number })
      .context_length;
  const server = await startServer(["--models-dir", folder], { env });
  await server.says("Ready.");
  expect(await statuses(server)).toEqual({ first: "unloaded", "svc-tiny": "loaded" });

  const trial = { model_id: "first", settings: { max_seq_len: 512, cache_type: "q8_0" } };
  const before = await post(server, "models/load_settings", { model_id: "first" });
  const tried = await post(server, "models/load_settings", { ...trial, dry_run: true });
  expect(Number(tried.body["memory_bytes"])).toBeLessThan(Number(before.body["memory_bytes"]));
  expect((await post(server, "models/load_settings", { model_id: "first" })).body["settings"]).toEqual({});
  expect((await post(server, "models/load_settings", trial)).status).toBe(200);
  expect(await completeText(server.url, { ...ask(CAPITAL), model: "first" })).toBe(CAPITAL.answer);
  expect(await lengthOf(server, "first")).toBe(512);

  copyFileSync(TINY_FILE, join(folder, "second.gguf"));
  await until("the second model appears", async () => "second" in (await statuses(server)));
  rmSync(join(folder, "first.gguf"));
  await until("the first model disappears", async () => !("first" in (await statuses(server))));
  expect(await post(server, "hub/files", { path: elsewhere })).toMatchObject({ body: { id: "added" } });
  for (const path of ["added.gguf", "/etc/passwd", join(folder, "nowhere.gguf")]) {
    const refused = await post(server, "hub/files", { path });
    expect([refused.status, JSON.stringify(refused.body).includes("passwd")]).toEqual([400, false]);
  }
  expect((await post(server, "hub/files/forget", { id: "added" })).body).toMatchObject({ data: [] });
  expect(Object.keys(await statuses(server)).toSorted()).toEqual(["second", "svc-tiny"]);
});
