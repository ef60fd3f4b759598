// Which model is loaded, and which ones leave for it: by bytes of each device, by number, by recency.

import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { ServiceError } from "../../src/core/error.ts";
import { EngineClient } from "../../src/engine/client.ts";
import { ManagedModel } from "../../src/engine/managed-model.ts";
import { Models } from "../../src/engine/models.ts";
import {
  type Claim,
  type Holder,
  HOST,
  NoRoom,
  Places,
  type PlacesOptions,
  sumOf,
} from "../../src/engine/places.ts";
import { TEXT_REQUEST } from "../helpers/text-options.ts";
import { failure } from "../helpers/failure.ts";
import { fakeEngines } from "../helpers/fake-engine.ts";
import { turns } from "../helpers/turns.ts";
import { until } from "../helpers/until.ts";

const NEVER = new AbortController().signal;

/** A holder that leaves as soon as it is asked and idle. */
class Model implements Holder {
  isBusy = false;
  isPinned = false;
  privateBytes = 0;
  isEvicted = false;
  evictedFor: string | undefined;
  usedAt: number;
  private readonly places: Places;
  private readonly claim: Claim;

  constructor(places: Places, claim: Claim | number, usedAt = 0) {
    this.places = places;
    this.claim = typeof claim === "number" ? new Map([[HOST, claim]]) : claim;
    this.usedAt = usedAt;
  }

  evict(reason: string): void {
    this.isEvicted = true;
    this.evictedFor = reason;
    if (!this.isBusy) queueMicrotask(() => this.places.release(this));
  }

  take(mayEvict = true, signal = NEVER): Promise<number> {
    this.isEvicted = false;
    return this.places.take(this, { claim: () => this.claim, mayEvict: () => mayEvict }, signal);
  }

  async load(mayEvict = true): Promise<number> {
    const left = await this.take(mayEvict);
    this.places.loaded(this, this.claim);
    return left;
  }
}

function of(bytes: number, options: PlacesOptions = {}): Places {
  return new Places({ capacity: () => bytes, ...options });
}

describe("eviction", () => {
  test("unloads the longest unused models, and no more of them than the bytes need", async () => {
    const places = of(10);
    const small = new Model(places, 1, 1);
    const medium = new Model(places, 4, 2);
    const large = new Model(places, 5, 3);
    for (const model of [small, medium, large]) await model.load();
    expect(await new Model(places, 4, 4).load()).toBe(4);
    // The small one was unused for longest, but unloading it as well would have been in vain.
    expect([small, medium, large].map(({ isEvicted }) => isEvicted)).toEqual([false, true, false]);
  });

  test("says whether bytes or the number of models were the reason", async () => {
    const places = of(10, { max: 2 });
    const [first, second, third] = [
      new Model(places, 4, 1),
      new Model(places, 4, 2),
      new Model(places, 1, 3),
    ];
    for (const model of [first, second, third]) await model.load();
    expect([first.evictedFor, second.evictedFor]).toEqual(["count", undefined]);
    places.release(third);
    await new Model(places, 8, 4).load();
    expect(second.evictedFor).toBe("memory");
  });

  test("happens for a waiting model as soon as another one is no longer pinned", async () => {
    const places = of(10, { max: 1 });
    const [busy, next] = [new Model(places, 1), new Model(places, 1)];
    await busy.take();
    busy.isPinned = true;
    const loading = next.load();
    busy.isPinned = false;
    places.loaded(busy, new Map([[HOST, 1]]));
    await loading;
    expect(busy.evictedFor).toBe("count");
  });

  test("leaves pinned models alone, and prefers idle ones to busy ones", async () => {
    const places = of(3);
    const [pinned, busy, idle] = [new Model(places, 1, 1), new Model(places, 1, 2), new Model(places, 1, 3)];
    for (const model of [pinned, busy, idle]) await model.load();
    pinned.isPinned = true;
    busy.isBusy = true;
    await new Model(places, 1, 4).load();
    expect([pinned, busy, idle].map(({ isEvicted }) => isEvicted)).toEqual([false, false, true]);
  });

  test("waits for a busy model where no idle one is enough", async () => {
    const places = of(2);
    const busy = new Model(places, 2);
    await busy.load();
    busy.isBusy = true;
    let isLoaded = false;
    const loading = new Model(places, 1).load().then(() => (isLoaded = true));
    await turns();
    expect([busy.isEvicted, isLoaded]).toEqual([true, false]);
    places.release(busy);
    await loading;
  });

  test("concerns models on the device that is short", async () => {
    const places = new Places({ capacity: (device) => (device === "cards" ? 4 : 100) });
    const onHost = new Model(places, 60, 1);
    const onCards = new Model(places, new Map([["cards", 3]]), 2);
    await onHost.load();
    await onCards.load();
    await new Model(places, new Map([["cards", 2]]), 3).load();
    expect([onHost.isEvicted, onCards.isEvicted]).toEqual([false, true]);
  });

  test("concerns models on the card that is short, not those on another one", async () => {
    const places = new Places({ capacity: () => 10 });
    const [first, second, both] = [
      new Model(places, new Map([["CUDA0", 6]]), 1),
      new Model(places, new Map([["CUDA1", 6]]), 2),
      new Model(
        places,
        new Map([
          ["CUDA0", 4],
          ["CUDA1", 4],
        ]),
        3,
      ),
    ];
    for (const model of [first, second, both]) await model.load();
    await new Model(places, new Map([["CUDA1", 6]]), 4).load();
    expect([first, second, both].map(({ isEvicted }) => isEvicted)).toEqual([false, true, false]);
  });

  test("asks a waiting model again what it takes: by then the cards are known", async () => {
    const places = new Places({ capacity: (device) => (device === "CUDA0" ? 4 : 100) });
    const first = new Model(places, 1, 1);
    await first.take();
    let claim: Claim = new Map([[HOST, 1]]);
    const late = new Model(places, 0, 2);
    const taking = places.take(late, { claim: () => claim, mayEvict: () => false }, NEVER);
    claim = new Map([
      [HOST, 1],
      ["CUDA0", 3],
    ]);
    places.loaded(
      first,
      new Map([
        [HOST, 1],
        ["CUDA0", 3],
      ]),
    );
    expect(await taking.catch((error: unknown) => error)).toBeInstanceOf(NoRoom);
  });

  test("is not worth it for a model that is too large for any: it is told what is left", async () => {
    const places = of(10);
    const pinned = new Model(places, 4);
    const other = new Model(places, 2);
    pinned.isPinned = true;
    await pinned.load();
    await other.load();
    expect(await new Model(places, 8).take()).toBe(4);
    expect(other.isEvicted).toBe(false);
  });

  test("does not happen for a preload", async () => {
    const places = of(10);
    const first = new Model(places, 8);
    await first.load(false);
    expect(await new Model(places, 8).take(false).catch((error: unknown) => error)).toBeInstanceOf(NoRoom);
    await new Model(places, 2).load(false);
    expect(first.isEvicted).toBe(false);
  });

  test("counts what a loaded model really takes", async () => {
    const places = of(10);
    const grown = new Model(places, 2);
    await grown.take();
    places.loaded(grown, new Map([[HOST, 9]]));
    expect(sumOf(places.claimOf(grown))).toBe(9);
    await new Model(places, 2).load();
    expect(grown.isEvicted).toBe(true);
  });

  test("cannot make a place where all are pinned", async () => {
    const places = new Places({ max: 1 });
    const pinned = new Model(places, 1);
    pinned.isPinned = true;
    await pinned.load();
    expect(await failure(new Model(places, 1).take())).toContain("--max-loaded-models");
  });
});

describe("loads", () => {
  test("come one at a time on a device, in order; another device does not wait", async () => {
    const places = new Places();
    const order: string[] = [];
    const [a, b] = [new Model(places, 1), new Model(places, 1)];
    const c = new Model(places, new Map([["cards", 1]]));
    const taking = [a, b, c].map((model, i) => model.take().then(() => order.push("abc"[i] ?? "")));
    await until("a and c load", () => order.length === 2);
    await turns();
    expect(order).toEqual(["a", "c"]);
    places.loaded(a, new Map([[HOST, 1]]));
    await Promise.all(taking);
    expect(order).toEqual(["a", "c", "b"]);
  });

  test("that come later take nothing that an earlier one waits for", async () => {
    const places = of(10);
    const busy = new Model(places, 5);
    await busy.load();
    busy.isBusy = true;
    const order: string[] = [];
    const large = new Model(places, 8).load().then(() => order.push("large"));
    const tiny = new Model(places, 2).load().then(() => order.push("tiny"));
    const small = new Model(places, 3).load().then(() => order.push("small")); // fits now, but not beside the large one
    await tiny;
    expect(order).toEqual(["tiny"]);
    places.release(busy);
    await Promise.all([large, small]);
    expect(order).toEqual(["tiny", "large", "small"]);
  });

  test("that nobody waits for any more leave the queue", async () => {
    const places = of(1);
    const first = new Model(places, 1);
    await first.take();
    const abort = new AbortController();
    const gone = new Model(places, 1).take(true, abort.signal).catch((error: unknown) => error);
    abort.abort("gone");
    expect(await gone).toBe("gone");
    places.loaded(first, new Map([[HOST, 1]]));
    await new Model(places, 1).load();
  });
});

describe("200 requests over five models that do not fit together", () => {
  const BYTES: Readonly<Record<string, number>> = { a: 6, b: 5, c: 4, d: 3, e: 2 };
  const CAPACITY = 10;

  /** The models on fake engines, and the order of their loads with the bytes that were taken then. */
  function fleet(options: PlacesOptions = {}) {
    const loads: string[] = [];
    const evictions: string[] = [];
    const places = of(CAPACITY, options);
    const models = Object.entries(BYTES).map(([id, bytes]) => {
      const engines = fakeEngines();
      const claim: Claim = new Map([[HOST, bytes]]);
      const model: ManagedModel = new ManagedModel({
        prepare: async () => ({
          kind: "speech",
          cacheDir: "",
          verbosity: 0,
          voice: { type: "flite", name: id },
        }),
        claimsOf: () => () => claim,
        checkMemory: (_, freeBytes = 0) => {
          if (bytes > freeBytes) throw new ServiceError("model_unavailable", "too large");
        },
        startEngine: (options) => {
          const held = all.map(({ memory }) => sumOf(memory) ?? 0);
          expect(held.reduce((sum, taken) => sum + taken, 0)).toBeLessThanOrEqual(CAPACITY);
          loads.push(id);
          return new EngineClient({
            name: id,
            options,
            openLink: engines.openLink,
            queueMax: 300,
            log: () => {},
          });
        },
        places,
        queueMax: 300,
        log: () => evictions.push(id),
      });
      return { id, model, engines };
    });
    const all = models.map(({ model }) => model);
    return { models, loads, evictions, places };
  }

  test("none is lost, each model is loaded in its turn, and the bytes are never exceeded", async () => {
    const { models, loads, evictions } = fleet();
    const done = new AbortController();
    let answered = 0;
    // The engines load and answer in rounds, so that requests arrive while models load, answer and leave.
    const working = (async () => {
      while (!done.signal.aborted) {
        for (const { engines } of models) {
          const engine = engines.started.at(-1);
          if (engine === undefined || engine.hasEnded) continue;
          engine.becomeReady();
          for (const id of engine.runs.slice()) engine.finish(id);
        }
        await turns();
      }
    })();
    const clients = Array.from({ length: 20 }, async (_, client) => {
      for (let i = 0; i < 10; i++) {
        const { model } = models[(client * 7 + i * 3) % models.length] ?? { model: undefined };
        let last: string | undefined;
        for await (const event of model?.generate(TEXT_REQUEST, NEVER, SERVER) ?? []) last = event.type;
        expect(last).toBe("finish");
        answered++;
      }
    });
    await Promise.all(clients);
    done.abort();
    await working;
    console.log(`load order: ${loads.join(" ")}; unloaded for another: ${evictions.join(" ")}`);
    expect(answered).toBe(200);
    expect(new Set(loads).size).toBe(5);
    expect(evictions.length).toBeGreaterThan(0);
    for (const { engines } of models) expect(engines.alive()).toBeLessThan(2);
  });

  test("what a preload leaves out is loaded by its first request", async () => {
    const { models, places } = fleet();
    const log: string[] = [];
    const served = models.map(({ id, model }) => ({ id, kind: "text" as const, model }));
    const registry = new Models(served, { places, log: (line) => void log.push(line) });
    const loading = registry.loadAll();
    const ready = async (): Promise<void> => {
      for (const { engines } of models) engines.started.at(-1)?.becomeReady();
      await turns();
    };
    await until("all have been tried", async () => {
      await ready();
      return models.filter(({ model }) => model.status === "reloading").length === 0;
    });
    await loading;
    expect(models.filter(({ model }) => model.status === "loaded").map(({ id }) => id)).toEqual(["a", "c"]);
    expect(log).toEqual(
      ["b", "d", "e"].map((id) => `${id}: not loaded yet: the other models take the memory`),
    );
    const asked = models[1]?.model.load();
    await until("b is loaded", async () => {
      await ready();
      return models[1]?.model.status === "loaded";
    });
    await asked;
  });

  test("a preload that is unloaded at once for a waiting request has succeeded", async () => {
    const { models, places, evictions } = fleet({ max: 1 });
    const [first, second] = models;
    if (first === undefined || second === undefined) throw new Error("the fleet is too small");
    const preloaded = first.model.load({ isPreload: true });
    await until("the first model loads", () => first.engines.started.length > 0);
    const asked = second.model.load(); // waits for the first one's place
    await turns();
    first.engines.started.at(-1)?.becomeReady();
    expect(await preloaded).toBeDefined();
    await until("the second model loads", () => second.engines.started.length > 0);
    second.engines.started.at(-1)?.becomeReady();
    await asked;
    expect(evictions).toEqual([first.id]);
    expect(places.claimOf(first.model)).toBeUndefined();
  });
});
