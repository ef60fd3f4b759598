// A model's life: what happens to requests while it comes and goes.

import { describe, expect, jest, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVER } from "../../src/core/caller.ts";
import { ServiceError } from "../../src/core/error.ts";
import { ENGINE_LOAD_DEATHS_MAX, ENGINE_RESTART_MS_MAX } from "../../src/engine/limits.ts";
import type { ModelKind } from "../../src/core/model-info.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { EngineClient } from "../../src/engine/client.ts";
import { ManagedModel } from "../../src/engine/managed-model.ts";
import type { ManagedModelDeps } from "../../src/engine/managed-model-deps.ts";
import { Models } from "../../src/engine/models.ts";
import type { ServedModel } from "../../src/engine/served-model.ts";
import { Places } from "../../src/engine/places.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { failure } from "../helpers/failure.ts";
import { type FakeEngines, fakeEngines, type FakeProcess } from "../helpers/fake-engine.ts";
import { TEXT_OPTIONS, TEXT_REQUEST } from "../helpers/text-options.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

const OPTIONS: TextOptions = { ...TEXT_OPTIONS, batch: 32, ubatch: 32 };

/** The engine becomes ready, and ends the one run that it gets. */
async function answer(engine: FakeProcess): Promise<void> {
  engine.becomeReady();
  await until("the run arrives", () => engine.runs.length === 1);
  engine.finish(engine.runs[0] ?? 0);
}

interface Setup {
  readonly model: ManagedModel;
  readonly engines: FakeEngines;
  readonly log: string[];
}

function setup(deps: Partial<ManagedModelDeps> = {}, isPrompt = false): Setup {
  const engines = fakeEngines(isPrompt);
  const log: string[] = [];
  const say = (line: string): void => void log.push(line);
  const model = new ManagedModel({
    prepare: async () => OPTIONS,
    checkMemory: () => {},
    startEngine: (options) =>
      new EngineClient({ name: "fake", options, openLink: engines.openLink, queueMax: 100, log: say }),
    places: new Places(),
    queueMax: 100,
    log: say,
    ...deps,
  });
  return { model, engines, log };
}

/** The last event of a request, or "aborted". */
async function ask(
  model: ManagedModel,
  signal = new AbortController().signal,
): Promise<RunEvent | "aborted"> {
  let last: RunEvent | "aborted" = "aborted";
  for await (const event of model.generate(TEXT_REQUEST, signal, SERVER)) last = event;
  return last;
}

/** The one engine process, once it has been started `count` times. */
function process(engines: FakeEngines, count = 1) {
  return until("an engine is started", () =>
    engines.started.length >= count ? engines.started[count - 1] : undefined,
  );
}

describe("loading", () => {
  test("a model is loaded by its first request, which waits for it", async () => {
    const { model, engines } = setup();
    expect([model.status, engines.started.length]).toEqual(["unloaded", 0]);
    const asked = ask(model);
    const engine = await process(engines);
    expect([model.status, model.activeRuns]).toEqual(["reloading", 1]);
    engine.becomeReady();
    await until("the run arrives", () => engine.runs.length === 1);
    expect(model.status).toBe("loaded");
    engine.finish(engine.runs[0] ?? 0);
    expect(await asked).toMatchObject({ type: "finish" });
    expect(model.activeRuns).toBe(0);
  });

  test("happens once for all waiting requests", async () => {
    const { model, engines } = setup({}, true);
    const answers = await Promise.all([model.load(), ...Array.from({ length: 20 }, () => ask(model))]);
    expect(answers).toHaveLength(21);
    expect(engines.started).toHaveLength(1);
  });

  test("happens again when a part of the file was written over, and at once when that mends a failed load", async () => {
    const folder = tempDir();
    const modelPath = join(folder, "model-00001-of-00002.gguf");
    const part = join(folder, "model-00002-of-00002.gguf");
    for (const path of [modelPath, part]) writeFileSync(path, "one");
    const { model, engines } = setup({ prepare: async () => ({ ...OPTIONS, modelPath }) });
    const first = ask(model);
    const engine = await process(engines);
    await answer(engine);
    expect(await first).toMatchObject({ type: "finish" });

    writeFileSync(part, "no model");
    const second = ask(model);
    (await process(engines, 2)).failToLoad("it is no model");
    expect(await second).toMatchObject({ type: "error", error: { code: "model_unavailable" } });

    writeFileSync(part, "a good one");
    const third = ask(model);
    const mended = await process(engines, 3);
    await answer(mended);
    expect(await third).toMatchObject({ type: "finish" });
  });

  test("a full queue rejects further requests", async () => {
    const { model, engines } = setup({ queueMax: 2 });
    const waiting = [ask(model), ask(model)];
    expect(await ask(model)).toMatchObject({ type: "error", error: { code: "queue_full" } });
    (await process(engines)).becomeReady();
    const engine = await process(engines);
    await until("both arrive", () => engine.runs.length === 2);
    while (engine.runs.length > 0) engine.finish(engine.runs[0] ?? 0);
    expect((await Promise.all(waiting)).map((event) => event !== "aborted" && event.type)).toEqual([
      "finish",
      "finish",
    ]);
  });

  test("a client that disconnects during the load gives up its place", async () => {
    const { model, engines } = setup();
    const abort = new AbortController();
    const asked = ask(model, abort.signal);
    const engine = await process(engines);
    abort.abort();
    expect(await asked).toBe("aborted");
    engine.becomeReady();
    await model.load();
    expect([engine.runs.length, model.activeRuns]).toEqual([0, 0]);
  });
});

describe("a failure to load", () => {
  test("is logged with its reason; requests get an error without it, and later ones retry", async () => {
    const { model, engines, log } = setup();
    const asked = ask(model);
    (await process(engines)).failToLoad("bad file /secret/model.gguf");
    const event = await asked;
    expect(event).toMatchObject({ type: "error", error: { code: "model_unavailable" } });
    expect(JSON.stringify(event)).not.toContain("secret");
    expect(log).toEqual(["loading it for a request", "could not be loaded: bad file /secret/model.gguf"]);
    expect([model.status, model.failedLoad !== undefined, engines.alive()]).toEqual(["unloaded", true, 0]);
    expect(await ask(model)).toMatchObject({ type: "error" }); // not again at once
    expect(engines.started).toHaveLength(1);
    const command = model.load(); // but a command is one
    (await process(engines, 2)).becomeReady();
    await command;
    expect([model.status, model.failedLoad !== undefined]).toEqual(["loaded", false]);
  });

  test.each<[string, Partial<ManagedModelDeps>]>([
    ["preparing", { prepare: () => Promise.reject(new Error("no such repository")) }],
    [
      "weighing",
      {
        checkMemory: () => {
          throw new ServiceError("model_unavailable", "no such repository");
        },
      },
    ],
  ])("while %s starts no engine; a command gets the reason", async (_what, deps) => {
    const { model, engines, log } = setup(deps);
    expect(await failure(model.load())).toBe("no such repository");
    expect([engines.started.length, log.length, model.status]).toEqual([0, 0, "unloaded"]);
  });
});

describe("replacing", () => {
  test("requests use the old engine until the new one is ready; the old one ends with its last request", async () => {
    const { model, engines } = setup();
    const early = ask(model);
    const old = await process(engines);
    old.becomeReady();
    await until("the run arrives", () => old.runs.length === 1);
    const replacing = model.replace();
    const fresh = await process(engines, 2);
    const meanwhile = ask(model);
    await until("it goes to the old one", () => old.runs.length === 2);
    fresh.becomeReady();
    await replacing;
    const late = ask(model);
    await until("it goes to the new one", () => fresh.runs.length === 1);
    expect([old.hasEnded, model.status]).toEqual([false, "loaded"]);
    while (old.runs.length > 0) old.finish(old.runs[0] ?? 0);
    expect([await early, await meanwhile]).toMatchObject([{ type: "finish" }, { type: "finish" }]);
    await until("the old one ends", () => old.hasEnded);
    fresh.finish(fresh.runs[0] ?? 0);
    expect(await late).toMatchObject({ type: "finish" });
    expect(engines.alive()).toBe(1);
  });

  test("a failed replacement changes nothing", async () => {
    const refuse = { now: false };
    const checkMemory = (): void => {
      if (refuse.now) throw new Error("too little memory");
    };
    const { model, engines } = setup({ checkMemory });
    const asked = ask(model);
    const old = await process(engines);
    old.becomeReady();
    await until("the run arrives", () => old.runs.length === 1);
    refuse.now = true;
    expect(model.replace()).rejects.toThrow("too little memory");
    refuse.now = false;
    const replacing = model.replace();
    (await process(engines, 2)).failToLoad("no");
    expect(replacing).rejects.toThrow("no");
    await until("the new one ends", () => engines.alive() === 1);
    old.finish(old.runs[0] ?? 0);
    expect(await asked).toMatchObject({ type: "finish" });
    expect([model.status, old.hasEnded]).toEqual(["loaded", false]);
  });

  test("a model that is unloaded or stopped during a replacement stays so", async () => {
    for (const leave of ["unload", "stop"] as const) {
      const { model, engines } = setup();
      const loading = model.load();
      (await process(engines)).becomeReady();
      await loading;
      const replacing = model.replace();
      const fresh = await process(engines, 2);
      const left = model[leave]();
      fresh.becomeReady();
      await Promise.all([replacing.catch(() => {}), left]);
      await until("none is left", () => engines.alive() === 0);
      expect(model.status).toBe("unloaded");
    }
  });

  test("under traffic loses no request", async () => {
    const { model, engines } = setup({}, true);
    await model.load();
    const asking = Array.from({ length: 8 }, async () => {
      for (let i = 0; i < 50; i++) expect(await ask(model)).toMatchObject({ type: "finish" });
    });
    for (let i = 0; i < 10; i++) await model.replace();
    await Promise.all(asking);
    await until("one is left", () => engines.alive() === 1);
    expect(engines.started).toHaveLength(11);
  });
});

describe("unloading", () => {
  test("waits for running requests; later ones get the next engine", async () => {
    const { model, engines } = setup();
    const running = ask(model);
    const first = await process(engines);
    first.becomeReady();
    await until("the run arrives", () => first.runs.length === 1);
    const unloading = model.unload();
    expect(model.status).toBe("loaded");
    const later = ask(model);
    expect(model.status).toBe("reloading");
    expect(first.hasEnded).toBe(false);
    first.finish(first.runs[0] ?? 0);
    expect(await running).toMatchObject({ type: "finish" });
    await unloading;
    expect(first.hasEnded).toBe(true);
    const second = await process(engines, 2);
    await answer(second);
    expect(await later).toMatchObject({ type: "finish" });
  });

  test("is idempotent", async () => {
    const { model, engines } = setup({}, true);
    await model.unload();
    await model.load();
    await Promise.all([model.unload(), model.unload()]);
    expect([model.status, engines.alive()]).toEqual(["unloaded", 0]);
  });

  test("aborts a load without waiting requests, including its download", async () => {
    const aborted: unknown[] = [];
    const { model, engines } = setup({
      prepare: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            aborted.push(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    const abort = new AbortController();
    const asked = ask(model, abort.signal);
    abort.abort();
    await asked;
    await model.unload();
    expect([aborted.length, engines.started.length, model.status, model.failedLoad !== undefined]).toEqual([
      1,
      0,
      "unloaded",
      false,
    ]);
  });

  test("under traffic loses no request and never runs two engines", async () => {
    const { model, engines } = setup({}, true);
    let most = 0;
    const asking = Array.from({ length: 8 }, async () => {
      for (let i = 0; i < 50; i++) {
        expect(await ask(model)).toMatchObject({ type: "finish" });
        most = Math.max(most, engines.alive());
      }
    });
    const commanding = (async () => {
      for (let i = 0; i < 20; i++) {
        await (i % 2 === 0 ? model.unload() : model.reload());
        await Promise.resolve();
      }
    })();
    await Promise.all([...asking, commanding]);
    expect(most).toBe(1);
    expect(engines.started.length).toBeGreaterThan(10);
  });

  test("happens after the idle timeout", async () => {
    const { model, engines, log } = setup({ idleMs: 30 }, true);
    expect(await ask(model)).toMatchObject({ type: "finish" });
    await until("it is unloaded", () => model.status === "unloaded");
    expect([engines.alive(), log]).toEqual([0, ["loading it for a request", "idle for 0.03 s; unloading"]]);
    expect(await ask(model)).toMatchObject({ type: "finish" });
    await model.stop();
  });

  test("does not happen to a pinned model, and does once it is no longer pinned", async () => {
    const evicted: string[] = [];
    const { model } = setup({ idleMs: 60_000, onEvicted: (reason) => evicted.push(reason) }, true);
    model.pin(true);
    await model.load();
    model.idle.set(1);
    expect([model.isPinned, model.idle.leftMs]).toEqual([true, undefined]);
    model.pin(false);
    expect(model.idle.leftMs).toBeGreaterThan(1000);
    model.idle.set(1);
    await until("it is unloaded", () => model.status === "unloaded");
    expect(evicted).toEqual(["idle"]);
    await model.stop();
  });
});

test("an endless chat template is a load failure with a reason", async () => {
  const engines = fakeEngines();
  const log: string[] = [];
  const say = (line: string): void => void log.push(line);
  const { model } = setup({
    startEngine: (options) =>
      new EngineClient({
        name: "fake",
        options,
        openLink: engines.openLink,
        queueMax: 1,
        log: say,
        templateMs: 20,
      }),
  });
  const loading = failure(model.load());
  (await process(engines)).tryTemplate();
  expect(await loading).toContain("it probably loops");
  expect(engines.alive()).toBe(0);
  const again = model.load();
  const second = await process(engines, 2);
  jest.useFakeTimers();
  try {
    second.tryTemplate();
    expect(jest.getTimerCount()).toBe(1);
    second.becomeReady();
    await again;
    expect(jest.getTimerCount()).toBe(0); // nothing is left that could end it
  } finally {
    jest.useRealTimers();
  }
  expect(model.status).toBe("loaded");
  await model.stop();
});

test("an engine that crashes is restarted: the model is reloading, and requests wait", async () => {
  const { model, engines } = setup();
  const loading = model.load();
  const first = await process(engines);
  first.becomeReady();
  await loading;
  first.die("SIGKILL");
  expect(model.status).toBe("reloading");
  const waiting = ask(model);
  const second = await process(engines, 2);
  expect(model.status).toBe("reloading");
  second.becomeReady();
  await until("the run arrives", () => second.runs.length === 1);
  expect(model.status).toBe("loaded");
  second.finish(second.runs[0] ?? 0);
  expect(await waiting).toMatchObject({ type: "finish" });
  await model.stop();
});

describe("an engine that crashes while loading", () => {
  const broken =
    "the engine process ended while loading (signal SIGABRT); the model's file is probably damaged or not supported; copy or download it again; earlier log lines may have details";

  test("is reported to a command with its probable cause", async () => {
    for (const [signal, message] of [
      ["SIGABRT", broken],
      ["SIGKILL", "(signal SIGKILL); it was killed, probably for lack of memory"],
    ] as const) {
      const { model, engines } = setup();
      const loading = failure(model.load());
      (await process(engines)).die(signal);
      expect(await loading).toContain(message);
      expect(engines.alive()).toBe(0);
      await model.stop();
    }
  });

  test("repeatedly is restarted only by a request", async () => {
    const { model, engines, log } = setup();
    const asked = ask(model);
    const first = await process(engines);
    first.becomeReady();
    await until("the run arrives", () => first.runs.length === 1);
    first.die("SIGSEGV");
    expect(await asked).toMatchObject({ type: "error", error: { code: "engine_failed" } });
    for (let deaths = 1; deaths <= ENGINE_LOAD_DEATHS_MAX; deaths++) {
      await until("the next one is started", () => engines.started.length === deaths + 1);
      engines.started.at(-1)?.die("SIGABRT");
    }
    expect(log.at(-1)).toBe(`${broken} The next request retries it.`);
    expect(await ask(model)).toMatchObject({ type: "error", error: { code: "model_unavailable" } });
    const now = performance.now.bind(performance);
    const clock = spyOn(performance, "now").mockImplementation(() => now() + 2 * ENGINE_RESTART_MS_MAX);
    const again = ask(model);
    await until("one more is started", () => engines.started.length === ENGINE_LOAD_DEATHS_MAX + 2);
    clock.mockRestore();
    const last = engines.started.at(-1);
    last?.becomeReady();
    await until("the run arrives", () => last?.runs.length === 1);
    last?.finish(last.runs[0] ?? 0);
    expect(await again).toMatchObject({ type: "finish" });
    await model.stop();
  });
});

describe("a hung engine", () => {
  test("is replaced; each of its runs gets one error, the next request an answer", async () => {
    const engines = fakeEngines();
    const log: string[] = [];
    let hangs = 0;
    const meter = {
      report: () => {},
      ended: () => {},
      hung: () => hangs++,
      evicted: () => {},
      saw: () => {},
    };
    const { model } = setup({
      startEngine: (options) =>
        new EngineClient({
          name: "fake",
          options,
          openLink: engines.openLink,
          queueMax: 100,
          log: (line) => log.push(line),
          timeoutMs: 3,
          meter,
        }),
    });
    const asked = [ask(model), ask(model)];
    const first = await process(engines);
    first.becomeReady();
    await until("the runs arrive", () => first.runs.length === 2);
    first.isDeaf = true;
    const failed = { type: "error", error: { code: "engine_failed" } };
    expect(await Promise.all(asked)).toMatchObject([failed, failed]);
    expect(hangs).toBe(1);
    expect(log[0]).toStartWith("the engine process hangs (no answer for");
    const next = ask(model);
    const second = await process(engines, 2);
    expect([first.hasEnded, engines.alive()]).toEqual([true, 1]);
    await answer(second);
    expect(await next).toMatchObject({ type: "finish" });
    await model.stop();
  });
});

describe("stopping", () => {
  test("ends running and waiting requests with an error", async () => {
    const { model, engines } = setup();
    const asked = ask(model);
    await process(engines);
    await model.stop();
    expect(await asked).toMatchObject({ type: "error", error: { code: "shutting_down" } });
    expect(await ask(model)).toMatchObject({ type: "error", error: { code: "shutting_down" } });
    expect(await failure(model.load())).toContain("stopped");
    expect(engines.alive()).toBe(0);
  });
});

describe("places", () => {
  test("with one place, the unused model is unloaded", async () => {
    const places = new Places({ max: 1 });
    const a = setup({ places }, true);
    const b = setup({ places }, true);
    expect(await ask(a.model)).toMatchObject({ type: "finish" });
    expect(await ask(b.model)).toMatchObject({ type: "finish" });
    expect([a.model.status, b.model.status]).toEqual(["unloaded", "loaded"]);
    expect(await ask(a.model)).toMatchObject({ type: "finish" });
    expect([a.model.status, b.model.status]).toEqual(["loaded", "unloaded"]);
  });

  test("the least recently used model is unloaded", async () => {
    const places = new Places({ max: 2 });
    const [a, b, c] = [setup({ places }, true), setup({ places }, true), setup({ places }, true)];
    for (const { model } of [a, b, a, c]) expect(await ask(model)).toMatchObject({ type: "finish" });
    expect([a, b, c].map(({ model }) => model.status)).toEqual(["loaded", "unloaded", "loaded"]);
  });

  test("traffic on more models than places is answered completely", async () => {
    const places = new Places({ max: 2 });
    const models = Array.from({ length: 5 }, () => setup({ places }, true));
    let most = 0;
    const asking = models.flatMap(({ model }) =>
      Array.from({ length: 4 }, async () => {
        for (let i = 0; i < 20; i++) {
          expect(await ask(model)).toMatchObject({ type: "finish" });
          most = Math.max(
            most,
            models.reduce((sum, { engines }) => sum + engines.alive(), 0),
          );
        }
      }),
    );
    await Promise.all(asking);
    expect(most).toBe(2);
  });

  test("a failed load releases its place", async () => {
    const places = new Places({ max: 1 });
    const a = setup({ places });
    const b = setup({ places }, true);
    const asked = ask(a.model);
    const waiting = ask(b.model);
    (await process(a.engines)).failToLoad("no");
    expect(await asked).toMatchObject({ type: "error" });
    expect(await waiting).toMatchObject({ type: "finish" });
  });
});

describe("models by name", () => {
  function two() {
    const log: string[] = [];
    const a = setup({}, true);
    const b = setup({ prepare: () => Promise.reject(new Error("/secret is gone")) });
    const served: ServedModel[] = [
      { id: "a", kind: "text", model: a.model },
      { id: "b", kind: "text", root: "acme/b", model: b.model },
    ];
    const options = { defaultId: "b", places: new Places(), log: (line: string) => void log.push(line) };
    return { models: new Models(served, options), log };
  }

  test("the default model comes first; a repository is a name too", () => {
    const { models } = two();
    expect(models.list().map(({ id, root }) => [id, root])).toEqual([
      ["b", "acme/b"],
      ["a", undefined],
    ]);
    expect(["default", "b", "acme/b", "a"].map((name) => models.resolve(name).id)).toEqual([
      "b",
      "b",
      "b",
      "a",
    ]);
    expect(() => models.resolve("c")).toThrow('no model is named "c"; served models: b, a');
  });

  test("a model that cannot be loaded does not stop the start of the others; alone it does", async () => {
    const { models, log } = two();
    expect(await models.loadAll()).toEqual([{ id: "b", reason: "/secret is gone" }]);
    expect(log).toEqual(["b: could not be loaded: /secret is gone"]);
    const cards = models.list().map(({ id, status, error }) => [id, status, error?.includes("secret")]);
    expect(cards).toEqual([
      ["b", "unloaded", false],
      ["a", "loaded", undefined],
    ]);
    const { model } = setup({ prepare: () => Promise.reject(new Error("it is gone")) });
    const voice = { id: "v", kind: "speech", model: setup().model, isLazy: true } as const;
    const served = [{ id: "c", kind: "text", model } as const, voice];
    const alone = new Models(served, { places: new Places(), log: () => {} });
    expect(await failure(alone.loadAll())).toBe("c: it is gone");
  });

  test("commands answer with the status; the reason of a failure is in the log only", async () => {
    const { models, log } = two();
    const isPinned = false;
    expect(models.status("a")).toEqual({ id: "a", status: "unloaded", isPinned });
    expect(await models.reload("a")).toEqual({ id: "a", status: "loaded", isPinned });
    expect(models.pin("a", true)).toEqual({ id: "a", status: "loaded", isPinned: true });
    models.pin("a", false);
    expect(await models.unload("a")).toEqual({ id: "a", status: "unloaded", isPinned });
    const message = await failure(models.reload("default"));
    expect(message).toBe("the model could not be loaded; the server's log says why; it is tried again");
    expect(models.status("acme/b")).toEqual({ id: "b", status: "unloaded", error: message, isPinned });
    expect(log).toEqual(["b: could not be loaded: /secret is gone"]);
    expect(await failure(models.unload("zzz"))).toContain('no model is named "zzz"');
  });
});

describe("models of several kinds", () => {
  const log = (): void => {};
  const served = (kinds: readonly ModelKind[]) =>
    kinds.map((kind) => ({ id: `my-${kind}`, kind, ...setup() }));

  function modelsOf(all: readonly ServedModel[], defaultId?: string): Models {
    return new Models(all, { defaultId, places: new Places(), log });
  }

  test("`default` is the first model of the requested kind", () => {
    const models = modelsOf(served(["speech", "text", "image"]), "my-image");
    expect(models.able("generates", "default").id).toBe("my-text");
    expect(models.able("embeds", "default").id).toBe("my-text");
    expect(models.able("draws", "default").id).toBe("my-image");
    expect(models.able("speaks", "default").id).toBe("my-speech");
    expect(models.resolve("default").id).toBe("my-image");
    expect(models.list().map(({ kind }) => kind)).toEqual(["image", "speech", "text"]);
  });

  test("what was added last answers `default` before a stand-in, and after what is configured", () => {
    const [toy, voice, first, last] = served(["text", "speech", "text", "text"]).map((one, at) => ({
      ...one,
      id: ["toy", "voice", "first", "last"][at] ?? "",
    }));
    if (toy === undefined || voice === undefined || first === undefined || last === undefined)
      throw new Error();
    for (const [isStandIn, order] of [
      [true, ["last", "first", "toy", "voice"]],
      [false, ["toy", "voice", "last", "first"]],
    ] as const) {
      const models = modelsOf([{ ...toy, isStandIn }, voice]);
      models.add({ ...first, isLazy: true });
      models.add({ ...last, isLazy: true });
      expect(models.list().map(({ id }) => id)).toEqual([...order]);
      expect(models.able("generates", "default").id).toBe(order[0]);
      expect(models.resolve("default").id).toBe(order[0]);
    }
  });

  test("a model of another kind is rejected with its route, without loading it", async () => {
    const all = served(["text", "image", "speech"]);
    const models = modelsOf(all);
    expect(() => models.textModel("my-image")).toThrow("/v1/images/generations");
    expect(() => models.textModel("my-speech")).toThrow("/v1/audio/speech");
    expect(() => models.able("draws", "my-text")).toThrow("generates no images");
    expect(all.flatMap(({ engines }) => engines.started)).toEqual([]);
  });

  test("an ability of no served model is an error", () => {
    const models = modelsOf(served(["text"]));
    expect(() => models.able("draws", "default")).toThrow("no image model is served");
    expect(() => models.able("speaks", "nobody")).toThrow("no model is named");
  });

  test("an engine that exits while working fails its requests once and is replaced", async () => {
    const { model, engines, log } = setup({}, false);
    const asked = ask(model);
    const first = await process(engines);
    first.becomeReady();
    await until("the request has arrived", () => first.runs.length === 1);
    first.failToLoad("it broke");
    expect(await asked).toMatchObject({ type: "error", error: { code: "engine_failed" } });
    expect(log.join()).toContain("it broke");
    const next = ask(model);
    const second = await process(engines, 2);
    await answer(second);
    expect(await next).toMatchObject({ type: "finish" });
    expect(first.hasEnded).toBe(true);
  });
});
