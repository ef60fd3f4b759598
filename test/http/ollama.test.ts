// What is Ollama's dialect's own over HTTP: lines, errors as texts, names with `:latest`, loading and unloading.

import { describe, expect, test } from "bun:test";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { ServiceError } from "../../src/core/error.ts";
import { VERSION } from "../../src/core/version.ts";
import { modelAliases } from "../../src/http/model-alias.ts";
import type { ModelControl, ModelInfo } from "../../src/core/model-info.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { testApp } from "../helpers/app.ts";
import { parseLines } from "../helpers/fold-lines.ts";
import { ACCEPTED, answer, playing, text } from "../helpers/run-events.ts";

const CHAT = { model: "tiny", messages: [{ role: "user", content: "Hi" }] };

describe("an answer", () => {
  test("is lines of JSON by default, and one body on demand", async () => {
    const app = testApp(playing(answer("a", "b")).generate);
    const streamed = await app.post("/api/chat", CHAT);
    expect(streamed.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = parseLines(await streamed.text()).map(({ data }) => JSON.parse(data));
    expect(lines.map(({ message, done }) => [message.content, done])).toEqual([
      ["a", false],
      ["b", false],
      ["", true],
    ]);
    const whole = await app.post("/api/generate", { model: "tiny", prompt: "Hi", stream: false });
    expect(whole.headers.get("content-type")).toStartWith("application/json");
    expect(await whole.json()).toMatchObject({
      model: "tiny",
      response: "ab",
      done: true,
      done_reason: "stop",
    });
  });

  test("is given whatever type the body is declared to have, as command lines send it", async () => {
    const init = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    expect((await testApp().post("/api/chat", CHAT, init)).status).toBe(200);
    expect((await testApp().post("/v1/chat/completions", CHAT, init)).status).toBe(415);
  });

  test("that fails ends with the error as a line", async () => {
    const events: readonly RunEvent[] = [
      ACCEPTED,
      text("Hi"),
      { type: "error", error: { code: "engine_failed", message: "the engine died" } },
    ];
    const response = await testApp(playing(events).generate).post("/api/chat", CHAT);
    expect(response.status).toBe(200);
    expect(JSON.parse(parseLines(await response.text()).at(-1)?.data ?? "")).toEqual({
      error: "the engine died",
    });
  });
});

describe("errors are texts", () => {
  test.each([
    ["/api/chat", { messages: "x" }, 400, "messages must be an array"],
    ["/api/show", { model: "absent" }, 404, 'model "absent" not found'],
    ["/api/generate", { model: "absent", prompt: "a" }, 404, 'model "absent" not found'],
    ["/api/absent", {}, 404, "there is no route"],
    ["/api/tags", {}, 405, "does not support POST"],
    ["/api/pull", { model: "x" }, 404, "this server does not pull models over HTTP"],
    ["/api/create", {}, 404, "create models"],
    ["/api/copy", {}, 404, "copy models"],
    ["/api/push", {}, 404, "push models"],
    ["/api/blobs/sha256:1", {}, 404, "blobs"],
  ])("%s %j: %d", async (path, body, status, words) => {
    const response = await testApp().post(path, body);
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as { error: unknown };
    expect(error).toBeString();
    expect(error).toContain(words);
  });

  test("also of bodies that cannot be read", async () => {
    const send = (body: string, headers: Record<string, string> = {}) =>
      testApp().request("/api/chat", { method: "POST", headers, body });
    for (const [status, response] of [
      [400, await send('{"messages": [}')],
      [400, await send("[]")],
      [413, await send("{}", { "content-length": String(50 * 1024 * 1024 + 1) })],
      [415, await send("{}", { "content-encoding": "gzip" })],
    ] as const) {
      expect([response.status, await response.json()]).toEqual([status, { error: expect.any(String) }]);
    }
  });

  test("also of keys and of models that cannot be loaded", async () => {
    const keyed = await testApp(undefined, { apiKeys: new ApiKeys(["k"]) }).post("/api/chat", CHAT);
    expect([keyed.status, await keyed.json()]).toEqual([401, { error: expect.any(String) }]);
    const failing = playing([{ type: "error", error: { code: "queue_full", message: "try later" } }]);
    const full = await testApp(failing.generate).post("/api/chat", CHAT);
    expect([full.status, full.headers.get("retry-after"), await full.json()]).toEqual([
      429,
      "1",
      { error: "try later" },
    ]);
  });
});

const CARD: ModelInfo = { id: "tiny", created: 0, kind: "text", ownedBy: "svc", status: "loaded" };
const MODELS: readonly ModelInfo[] = [
  CARD,
  { ...CARD, id: "big:latest" },
  { ...CARD, id: "tiny:red", parent: "tiny", root: "red" },
  { ...CARD, id: "voice", kind: "speech" },
];

/** A model control that notes what it is told. */
function noted(): { readonly control: ModelControl; readonly told: unknown[] } {
  const told: unknown[] = [];
  const state = async (what: string, id: string) => {
    told.push([what, id]);
    return { id, status: "loaded" as const };
  };
  const control: ModelControl = {
    status: (id) => ({ id, status: "loaded", idleLeftMs: 60_000 }),
    keep: (id, ms) => void told.push(["keep", id, ms]),
    pin: (id) => ({ id, status: "loaded" }),
    ensureLoaded: (id) => state("load", id),
    unload: (id) => state("unload", id),
    reload: (id) => state("reload", id),
  };
  return { control, told };
}

describe("models", () => {
  const aliases = modelAliases([{ name: "llama3", model: "tiny" }]);

  test.each([
    ["tiny:latest", "tiny"],
    ["tiny", "tiny"],
    ["big:latest", "big:latest"],
    ["llama3", "tiny"],
    ["llama3:latest", "tiny"],
    ["red", "red"],
    ["red:latest", "red"],
  ])("%s means %s, in the run, the answer and the metrics", async (model, meant) => {
    const { generate, requests } = playing(answer("Hi"));
    const metrics = new Metrics();
    const app = testApp(generate, { models: () => MODELS, aliases, metrics, control: noted().control });
    const response = await app.post("/api/chat", { ...CHAT, model, stream: false });
    expect(await response.json()).toMatchObject({ model: meant });
    expect(requests[0]?.model).toBe(meant);
    const text = await (await app.request("/metrics")).text();
    expect(text).toContain(`path="/api/chat",model="${meant === "red" ? "tiny:red" : meant}",status="200"`);
  });

  test("are listed, shown and counted as running; other kinds are left out", async () => {
    const { control } = noted();
    const app = testApp(undefined, { models: () => MODELS, control });
    const tags = (await (await app.request("/api/tags")).json()) as { models: { name: string }[] };
    expect(tags.models.map(({ name }) => name)).toEqual(["tiny", "big:latest", "tiny:red"]);
    const ps = (await (await app.request("/api/ps")).json()) as {
      models: { name: string; expires_at: string }[];
    };
    expect(ps.models.map(({ name }) => name)).toEqual(["tiny", "big:latest"]);
    expect(Date.parse(ps.models[0]?.expires_at ?? "") - Date.now()).toBeWithin(50_000, 60_001);
    const shown = await app.post("/api/show", { name: "red:latest" });
    expect(await shown.json()).toMatchObject({ details: { parent_model: "tiny" } });
    expect(await (await app.request("/api/version")).json()).toEqual({
      version: "0.13.5",
      svc_version: VERSION,
    });
  });

  test("are loaded and unloaded by requests that ask for nothing", async () => {
    const { control, told } = noted();
    const app = testApp(undefined, { models: () => MODELS, control });
    const loaded = await app.post("/api/generate", { model: "red", keep_alive: "5m", stream: false });
    expect(await loaded.json()).toMatchObject({ response: "", done: true, done_reason: "load" });
    const unloaded = await app.post("/api/chat", { model: "red", keep_alive: 0 });
    expect(parseLines(await unloaded.text()).map(({ data }) => JSON.parse(data))).toMatchObject([
      { message: { role: "assistant", content: "" }, done: true, done_reason: "unload" },
    ]);
    expect(told).toEqual([
      ["load", "tiny"],
      ["keep", "tiny", 300_000],
      ["unload", "tiny"],
    ]);
  });

  test("stay as long as a request says, once it holds them", async () => {
    const { control, told } = noted();
    const app = testApp(playing(answer("Hi")).generate, { models: () => MODELS, control });
    await app.post("/api/chat", { ...CHAT, keep_alive: -1, stream: false });
    await app.post("/api/embed", { model: "tiny", input: "a", keep_alive: "10s" });
    await app.post("/api/chat", { ...CHAT, stream: false });
    expect(told).toEqual([
      ["keep", "tiny", Infinity],
      ["load", "tiny"],
      ["keep", "tiny", 10_000],
      ["keep", "tiny", undefined],
    ]);
  });
});

describe("embeddings", () => {
  test("of several texts, of one, and of none", async () => {
    const app = testApp();
    const many = await app.post("/api/embed", { model: "tiny", input: ["a", "bcd"], dimensions: 1 });
    expect(await many.json()).toMatchObject({ model: "tiny", embeddings: [[0], [1]], prompt_eval_count: 4 });
    const one = await app.post("/api/embeddings", { model: "tiny", prompt: "abc" });
    expect(await one.json()).toEqual({ embedding: [0, 3] });
    expect(await (await app.post("/api/embeddings", { model: "tiny" })).json()).toEqual({ embedding: [] });
  });

  test("of a model that gives none are refused with a text", async () => {
    const app = testApp(undefined, {
      embed: () => {
        throw new ServiceError("unsupported_capability", "no embeddings", { param: "model" });
      },
    });
    const response = await app.post("/api/embed", { model: "tiny", input: "a" });
    expect([response.status, await response.json()]).toEqual([400, { error: "no embeddings" }]);
  });
});
