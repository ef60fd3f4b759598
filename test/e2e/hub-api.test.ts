// Models of the hub through the API of the executable: search, files and fit, pull, answer, deletion, against a hub on this machine.

import { describe, expect, onTestFinished, test } from "bun:test";
import { Ollama } from "ollama";
import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FIELD } from "../../src/core/gguf.ts";
import type { HubInstalledResponse, HubPull, HubRepositoryDetails } from "../../src/core/hub.ts";
import { stringField, u32Field, writeGguf } from "../../src/lora/gguf-write.ts";
import { newFolder, runBinary, spawnBinary, startServer, TINY_FILE } from "../helpers/binary.ts";
import { ask, CAPITAL, complete, postChat } from "../helpers/chat-client.ts";
import { COMMIT, fakeHub, type FakeHub } from "../helpers/fake-hub.ts";
import { parseSse } from "../helpers/sse.ts";
import { until } from "../helpers/until.ts";

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
  "acme/gated": { files: { "a-Q4_0.gguf": TINY }, token: "sesame", gated: true },
  "evil/layers": { files: { "a-Q4_0.gguf": hostile(1n << 40n) } },
  "acme/many-GGUF": { files: many() },
  "HuggingFaceTB/SmolLM2-360M-Instruct-GGUF": { files: { "smol-Q8_0.gguf": TINY } },
  "acme/parts": { files: { "p-Q8_0-00001-of-00003.gguf": TINY, "p-Q8_0-00003-of-00003.gguf": TINY } },
  "acme/safetensors": { files: { "model.safetensors": TINY } },
};

/** Twelve quantizations: the same model with more bytes behind it. */
function many(): Record<string, Uint8Array> {
  const types = "IQ2_XS Q2_K IQ3_XS Q3_K_M IQ4_XS Q4_0 Q4_K_S Q4_K_M Q5_K_M Q6_K Q8_0 BF16".split(" ");
  return Object.fromEntries(
    types.map((type, at) => {
      const file = new Uint8Array(TINY.byteLength + at * 1000);
      file.set(TINY);
      return [`m-${type}.gguf`, file];
    }),
  );
}

/** A header with this number of layers, and nothing else. */
function hostile(layers: bigint): Uint8Array {
  const raw = new Uint8Array(BigUint64Array.of(layers).buffer);
  const path = join(newFolder(), "hostile.gguf");
  const fields = [stringField("general.architecture", "llama"), u32Field("llama.context_length", 4096)];
  writeGguf(path, [...fields, { key: "llama.block_count", type: FIELD.u64, raw }], []);
  return new Uint8Array(readFileSync(path));
}

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

test("a file with a billion layers delays nothing: not its repository's page, not its pull, not the list of models", async () => {
  const { env, home } = setup();
  const { url } = await startServer([], { env });
  const details = await get<HubRepositoryDetails>(url, "/v1/hub/models/evil/layers");
  expect(details.models).toEqual([expect.objectContaining({ memory_bytes: null, fit: "unknown" })]);
  await (await post(url, "/v1/hub/pull", { source: "evil/layers" })).text();
  const card = await get<object>(url, "/v1/models/evil/layers:Q4_0");
  expect(card).not.toHaveProperty("memory_bytes");
  const refused = await postChat(url, ask(CAPITAL, { model: "evil/layers" }));
  expect(refused.status).toBe(503);
  for (const command of ["show", "verify"]) {
    const { exit, out, err } = await runBinary([command, "evil/layers"], {
      env: { ...env, HF_HOME: home },
    });
    expect(exit).toBe(1);
    expect(out + err).toContain("llama.block_count is 1099511627776, more than 4294967295");
  }
});

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

  // A real model takes the toy's place at once, and for a server or a chat that names none.
  expect((await ids(url))[0]).toBe(ID);
  expect((await complete(url, ask(CAPITAL))).model).toBe(ID);
  const run = await runBinary(["run", "--local", CAPITAL.content], { env });
  expect([run.exit, run.err]).toEqual([0, expect.stringContaining(`using ${ID}`)]);
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

/** Eight processes are started. */
const MANY_MS = 90_000;

test(
  "one of twelve models is chosen by what they take of this machine: the same in API, estimate and pull",
  async () => {
    const { hub, env } = setup();
    const { url } = await startServer([], { env });
    const details = await get<HubRepositoryDetails>(url, "/v1/hub/models/acme/many-GGUF");
    expect(details.models).toHaveLength(12);
    expect(details.estimate.memory_bytes_per_second).toBeGreaterThan(1e8);
    const best = details.models.find((one) => one.is_default);
    expect(best).toMatchObject({ id: details.estimate.recommended, fit: "fits", device_layers: 0 });
    expect(best?.memory.map((one) => one.context_tokens)).toEqual([4096]);
    expect(best?.context_fits).toBe(4096);
    expect(best?.tokens_per_second?.low).toBeLessThan(best?.tokens_per_second?.high ?? 0);
    const tuned = await post(url, "/v1/models/tune", { model_id: "acme/many-GGUF" });
    expect(await tuned.json()).toMatchObject({
      model_id: best?.id,
      measurements: [],
      estimate: { id: details.id },
    });

    const sessions = ["--max-seqs", "64", "--pa-context-len", String(64 * 2 ** 22)];
    const [printed, toml] = await Promise.all([
      runBinary(["estimate", "acme/many-GGUF:Q4_K_M", "--json", ...sessions], { env }),
      runBinary(["estimate", "acme/many-GGUF:Q6_K", "--toml"], { env }),
    ]);
    const { models, estimate } = JSON.parse(printed.out) as HubRepositoryDetails;
    expect(models).toEqual([expect.objectContaining({ id: "acme/many-GGUF:Q4_K_M", quality: "good" })]);
    expect(estimate.reason).toMatch(
      /are missing for 268435456 cache cells: use context_len of at most \d+, which/,
    );
    expect(toml.out).toContain(`model_id = "acme/many-GGUF@${COMMIT}:Q6_K"`);
    const config = join(newFolder(), "svc.toml");
    writeFileSync(config, toml.out);
    expect((await runBinary(["config", "check", config], { env })).exit).toBe(0);
    expect(hub.requests.filter((line) => line.includes("/m-"))).toSatisfy((lines: readonly string[]) =>
      lines.every((line) => line.startsWith("GET /acme/many-GGUF/resolve/") || line.includes("bytes=0-")),
    );

    const pulled = await runBinary(["pull", "acme/many-GGUF"], { env });
    expect(pulled.err).toContain(
      `auto: ${best?.id} of 12 models: ${best?.quality === undefined ? "" : "the best quality"}`,
    );
    expect(pulled.err).toContain("Name another to override: acme/many-GGUF:");
    expect(pulled.out).toContain(best?.files[0] ?? "no file");
  },
  MANY_MS,
);

test("a name of the catalogue is found first, pulled, answered by a server and by svc run", async () => {
  const { env } = setup();
  const { url } = await startServer([], { env });
  const found = await runBinary(["search", "smollm2"], { env });
  expect(found.out).toMatch(/^Names as of 20\d\d-\d\d-\d\d: .*\nNAME .*\nsmollm2:360m +360M/);
  const pull = await post(url, "/v1/hub/pull", { source: "smollm2:360m" });
  expect(await pull.text()).toContain('"status":"completed"');
  const answer = await complete(url, ask(CAPITAL, { model: "SmolLM2:360m" }));
  expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
  const run = await runBinary(["run", "smollm2:360m", "--local", CAPITAL.content], { env });
  expect([run.exit, run.out.trim()]).toEqual([0, CAPITAL.answer]);
});

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

async function pullOf(url: string): Promise<HubPull | undefined> {
  return (await get<{ data: HubPull[] }>(url, "/v1/hub/pulls")).data[0];
}

async function errorOf(response: Response): Promise<readonly [number, string]> {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

describe("a pull", () => {
  test("is paused, survives the death of the server, and is resumed: nothing is sent twice", async () => {
    const { hub, env } = setup();
    const first = await startServer([], { env });
    hub.cutAfter(1_000_000, () =>
      until("a part is there", async () => ((await pullOf(first.url))?.completed_bytes ?? 0) >= 1_000_000),
    );
    const release = hub.hold();
    const started = await post(first.url, "/v1/hub/pull", { source: ID, stream: false });
    const { id } = (await started.json()) as HubPull;
    await until(
      "it goes on where it broke off",
      async () => (await pullOf(first.url))?.completed_bytes === 1_000_010,
    );
    expect(hub.requests.at(-1)).toContain("bytes=1000000-");
    const paused = await post(first.url, `/v1/hub/pulls/${id}/pause`);
    expect(await paused.json()).toMatchObject({
      id,
      status: "paused",
      completed_bytes: 1_000_010,
      error: null,
    });
    release();
    first.kill("SIGKILL");

    const { url } = await startServer([], { env });
    const response = await post(url, "/v1/hub/pull", { source: ID });
    const states = parseSse(await response.text()).events.map(({ data }) => JSON.parse(data) as HubPull);
    expect(states[0]).toMatchObject({ completed_bytes: 1_000_010 });
    expect(states.at(-1)?.status).toBe("completed");
    expect(hub.requests.at(-1)).toContain("bytes=1000010-");
    const answer = await complete(url, ask(CAPITAL, { model: ID }));
    expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
  });

  test("is discarded: nothing of it stays", async () => {
    const { hub, home, env } = setup();
    const { url } = await startServer([], { env });
    const release = hub.hold();
    await post(url, "/v1/hub/pull", { source: ID, stream: false });
    await until("it has begun", async () => (await pullOf(url))?.completed_bytes === 10);
    const { id = "" } = (await pullOf(url)) ?? {};
    const gone = await fetch(`${url}/v1/hub/pulls/${id}`, { method: "DELETE" });
    expect(await gone.json()).toEqual({ id, object: "hub.pull", deleted: true });
    release();
    expect(await pullOf(url)).toBeUndefined();
    expect(readdirSync(join(home, "hub/models--acme--tiny-GGUF/blobs"))).toEqual([]);
    expect(await errorOf(await post(url, `/v1/hub/pulls/${id}/pause`))).toEqual([404, "pull_not_found"]);
  });

  test("of nothing, or of what is not there, is refused", async () => {
    const { env } = setup();
    const { url } = await startServer([], { env });
    const refused = [
      [{ source: "acme/absent" }, 404, "hub_model_not_found"],
      [{ source: "acme/tiny-GGUF:Q5_0" }, 404, "hub_model_not_found"],
      [{ source: "acme/tiny-GGUF", projector: "absent.gguf" }, 404, "hub_model_not_found"],
      [{ source: "llama" }, 400, "invalid_request"],
      [{ source: "acme/safetensors" }, 404, "hub_model_not_found"],
      [{}, 400, "missing_field"],
    ] as const;
    for (const [body, ...error] of refused)
      expect([body, ...(await errorOf(await post(url, "/v1/hub/pull", body)))]).toEqual([body, ...error]);
  });

  test("fails in its stream, with the reason and no path of the machine", async () => {
    const { home, env } = setup();
    const { url } = await startServer(["--models-max-bytes", "1000"], { env });
    const response = await post(url, "/v1/hub/pull", { source: ID });
    const last = parseSse(await response.text()).events.at(-1);
    expect(last?.event).toBe("pull.failed");
    const { error } = JSON.parse(last?.data ?? "") as HubPull;
    expect(error?.code).toBe("model_storage_full");
    expect(error?.message).toContain("--models-max-bytes");
    expect(error?.message).not.toContain(home);
  });
});

test("models_mutable = false: no route; a model of the configuration is not deleted", async () => {
  const { env } = setup();
  const closed = await startServer(["--no-models-mutable"], { env });
  expect(await errorOf(await fetch(`${closed.url}/v1/hub/search?q=tiny`))).toEqual([404, "route_not_found"]);
  const open = await startServer(["-m", "acme/tiny-GGUF"], { env });
  await complete(open.url, ask(CAPITAL, { model: "acme/tiny-GGUF" }));
  const response = await fetch(`${open.url}/v1/hub/models/${ID}`, { method: "DELETE" });
  expect(await errorOf(response)).toEqual([409, "model_in_use"]);
  const removed = await runBinary(["rm", "acme/tiny-GGUF"], { env });
  expect([removed.exit, removed.err]).toEqual([1, expect.stringContaining("is in use by process")]);
  expect(await errorOf(await fetch(`${open.url}/v1/hub/models/acme/none`, { method: "DELETE" }))).toEqual([
    404,
    "hub_model_not_found",
  ]);
});

test("a request that a proxy forwards is not from this machine", async () => {
  const { env } = setup();
  const { url } = await startServer([], { env });
  const headers = { "x-forwarded-for": "203.0.113.5" };
  expect((await fetch(`${url}/v1/hub/models`, { headers })).status).toBe(404);
  expect((await fetch(`${url}/v1/hub/models`)).status).toBe(200);
});

describe("the command line", () => {
  test("svc estimate says why there is nothing to estimate; no password is shown", async () => {
    const { hub, env } = setup();
    const estimate = async (repo: string, more: Record<string, string> = {}) => {
      const { exit, out, err } = await runBinary(["estimate", repo], { env: { ...env, ...more } });
      return [exit, out + err] as const;
    };
    const [gated, other, none, parts, [, away]] = await Promise.all([
      estimate("acme/gated"),
      estimate("acme/gated", { HF_TOKEN: "hf_another" }),
      estimate("acme/safetensors"),
      estimate("acme/parts"),
      estimate("acme/x", { HF_ENDPOINT: "http://me:sesame@127.0.0.1:1" }),
    ]);
    expect(gated).toEqual([0, expect.stringContaining(`requested at ${hub.url}/acme/gated;`)]);
    expect(gated[1]).toContain("no token is configured; store one with svc login");
    expect(other).toEqual([0, expect.stringContaining("the token has none")]);
    expect(none).toEqual([1, expect.stringContaining("there is no GGUF file in it")]);
    expect(parts).toEqual([1, expect.stringContaining("2 of the 3 parts of")]);
    expect([away, away.includes("sesame")]).toEqual([expect.stringContaining("http://127.0.0.1:1 "), false]);
  });

  test("search, pull (killed and resumed), rm: a running server follows", async () => {
    const { hub, home, env } = setup();
    const found = await runBinary(["search", "tiny"], { env });
    expect(found.out.split("\n")[1]).toMatch(/^acme\/tiny-GGUF +4M +llama +mit +1234/);
    const { url } = await startServer([], { env });
    const release = hub.hold();
    const first = spawnBinary(["pull", ID], { env });
    const blobs = join(home, "hub/models--acme--tiny-GGUF/blobs");
    await until(
      "a part is there",
      () => existsSync(blobs) && readdirSync(blobs).some((name) => sizeOf(join(blobs, name)) > 0),
    );
    first.kill("SIGKILL");
    await first.exited;
    release();
    const second = await runBinary(["pull", ID], { env });
    expect([second.exit, second.out]).toEqual([0, expect.stringContaining("tiny-Q8_0.gguf")]);
    expect(hub.requests.at(-1)).toContain("bytes=10-");
    const answer = await complete(url, ask(CAPITAL, { model: ID }));
    expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
    const list = await runBinary(["list", "--port", new URL(url).port], { env });
    expect(list.out).toContain(ID);
    expect((await runBinary(["rm", ID], { env })).exit).toBe(0);
    expect(await ids(url)).not.toContain(ID);
  });
});

describe("a plain URL", () => {
  /** Resolves to the address of a file on a server without a hub. */
  function fileServer(body: Uint8Array): string {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(new Uint8Array(body)),
    });
    onTestFinished(() => server.stop(true));
    return `http://127.0.0.1:${server.port}/models/tiny.gguf?x=1`;
  }

  test("is pulled by the operator, and served and deleted like a model of the hub", async () => {
    const { env } = setup();
    const file = fileServer(TINY);
    const { url } = await startServer([], { env });
    const pulled = await runBinary(["pull", file], { env });
    expect([pulled.exit, pulled.out]).toEqual([0, expect.stringMatching(/tiny\.gguf\n$/)]);
    const id = `${new URL(file).host.replace(":", "-")}/models-tiny`;
    const answer = await complete(url, ask(CAPITAL, { model: id }));
    expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
    expect((await fetch(`${url}/v1/hub/models/${id}`, { method: "DELETE" })).status).toBe(200);
    expect(await ids(url)).not.toContain(id);
    const other = await runBinary(["pull", fileServer(new Uint8Array(100))], { env });
    expect([other.exit, other.err]).toEqual([1, expect.stringContaining("not a GGUF file")]);
  });

  test("of a private address is refused to clients, one of the hub is its repository", async () => {
    const { hub, env } = setup();
    const { url } = await startServer([], { env });
    for (const source of [
      fileServer(TINY),
      "http://169.254.169.254/latest/model.gguf",
      "http://localhost/a.gguf",
    ]) {
      const response = await post(url, "/v1/hub/pull", { source });
      const { error } = (await response.json()) as {
        error: { code: string; param: string; message: string };
      };
      expect([response.status, error.code, error.param]).toEqual([400, "invalid_request", "source"]);
      expect(error.message).toContain("public");
    }
    const response = await post(url, "/v1/hub/pull", {
      source: `${hub.url}/acme/tiny-GGUF/blob/main/tiny-Q8_0.gguf`,
    });
    const states = parseSse(await response.text()).events.map(({ data }) => JSON.parse(data) as HubPull);
    expect(states.at(-1)).toMatchObject({ model: ID, status: "completed" });
  });
});

test("Ollama's client pulls with progress, chats, and deletes", async () => {
  const { hub, env } = setup();
  const { url } = await startServer([], { env });
  const client = new Ollama({ host: url });
  const model = `hf.co/${ID}`;
  const lines = await Array.fromAsync(await client.pull({ model, stream: true }));
  const sha256 = hash("sha256", TINY);
  expect([...new Set(lines.map(({ status }) => status))]).toEqual([
    "pulling manifest",
    `pulling ${sha256.slice(0, 12)}`,
    "verifying sha256 digest",
    "writing manifest",
    "success",
  ]);
  const sizes = lines.filter(({ digest }) => digest === `sha256:${sha256}`);
  expect(sizes.at(-1)).toMatchObject({ total: TINY.byteLength, completed: TINY.byteLength });
  const { models } = await client.list();
  expect(models.map(({ name }) => name)).toContain(ID);
  const messages = [{ role: "user", content: CAPITAL.content }];
  const answer = await client.chat({ model, messages, think: false, options: { temperature: 0 } });
  expect(answer.message.content).toBe(CAPITAL.answer);
  await client.delete({ model });
  expect((await client.list()).models.map(({ name }) => name)).not.toContain(ID);
  const whole = await post(url, "/api/pull", { model, stream: false });
  expect([whole.headers.get("content-type"), await whole.text()]).toEqual([
    expect.stringContaining("application/json"),
    '{"status":"success"}',
  ]);
  expect(client.pull({ model: "llama3.2" })).rejects.toThrow("Hugging Face hub");
  expect(client.delete({ model: "acme/none" })).rejects.toThrow("there is no model");

  const release = hub.hold();
  const stream = await client.pull({ model: "acme/other-GGUF", stream: true });
  await until("it has begun", async () => (await pullOf(url))?.completed_bytes === 10);
  stream.abort();
  await until("it ends with its client", async () => (await pullOf(url))?.status === "paused");
  release();
});

describe("svc show and svc verify", () => {
  test("describe a file and compare it with the hub", async () => {
    const { home, env } = setup();
    expect((await runBinary(["pull", ID], { env })).exit).toBe(0);
    const shown = await runBinary(["show", ID], { env });
    expect(shown.exit).toBe(0);
    expect(shown.out).toMatch(/family +llama\n/);
    expect(shown.out).toMatch(/quantization +Q8_0\n/);
    expect(shown.out).toMatch(/TENSORS +COUNT +SIZE\nQ8_0 /);
    const metadata = await runBinary(["show", ID, "--metadata"], { env });
    expect(metadata.out).toContain('general.architecture = "llama"\n');
    const template = await runBinary(["show", TINY_FILE, "--template"], { env });
    expect(template.out).toContain("{%");
    expect((await runBinary(["show", "acme/none", "--metadata"], { env })).exit).toBe(1);

    const sound = await runBinary(["verify", ID], { env });
    expect([sound.exit, sound.out]).toEqual([
      0,
      expect.stringMatching(/^tiny-Q8_0.gguf: 4\.4 MB, \d+ tensors in range, hash as on the hub\n$/),
    ]);
    const blobs = join(home, "hub/models--acme--tiny-GGUF/blobs");
    const blob = join(blobs, readdirSync(blobs)[0] ?? "");
    const damaged = Buffer.from(TINY);
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
    writeFileSync(blob, damaged);
    const offline = { HF_HOME: home, HF_HUB_OFFLINE: "1" };
    for (const surroundings of [env, offline]) {
      const wrong = await runBinary(["verify", ID], { env: surroundings });
      expect([wrong.exit, wrong.out]).toEqual([1, expect.stringContaining("does not match the hash")]);
    }
    const cut = join(newFolder(), "cut.gguf");
    writeFileSync(cut, TINY.subarray(0, TINY.length - 100_000));
    const short = await runBinary(["verify", cut], { env });
    expect([short.exit, short.out]).toEqual([1, expect.stringContaining("behind the end of the file")]);
  });
});

test("a card states what the file says before the model is loaded", async () => {
  const { env } = setup();
  expect((await runBinary(["pull", ID], { env })).exit).toBe(0);
  const { url } = await startServer([], { env });
  const { data } = await get<{ data: { id: string }[] }>(url, "/v1/models");
  expect(data.find(({ id }) => id === ID)).toMatchObject({
    status: "unloaded",
    family: "llama",
    quantization: "Q8_0",
    size_bytes: TINY.byteLength,
    parameters: expect.any(Number),
    memory_bytes: expect.any(Number),
  });
});
