// Which prompts go before answers, and what that does to first tokens.

import { describe, expect, test } from "bun:test";
import { Newcomers } from "../../../src/worker/text/newcomers.ts";
import { Engine } from "../../../src/worker/text/engine.ts";
import { UNKNOWN_COST } from "../../../src/worker/text/step-cost.ts";
import { FakeBackend, noConstraints } from "../../helpers/fake-backend.ts";
import { OPTIONS, request } from "../../helpers/world.ts";

interface Fake {
  readonly generated: number;
}

const COST = { ...UNKNOWN_COST, decodeMs: 40, decodeRows: 8, prefillTokenMs: 2 };
const UBATCH = 512;

/** Sequences in the order of their arrivals. */
function arrived(newcomers: Newcomers<Fake>, count: number): Fake[] {
  const sequences = Array.from({ length: count }, () => ({ generated: 0 }));
  for (const sequence of sequences) newcomers.add(sequence);
  return sequences;
}

describe("yielding", () => {
  const step = (decoding: readonly Fake[], prefilling: readonly Fake[], gap = 100, nowMs = 0) => ({
    decoding,
    prefilling: prefilling.map((sequence) => ({ sequence, gap })),
    cost: COST,
    ubatch: UBATCH,
    nowMs,
  });

  test("answers yield to the prompts that waited when they began, and to no later ones", () => {
    const newcomers = new Newcomers<Fake>();
    const [first, second, third] = arrived(newcomers, 3) as [Fake, Fake, Fake];
    expect(newcomers.priority(step([first], [second, third]))).toEqual({ decoding: 1, tokens: 200 });
    const [later] = arrived(newcomers, 1) as [Fake];
    expect(newcomers.priority(step([first], [third, later]))).toEqual({ decoding: 1, tokens: 100 });
    expect(newcomers.priority(step([first, second, third], [later]))).toEqual({ decoding: 1, tokens: 0 });
  });

  test("prompts share the time with the answers that do not yield alone", () => {
    const newcomers = new Newcomers<Fake>();
    const [old] = arrived(newcomers, 1) as [Fake];
    newcomers.priority(step([old], []));
    const [first, second, third] = arrived(newcomers, 3) as [Fake, Fake, Fake];
    expect(newcomers.priority(step([old, first, second], [third]))).toEqual({ decoding: 1, tokens: 0 });
  });

  test("not to long prompts, not to preempted answers, and not for longer than ten seconds", () => {
    const newcomers = new Newcomers<Fake>();
    const [first, second] = arrived(newcomers, 2) as [Fake, Fake];
    expect(newcomers.priority(step([first], [second], 1001)).tokens).toBe(0);
    expect(newcomers.priority(step([first], [second], 1000)).tokens).toBe(1000);
    expect(newcomers.priority({ ...step([first], [second], 513), cost: UNKNOWN_COST }).tokens).toBe(0);
    expect(newcomers.priority({ ...step([first], [second], 512), cost: UNKNOWN_COST }).tokens).toBe(512);
    const preempted = { generated: 5 };
    newcomers.add(preempted);
    expect(newcomers.priority(step([first], [preempted])).tokens).toBe(0);
    expect(newcomers.priority(step([first], [second], 100, 10_000)).tokens).toBe(100);
    expect(newcomers.priority(step([first], [second], 100, 10_001)).tokens).toBe(0);
  });
});

/** Costs of a pass, milliseconds. */
const PASS = { decode: 45, decodeRow: 6, promptToken: 3, prompt: 30 } as const;

/** Milliseconds to the first token of each of eight requests that arrive together. */
function firstTokens(prefillShare: number): readonly number[] {
  const backend = new FakeBackend({ ...OPTIONS, cells: 4096, batch: 512, ubatch: 256, contextTokens: 512 });
  let clock = 0;
  const decode = backend.decode.bind(backend);
  backend.decode = (columns, rows) => {
    const slots = [...columns.slot.subarray(0, rows)];
    const prompt = slots.filter((slot) => slots.indexOf(slot) !== slots.lastIndexOf(slot)).length;
    const answers = rows - prompt;
    if (answers > 0) clock += PASS.decode + answers * PASS.decodeRow;
    if (prompt > 0) clock += PASS.prompt + prompt * PASS.promptToken;
    return decode(columns, rows);
  };
  const found = new Map<number, number>();
  const engine = new Engine({
    backend,
    constraints: noConstraints,
    prefixCacheN: 4,
    prefillShare,
    emit: (run, event) => {
      if (event.type === "text" && !found.has(run)) found.set(run, clock);
    },
    now: () => clock,
    newSeed: () => 1,
  });
  for (let run = 0; run < 8; run++) {
    const tokens = Array.from({ length: 90 }, (_, index) => (index * 7 + run * 31) % 250);
    engine.add(run, request(tokens, { maxTokens: 60 }));
  }
  while (engine.step(0) !== "idle");
  return [...found.values()].toSorted((a, b) => a - b);
}

test("of requests that arrive together the last gets its first token when all prompts are computed", () => {
  const last = firstTokens(0.5).at(-1) ?? Infinity;
  const promptsMs = 8 * 90 * PASS.promptToken;
  expect(last).toBeLessThan(1.4 * promptsMs);
  expect(firstTokens(1).at(-1)).toBeGreaterThan(0.9 * last); // as early as with prompts first
  expect(firstTokens(0.2).at(-1)).toBeGreaterThan(2 * last); // a smaller share is for steady answers
});
