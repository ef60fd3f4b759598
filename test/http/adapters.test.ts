import { describe, expect, test } from "bun:test";
import { AdaptedModels } from "../../src/lora/adapted-models.ts";
import { AdapterRegistry } from "../../src/lora/registry.ts";
import { testApp } from "../helpers/app.ts";
import { modelInfo } from "../helpers/model-info.ts";

/** An application whose model "tiny" has adapters; sources are generations. */
function appWithAdapters(isMutable = true) {
  const registry = new AdapterRegistry({
    limits: { adaptersMax: 2, rankMax: 8, bytesMax: 1000 },
    prepare: async (source) => ({ generation: `lora_${source.length}`, file: source, rank: 4, bytes: 100 }),
    host: { loadAdapter: async () => {}, freeAdapter: () => {} },
  });
  const base = ["tiny", "plain"].map((id) => modelInfo(id));
  const adapters = new AdaptedModels({
    models: () => base,
    resolve: (name) => ({
      id: name === "default" ? "tiny" : name,
      generate: async function* () {},
      facts: () => undefined,
      loadFacts: () => Promise.reject(new Error("not needed here")),
    }),
    registries: new Map([["tiny", registry]]),
    isMutable,
  });
  const app = testApp(undefined, { adapters, models: () => adapters.cards() });
  const load = (body: object) => app.post("/v1/load_lora_adapter", body);
  return { ...app, adapters, load };
}

describe("loading, listing, unloading", () => {
  test("an adapter comes, is replaced and goes", async () => {
    const { load, request, post } = appWithAdapters();
    const entry = {
      id: "red",
      object: "lora_adapter",
      generation: "lora_3",
      rank: 4,
      bytes: 100,
      source: "one",
    };
    const loaded = await load({ lora_name: "red", lora_path: "one" });
    expect(await loaded.json()).toEqual(entry);
    expect((await load({ lora_name: "red", lora_path: "three" })).status).toBe(409);
    const replaced = await load({ lora_name: "red", lora_path: "three", load_inplace: true });
    expect(await replaced.json()).toMatchObject({ generation: "lora_5" });
    expect(await (await request("/v1/lora_adapters?model=tiny")).json()).toEqual({
      object: "list",
      data: [{ ...entry, generation: "lora_5", source: "three" }],
      generations: [
        { generation: "lora_5", aliases: ["red"], rank: 4, bytes: 100, retired: false, active_leases: 0 },
      ],
      resident_generations: 1,
      retired_generations: 0,
      resident_bytes: 100,
      max_adapters: 2,
      max_rank: 8,
      max_bytes: 1000,
    });
    const gone = await post("/v1/unload_lora_adapter", { lora_name: "red", lora_int_id: 7 });
    expect(await gone.json()).toMatchObject({ id: "red" });
    expect(await (await request("/v1/lora_adapters")).json()).toMatchObject({ data: [], generations: [] });
  });

  test("cards show adapters beside their model", async () => {
    const { load, request } = appWithAdapters();
    await load({ lora_name: "red", lora_path: "one" });
    const { data } = (await (await request("/v1/models")).json()) as { data: object[] };
    expect(data[1]).toMatchObject({
      id: "tiny:red",
      parent: "tiny",
      root: "red",
      adapter_generation: "lora_3",
    });
  });
});

describe("refused", () => {
  test.each<[object, number, string]>([
    [{ lora_path: "x" }, 400, "missing_field"],
    [{ lora_name: "a", lora_path: 5 }, 400, "invalid_request"],
    [{ lora_name: "", lora_path: "x" }, 400, "invalid_request"],
    [{ lora_name: "a", lora_path: "x", expected_generation: "g" }, 409, "generation_mismatch"],
    [{ lora_name: "a", lora_path: "x", model: "plain" }, 409, "lora_runtime_unavailable"],
  ])("%j", async (body, status, code) => {
    const response = await appWithAdapters().load(body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  test("a model without a runtime has no list, and unknown aliases are not unloaded", async () => {
    const { request, post } = appWithAdapters();
    expect((await request("/v1/lora_adapters?model=plain")).status).toBe(409);
    expect((await post("/v1/unload_lora_adapter", { lora_name: "none" })).status).toBe(404);
    const large = await post("/v1/unload_lora_adapter", { lora_name: "none", padding: "x".repeat(70_000) });
    expect(large.status).toBe(413);
  });

  test("without permission nothing can be changed, and no source is told", async () => {
    const { adapters, request, post } = appWithAdapters(false);
    await adapters.load("tiny", { alias: "red", source: "/secret/red", inPlace: false });
    expect((await post("/v1/load_lora_adapter", { lora_name: "a", lora_path: "x" })).status).toBe(404);
    expect(await (await request("/v1/lora_adapters")).text()).not.toContain("secret");
  });
});
