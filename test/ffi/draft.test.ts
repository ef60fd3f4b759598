// Models that guess next tokens, on the native library: an answer is what it would be without them. The clock of these tests
// goes on evenly, so that guesses always pay.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import type { EngineStats } from "../../src/core/telemetry.ts";
import type { Speculative } from "../../src/engine/protocol.ts";
import type { SlotId } from "../../src/worker/text/backend.ts";
import { Engine, type EngineDeps } from "../../src/worker/text/engine.ts";
import { MemoryTier } from "../../src/worker/text/tiers/memory-tier.ts";
import { CacheTiers } from "../../src/worker/text/tiers/tiers.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { noConstraints } from "../helpers/fake-backend.ts";
import { chatRequest } from "../helpers/engine-run.ts";
import { tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { type DrafterFlaws, type DrafterKind, EVERY_OTHER, tinyDrafter } from "../helpers/tiny-drafters.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { tinyBert, tinyOtherVocabulary } from "../helpers/tiny-models.ts";

const PROMPT = "Once upon a time there was a little girl who lived in a house near the forest. ";
const PROMPTS = [
  "One day",
  "Her mother",
  "She had a dog and",
  "In winter",
  "Every morning",
  "The",
  "A",
  "Then",
];

interface Outcome {
  readonly texts: readonly string[];
  readonly stats: Pick<EngineStats, "draftTokens" | "draftHits" | "prefixTokens">;
}

function request(text: string, extra: Partial<RunRequest> = {}): RunRequest {
  return chatRequest(text, {
    sampling: { ...DEFAULT_SAMPLING, temperature: 0, seed: 5 },
    maxTokens: 60,
    ...extra,
  });
}

function engineOf(
  backend: LlamaBackend,
  prefixCacheN: number,
  emit: EngineDeps["emit"],
  tiers?: EngineDeps["tiers"],
): Engine {
  let clock = 0;
  // Its own time is real, and on a busy machine it would pause.
  if (backend.draftModel !== undefined) backend.draftModel.takeMs = () => 0;
  return new Engine({
    backend,
    constraints: noConstraints,
    prefixCacheN,
    checkpointBytes: 1 << 26,
    tiers,
    emit,
    now: () => clock++,
    newSeed: () => 1,
  });
}

/** Copies of a backend's cells in memory. */
function memoryOf({ cellCopies: cells }: LlamaBackend): CacheTiers {
  if (cells === undefined) throw new Error("its cells can be copied");
  return new CacheTiers({
    identity: cells.identity.bind(cells),
    cells,
    memory: new MemoryTier(1 << 28),
    disk: undefined,
    onRead: () => undefined,
    now: () => 0,
  });
}

/** Runs requests together, each two steps after the one before; then aborts some of them. */
function answers(
  backend: LlamaBackend,
  asked: readonly RunRequest[],
  aborted: readonly number[] = [],
): Outcome {
  const texts = asked.map(() => "");
  const ends: (RunEvent["type"] | undefined)[] = asked.map(() => undefined);
  const engine = engineOf(backend, 4, (run, event) => {
    if (event.type === "text") texts[run] += event.text;
    if (event.type === "finish" || event.type === "error") ends[run] = event.type;
  });
  asked.forEach((what, id) => {
    engine.add(id, what);
    for (let i = 0; i < 2; i++) engine.step(5);
  });
  for (const id of aborted) engine.abort(id);
  while (engine.step(5) !== "idle");
  for (const id of asked.keys()) if (!aborted.includes(id)) expect(ends[id]).toBe("finish");
  const { draftTokens, draftHits, prefixTokens } = engine.stats();
  engine.close();
  return { texts, stats: { draftTokens, draftHits, prefixTokens } };
}

const HYBRID = tinyHybrid({ silent: false, head: true });
const SILENT = tinyHybrid({ silent: true, head: true });

const LIKELIEST = { type: "mtp", mtpDraftSampling: "greedy" } as const;

/** Who guesses for which model, and the least share that is right; what is guessed beyond the end of an answer is not. */
const PAIRS: readonly (readonly [name: string, model: string, guesser: Speculative, rightMin: number])[] = [
  ["a model for itself", TINY_PATH, { ...LIKELIEST, mtpNPredict: 4, mtpModel: TINY_PATH }, 0.6],
  ["a head in the model's file", SILENT, { ...LIKELIEST, mtpNPredict: 3 }, 0.95],
  ["a head in a file of its own", SILENT, { ...LIKELIEST, mtpNPredict: 2, mtpModel: SILENT }, 0.95],
  ["a head that knows nothing", HYBRID, { ...LIKELIEST, mtpNPredict: 3 }, 0],
];

const drafterOf = (kind: DrafterKind): Speculative => ({
  ...LIKELIEST,
  mtpNPredict: 3,
  mtpModel: tinyDrafter(kind),
});
const reducedOf = (kind: DrafterKind): Speculative => ({
  ...LIKELIEST,
  mtpNPredict: 3,
  mtpModel: tinyDrafter(kind, { tokens: EVERY_OTHER }),
});
const BLOCKS: typeof PAIRS = [
  ["an EAGLE-3 drafter", SILENT, drafterOf("eagle3"), 0.3],
  ["a DFlash drafter of random weights", SILENT, drafterOf("dflash"), 0],
  ["a DSpark drafter", SILENT, drafterOf("dspark"), 0.9],
  ["an EAGLE-3 drafter with some of the tokens", SILENT, reducedOf("eagle3"), 0.05],
  ["a DSpark drafter with some of the tokens", SILENT, reducedOf("dspark"), 0.2],
];
const SLOW = process.env.SVC_SLOW_TESTS === "1";

describe.each(SLOW ? [...PAIRS, ...BLOCKS] : PAIRS)("%s drafts", (_name, model, speculative, rightMin) => {
  let plain: LlamaBackend;
  let guessing: LlamaBackend;
  beforeAll(async () => {
    plain = await tinyBackend({ prefixCacheN: 4 }, model);
    guessing = await tinyBackend({ prefixCacheN: 4, speculative }, model);
  });
  afterAll(() => {
    plain.close();
    guessing.close();
  });

  test("the file's head is known, also where it is not used", () => {
    expect(plain.info.hasHead).toBe(model !== TINY_PATH);
    expect(guessing.info.hasHead).toBe(model !== TINY_PATH);
  });

  function expectSame(asked: readonly RunRequest[], aborted: readonly number[] = []): Outcome {
    const expected = answers(plain, asked, aborted);
    const outcome = answers(guessing, asked, aborted);
    const texts = ({ texts: all }: Outcome): string[] => all.filter((_, id) => !aborted.includes(id));
    expect(texts(outcome)).toEqual(texts(expected));
    expect(expected.stats.draftTokens).toBe(0);
    const { draftTokens, draftHits } = outcome.stats;
    expect(draftTokens).toBeGreaterThan(0);
    expect(draftHits).toBeGreaterThanOrEqual(rightMin * draftTokens);
    return outcome;
  }

  test("one answer is unchanged", () => {
    const { stats } = expectSame([request(PROMPT)]);
    if (rightMin > 0) expect(stats.draftHits).toBeGreaterThan(8);
  });

  test("eight concurrent answers are unchanged, with aborts and shared prefixes", () => {
    // Short where weights are random: on some devices two tokens are nearly equal later on.
    const asked = PROMPTS.map((text) => request(text, { maxTokens: rightMin > 0 ? 60 : 24 }));
    expectSame(asked);
    expectSame(asked, [0, 4, 7]);
  });

  test("prompts with a common prefix share it", () => {
    const beginning = `${PROMPT} ${PROMPTS.join(", ")} `.repeat(3);
    // Short: later on two tokens are nearly equal here, and which is ahead depends on the shapes of passes.
    const asked = ["dog", "cat", "bird", "cat"].map((word) => request(beginning + word, { maxTokens: 24 }));
    const { stats } = expectSame(asked);
    expect(stats.prefixTokens).toBeGreaterThan(3 * 40);
  });

  test("sampling with a temperature yields the same tokens", () => {
    const sampling = { ...DEFAULT_SAMPLING, temperature: 0.8, seed: 9 };
    const expected = answers(plain, [request(PROMPT, { sampling })]);
    const outcome = answers(guessing, [request(PROMPT, { sampling })]);
    expect(outcome.texts).toEqual(expected.texts);
  });

  test("a pause costs draft tokens, not answers", () => {
    guessing.draftModel?.follow(false);
    const asked = [request(PROMPT)];
    const paused = answers(guessing, asked);
    expect(paused.stats.draftTokens).toBe(0);
    guessing.draftModel?.follow(true);
    expect(paused.texts).toEqual(answers(plain, asked).texts);
    expectSame(asked);
  });
});

test.each(BLOCKS)("%s drafts for eight sequences, whose answers are unchanged", async (...pair) => {
  const [, model, speculative, rightMin] = pair;
  const asked = PROMPTS.map((text) => request(text, { maxTokens: 24 }));
  const [plain, drafting] = [await tinyBackend({}, model), await tinyBackend({ speculative }, model)];
  const { texts, stats } = answers(drafting, asked, [3]);
  expect(texts.toSpliced(3, 1)).toEqual(answers(plain, asked, [3]).texts.toSpliced(3, 1));
  expect(stats.draftTokens).toBeGreaterThan(20);
  expect(stats.draftHits).toBeGreaterThanOrEqual(rightMin * stats.draftTokens);
  plain.close();
  drafting.close();
});

describe("draft tokens that are sampled like the answer", () => {
  const sampling = { ...DEFAULT_SAMPLING, temperature: 1, topP: 0.95, seed: 9 };
  const asked = PROMPTS.map((text) => request(text, { sampling, ignoreEnd: true }));
  const backends: LlamaBackend[] = [];
  afterAll(() => backends.forEach((backend) => backend.close()));

  async function guesser(model: string, guesses: Speculative): Promise<LlamaBackend> {
    const backend = await tinyBackend({ speculative: guesses }, model);
    backends.push(backend);
    return backend;
  }

  test("are accepted far more often than the most likely tokens", async () => {
    const options = { type: "mtp", mtpNPredict: 4, mtpModel: TINY_PATH } as const;
    const drawn = answers(await guesser(TINY_PATH, { ...options, mtpDraftSampling: "probabilistic" }), asked);
    const likeliest = answers(await guesser(TINY_PATH, { ...options, mtpDraftSampling: "greedy" }), asked);
    // Mostly all; the order of additions may tip one over.
    expect(drawn.stats.draftHits).toBeGreaterThan(0.95 * drawn.stats.draftTokens);
    expect(likeliest.stats.draftHits).toBeLessThan(0.9 * likeliest.stats.draftTokens);
  });

  const pairs = [
    [
      "a model",
      TINY_PATH,
      { type: "mtp", mtpNPredict: 4, mtpModel: TINY_PATH, mtpDraftSampling: "probabilistic" },
    ],
    ["a head", SILENT, { type: "mtp", mtpNPredict: 3, mtpDraftSampling: "probabilistic" }],
    ["a head that knows nothing", HYBRID, { type: "mtp", mtpNPredict: 3, mtpDraftSampling: "probabilistic" }],
  ] as const;
  test.each(pairs)("of %s do not change the answer", async (_name, model, guesses) => {
    const backend = await guesser(model, guesses);
    const outcome = answers(backend, asked);
    expect(outcome.stats.draftTokens).toBeGreaterThan(0);
    backend.draftModel?.follow(false);
    const paused = answers(backend, asked);
    expect(paused.stats.draftTokens).toBe(0);
    // Several rows are added up in another order than one, by each processor in its own, and so a draw in hundreds is tipped over.
    // All answers would differ if what is drawn depended on the draft.
    const same = outcome.texts.filter((text, id) => text === paused.texts[id]);
    expect(same.length).toBeGreaterThanOrEqual(asked.length / 2);
  });
});

/** Logits of the last row of a pass. */
function computeRows(
  backend: LlamaBackend,
  slot: SlotId,
  from: number,
  row: readonly number[],
): Float32Array {
  const columns = {
    token: Int32Array.from(row),
    position: Int32Array.from(row, (_, i) => from + i),
    slot: Int32Array.from(row, () => slot),
    output: Int8Array.from(row, () => 1),
  };
  expect(backend.decode(columns, row.length)).toBe("done");
  return backend.logits(row.length - 1);
}

describe("what is kept outside the cache", () => {
  test("cells come back with those of the draft model, which goes on as before", async () => {
    const options = { prefixCacheN: 1, maxSeqs: 1, tiers: {} };
    const speculative = { ...LIKELIEST, mtpNPredict: 4, mtpModel: TINY_PATH };
    const backend = await tinyBackend({ ...options, speculative }, TINY_PATH);
    const asked = [
      request(`${PROMPT.repeat(6)} ${PROMPTS.join(", ")}`),
      request(PROMPTS.join(" ").repeat(9)),
    ];
    const texts = ["", "", "", ""];
    const take = (run: number, event: RunEvent): void => {
      if (event.type === "text") texts[run] += event.text;
    };
    const engine = engineOf(backend, 1, take, memoryOf(backend));
    [...asked, ...asked].forEach((what, id) => {
      engine.add(id, what);
      while (engine.step(5) !== "idle");
    });
    const { tierTokens, draftHits, draftTokens } = engine.stats();
    engine.close();
    backend.close();
    // The model is sure of the second answer; tokens of the first are nearly equal, and which is ahead depends on the passes.
    expect(texts[3]).toBe(texts[1] ?? "");
    expect(texts[1]).toContain("tiny demo model");
    expect(tierTokens).toBeGreaterThan(100);
    expect(draftHits).toBeGreaterThan(0.9 * draftTokens);
  });

  test("copies made without a head serve with it, and the other way round", async () => {
    const options = { maxSeqs: 2, prefixCacheN: 2, tiers: {} };
    const speculative = { ...LIKELIEST, mtpNPredict: 3 };
    const backends = [
      await tinyBackend(options, HYBRID),
      await tinyBackend({ ...options, speculative }, HYBRID),
    ] as const;
    const [slot] = [0] as SlotId[];
    if (slot === undefined) throw new Error("a slot");
    const row = Array.from({ length: 64 }, (_, i) => 5 + 7 * i);
    for (const backend of backends) computeRows(backend, slot, 0, row);
    for (const [from, to] of [backends, backends.toReversed()]) {
      const copy = from?.cellCopies?.save(slot, 0, 32);
      const state = from?.states?.save(slot);
      if (copy === undefined || state === undefined || to === undefined) throw new Error("it can be copied");
      expect(to.cellCopies?.identity(0)).toBe(from?.cellCopies?.identity(0) ?? "");
      to.cutSlot(slot, 0);
      expect(to.cellCopies?.restore(slot, copy, 0, 32)).toBe(true);
      expect(to.states?.restore(slot, state, 64)).toBe(true);
      to.cutSlot(slot, 0);
      computeRows(to, slot, 0, row);
    }
    for (const backend of backends) backend.close();
  });

  test("a state that was saved after draft tokens were removed is the one before them", async () => {
    const speculative = { ...LIKELIEST, mtpNPredict: 3 };
    const backend = await tinyBackend({ maxSeqs: 4, prefixCacheN: 2, speculative }, HYBRID);
    const tokens = [5, 17, 300, 41, 9, 77, 123, 8, 64, 1000];
    const compute = (slot: SlotId, from: number, row: readonly number[]): Float32Array =>
      computeRows(backend, slot, from, row);
    const [first, second, cold] = [0, 1, 2] as SlotId[];
    if (first === undefined || second === undefined || cold === undefined) throw new Error("three slots");
    compute(first, 0, tokens);
    expect(backend.cutSlot(first, 8)).toBe(true);
    const state = backend.states?.save(first);
    if (state === undefined) throw new Error("a hybrid model has states");
    backend.shareSlot(first, second, 8);
    expect(backend.states?.restore(second, state, 8)).toBe(true);
    compute(cold, 0, tokens.slice(0, 8));
    const expected = compute(cold, 8, [500]);
    for (const slot of [second, first]) {
      const logits = compute(slot, 8, [500]);
      expect(Math.max(...logits.map((value, i) => Math.abs(value - (expected[i] ?? 0))))).toBeLessThan(1e-3);
    }
    backend.close();
  });
});

test("an incompatible draft model is rejected with a reason", async () => {
  const load = async (model: string, speculative: Speculative): Promise<string> => {
    const backend = tinyBackend({ speculative }, model);
    const error = await backend.then(() => undefined).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServiceError);
    return error instanceof ServiceError ? `${error.code}: ${error.message}` : "";
  };
  const own = { ...LIKELIEST, mtpNPredict: 3 };
  expect(await load(TINY_PATH, own)).toMatch(/^model_unavailable: .*has no multi-token prediction head/);
  const by = (mtpModel: string): Speculative => ({ ...own, mtpModel });
  expect(await load(TINY_PATH, by(tinyOtherVocabulary()))).toContain("vocab");
  expect(await load(TINY_PATH, by(SILENT))).toContain("architecture qwen35");
  expect(await load(TINY_PATH, by(tinyBert("mean")))).toContain("does not generate");
  expect(await load(TINY_PATH, by(tinyHybrid({ silent: true, head: false })))).toContain("recurrent");
  expect(await load(TINY_PATH, by(tinyDrafter("eagle3")))).toContain("other layers or of another size");
  expect(await load(SILENT, by(tinyDrafter("dflash", { layers: [0, 2] })))).toContain("other layers");
  expect(await load(SILENT, by(tinyDrafter("dspark", { maskToken: false })))).toContain("no mask token");
  const listing = (kind: DrafterKind, tokens: readonly number[], more: DrafterFlaws = {}): Promise<string> =>
    load(SILENT, by(tinyDrafter(kind, { tokens, ...more })));
  expect(await listing("eagle3", [5, 6, 5])).toContain("names one twice");
  expect(await listing("dspark", [5, 6, 1_000_000])).toContain("or one that the model does not have");
  expect(await listing("eagle3", [5, -1])).toContain("or one that the model does not have");
  expect(await listing("dflash", [5, 6, 7], { sharesOutput: true })).toContain("no output weights for them");
  expect(await listing("eagle3", [5, 6, 7], { floatTokens: true })).toContain("no 64-bit integers");
  expect(await load(architectureModel("glm4moe+headless"), own)).toContain("lacks its weights");
  expect(await load(TINY_PATH, by("/nowhere.gguf"))).toContain("mtp_model could not be loaded");
});
