// One card at a time, by any name a request may use; and the names that settings add.

import { describe, expect, test } from "bun:test";
import { modelAliases } from "../../src/http/model-alias.ts";
import type { ModelInfo } from "../../src/core/model-info.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";
import { modelInfo } from "../helpers/model-info.ts";
import { answer, playing } from "../helpers/run-events.ts";

const BASE = modelInfo("org/base-GGUF", {
  root: "org/base-GGUF",
  modalities: ["image"],
  contextTokens: 4096,
  abilities: { generates: true, embeds: false, ranks: false, fillsGaps: false, thinks: true },
});
const RED: ModelInfo = {
  ...BASE,
  id: "org/base-GGUF:a%2Fb",
  parent: BASE.id,
  root: "a/b",
  adapterGeneration: "g1",
};
/** A base model. */
const PLAIN: ModelInfo = {
  ...BASE,
  id: "plain",
  root: "org/plain-GGUF",
  abilities: { generates: true, embeds: false, ranks: false, fillsGaps: false, thinks: false, isBase: true },
  file: async () => ({
    architecture: "llama",
    license: undefined,
    quantization: "Q8_0",
    contextTokens: 4096,
    parameters: 7,
    chatTemplate: "none",
    sizeBytes: 8,
    memoryBytes: 9,
  }),
};
const NEW = modelInfo("new", { status: "unloaded" });
const MODELS = [BASE, RED, PLAIN, NEW];

const ALIASES = modelAliases([
  { name: "gpt-4o", model: "new" },
  { name: "claude-*", model: "default" },
  { name: "claude-haiku-?", model: "new" },
  { name: "new", model: "org/base-GGUF" },
  { name: "main", model: "default" },
]);

function app() {
  const metrics = new Metrics();
  const { generate, requests } = playing(answer("Hi"));
  const served = testApp(generate, { models: () => MODELS, aliases: ALIASES, metrics });
  const card = async (name: string) => {
    const response = await served.request(`/v1/models/${name}`);
    return { status: response.status, body: await response.json() };
  };
  return { ...served, metrics, requests, card };
}

describe("a card", () => {
  test.each([
    ["org/base-GGUF", "raw"],
    ["org%2Fbase-GGUF", "escaped"],
  ])("%s: slashes come %s", async (name) => {
    const { status, body } = await app().card(name);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: BASE.id, object: "model", context_length: 4096, max_model_len: 4096 });
    expect(body.capabilities).toEqual({
      tools: true,
      vision: true,
      audio: false,
      reasoning: true,
      embeddings: false,
    });
  });

  test.each(["org/base-GGUF:a%2Fb", "org%2Fbase-GGUF%3Aa%252Fb", "a/b"])(
    "of an adapter: %s",
    async (name) => {
      expect((await app().card(name)).body).toMatchObject({
        id: RED.id,
        parent: BASE.id,
        adapter_generation: "g1",
      });
    },
  );

  test("of a base model: no template, so no tools are promised", async () => {
    const { body } = await app().card("plain");
    expect(body).toMatchObject({ chat_template: "none", capabilities: { tools: false } });
  });

  test("says nothing of a model that was never loaded", async () => {
    const { body } = await app().card("new");
    expect(Object.keys(body)).not.toContain("context_length");
    expect(Object.keys(body)).not.toContain("capabilities");
  });

  test("of an alias is its model's; patterns have none", async () => {
    const { card } = app();
    expect((await card("gpt-4o")).body.id).toBe("new");
    expect((await card("main")).body.id).toBe(BASE.id);
    expect((await card("default")).body.id).toBe(BASE.id);
    expect((await card("claude-3")).status).toBe(404);
  });

  test("equals what the list holds", async () => {
    const { card, request } = app();
    const { data } = await (await request("/v1/models")).json();
    for (const each of data) expect((await card(encodeURIComponent(each.id))).body).toEqual(each);
    expect(data).toHaveLength(MODELS.length);
  });

  test("that does not exist, and paths of other methods", async () => {
    const { card, request } = app();
    const { status, body } = await card("nope");
    expect([status, body.error.code]).toEqual([404, "model_not_found"]);
    const wrong = await request("/v1/models/status");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    const deleted = await request("/v1/models/org/base-GGUF", { method: "DELETE" });
    expect([deleted.status, deleted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("is counted by its route, not by its name", async () => {
    const { card, metrics } = app();
    await card("org/base-GGUF");
    await card("new");
    expect(await metrics.text()).toContain('path="/v1/models/{id}",model="none",status="200"} 2');
  });
});

describe("an alias", () => {
  test.each([
    ["gpt-4o", "new"],
    ["claude-sonnet-4", "org/base-GGUF"],
    ["claude-haiku-4", "new"],
    ["new", "new"],
    ["a/b", "a/b"],
  ])("%s is answered by %s", async (sent, model) => {
    for (const [path, body] of [
      ["/v1/chat/completions", chatBody({ model: sent })],
      ["/v1/messages", messagesBody({ model: sent })],
      ["/v1/responses", responsesBody({ model: sent })],
    ] as const) {
      const { post, requests, metrics } = app();
      const response = await (await post(path, body)).json();
      expect(response.model).toBe(model);
      expect(requests[0]?.model === "default" ? "org/base-GGUF" : requests[0]?.model).toBe(model);
      const label = model === "a/b" ? RED.id : model;
      expect(await metrics.text()).toContain(`model="${label}",status="200"} 1`);
    }
  });

  test("is in no list", async () => {
    const { data } = await (await app().request("/v1/models")).json();
    expect(data.map(({ id }: { id: string }) => id)).toEqual(MODELS.map(({ id }) => id));
  });
});
