import { describe, expect, test } from "bun:test";
import type { Converse, TargetedConversation } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { type ErrorCode, ServiceError } from "../../src/core/error.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { AdaptedModels } from "../../src/lora/adapted-models.ts";
import { AdapterRegistry } from "../../src/lora/registry.ts";
import { asking } from "../helpers/agent.ts";
import { chatRequest } from "../helpers/engine-run.ts";
import { modelInfo } from "../helpers/model-info.ts";
import { ACCEPTED, FINISH } from "../helpers/run-events.ts";

const registry = () =>
  new AdapterRegistry({
    limits: { adaptersMax: 9, rankMax: 9, bytesMax: 999 },
    prepare: async (source) => ({ generation: source, file: source, rank: 1, bytes: 1 }),
    host: { loadAdapter: async () => {}, freeAdapter: () => {} },
  });

/** Two models with adapters and one without. */
function world(ids: readonly [string, string, string] = ["one", "two", "plain"]) {
  const [one, two, plain] = ids;
  const ran: [model: string, adapter: number][] = [];
  const first = registry();
  const second = registry();
  const models = new AdaptedModels({
    models: () => [one, two, plain].map((id) => modelInfo(id)),
    resolve: (name) => {
      const id = name === "default" ? one : name;
      if (!ids.includes(id)) throw new ServiceError("model_not_found", "no such model", { param: "model" });
      return {
        id,
        generate: async function* (_request, _signal, _caller, adapter) {
          ran.push([id, adapter]);
          yield ACCEPTED;
          yield FINISH;
        },
        facts: () => undefined,
        loadFacts: () => Promise.reject(new Error("not needed here")),
      };
    },
    registries: new Map([
      [one, first],
      [two, second],
    ]),
    isMutable: true,
  });
  const load = (model: string, alias: string, source = alias) =>
    models.load(model, { alias, source, inPlace: false });
  const run = async (fields: Partial<RunRequest>): Promise<RunEvent[]> => {
    const request = { ...chatRequest("Hi"), ...fields };
    return Array.fromAsync(models.generate(request, new AbortController().signal, SERVER));
  };
  const refusal = async (fields: Partial<RunRequest>): Promise<ErrorCode> => {
    try {
      await run(fields);
    } catch (error) {
      if (error instanceof ServiceError) return error.code;
      throw error;
    }
    throw new Error("it was not refused");
  };
  return { models, first, ran, load, run, refusal };
}

describe("names in requests", () => {
  test("the base model, an alias, a generation, a card or a short name", async () => {
    const { ran, load, run } = world();
    await load("one", "red", "g1");
    await load("two", "blue", "g2");
    expect(await run({})).toEqual([ACCEPTED, FINISH]);
    for (const fields of [
      { adapter: { alias: "red" } },
      { adapter: { generation: "g1" } },
      { model: "one:red" },
      { model: "red" },
    ]) {
      const [first]: readonly object[] = await run(fields);
      expect(first).toEqual({ ...ACCEPTED, adapterGeneration: "g1" });
    }
    expect((await run({ model: "blue" }))[0]).toMatchObject({ adapterGeneration: "g2" });
    expect(ran.map(([model]) => model)).toEqual(["one", "one", "one", "one", "one", "two"]);
    expect(ran[0]?.[1]).toBe(0);
  });

  test("unknown and ambiguous names are rejected", async () => {
    const { load, refusal } = world();
    await load("one", "red");
    await load("two", "red");
    expect(await refusal({ model: "red" })).toBe("model_not_found"); // two models have it
    expect(await refusal({ model: "green" })).toBe("model_not_found");
    expect(await refusal({ model: "one:red", adapter: { alias: "red" } })).toBe("contradictory_fields");
    expect(await refusal({ adapter: { alias: "green" } })).toBe("adapter_not_found");
    expect(await refusal({ adapter: { generation: "g" } })).toBe("adapter_not_found");
    expect(await refusal({ model: "plain", adapter: { alias: "red" } })).toBe("lora_runtime_unavailable");
  });

  test("a lease ends with its run, even if the run is not read to its end", async () => {
    const { models, first, load } = world();
    await load("one", "red");
    const events = models.generate(
      { ...chatRequest("Hi"), model: "red" },
      new AbortController().signal,
      SERVER,
    );
    for await (const event of events) {
      expect(event.type).toBe("accepted");
      expect(first.records()[0]?.activeLeases).toBe(1);
      break;
    }
    expect(first.records()[0]?.activeLeases).toBe(0);
  });
});

describe("an answer of several runs", () => {
  const asked = (model = "default") => asking({}, { model });
  const signal = new AbortController().signal;

  test("keeps its generation when its alias is moved", async () => {
    const { models, first, ran, load } = world();
    await load("one", "red", "g1");
    const twice: Converse<TargetedConversation> = async function* ({ target }, signal) {
      for (let pass = 0; pass < 2; pass++) {
        yield* target.generate(chatRequest("Hi"), signal, SERVER);
        await models.load("one", { alias: "red", source: `g${pass + 2}`, inPlace: true });
      }
    };
    const [accepted] = await Array.fromAsync(models.withTarget(twice)(asked("red"), signal, SERVER));
    expect(accepted).toMatchObject({ type: "accepted", adapterGeneration: "g1" });
    expect(new Set(ran.map(([, adapter]) => adapter)).size).toBe(1);
    expect(ran).toHaveLength(2);
    expect(first.records().every(({ activeLeases }) => activeLeases === 0)).toBe(true);
  });

  test("gets the resolved model, and is rejected immediately for an unknown name", async () => {
    const { models } = world();
    const told: string[] = [];
    const noting: Converse<TargetedConversation> = async function* ({ run }) {
      told.push(run.model);
      yield FINISH;
    };
    await Array.fromAsync(models.withTarget(noting)(asked(), signal, SERVER));
    expect(told).toEqual(["one"]);
    expect(() => models.withTarget(noting)(asked("green"), signal, SERVER)).toThrow("no such model");
  });
});

describe("cards", () => {
  test("an adapter has a card with an escaped, unique id", async () => {
    const { models, load } = world(["one", "one:red", "plain"]);
    await load("one", "red", "g1");
    await load("one", "a/b:c d");
    const cards = models.cards();
    expect(cards.map(({ id }) => id)).toEqual(["one", "one:red~2", "one:a%2Fb%3Ac%20d", "one:red", "plain"]);
    expect(cards[1]).toMatchObject({ parent: "one", root: "red", adapterGeneration: "g1", status: "loaded" });
    await load("one:red", "!~*'()");
    const escaped = models.cards().find(({ root }) => root === "!~*'()")?.id;
    expect(escaped).toMatch(/^one:red:[A-Za-z0-9._%-]+$/);
  });
});
