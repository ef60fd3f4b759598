import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FREE_ROWS, plan, type RowLimits } from "../../../src/worker/text/scheduler.ts";
import {
  draftCostRatio,
  measured,
  measuredDraft,
  PREFILL_SHARE,
  prefillChunk,
  shouldDecodeAlone,
  UNKNOWN_COST,
} from "../../../src/worker/text/step-cost.ts";

interface Fake {
  readonly known: number;
  readonly computed: number;
  readonly rowsFrom: (token: number) => RowLimits;
  /** Default: yes. */
  readonly isEligible?: boolean;
}

const isEligible = (sequence: Fake): boolean => sequence.isEligible ?? true;
const any = (): RowLimits => FREE_ROWS;
/** Media at 40 … 60 in pieces, at 100 … 116 as a whole; text elsewhere. The last token is text in any case. */
const mixed =
  (known: number) =>
  (token: number): RowLimits => {
    const last = known - 1;
    if (token >= 40 && token < 60 && last >= 60) return { least: 1, most: 60 - token, separate: true };
    if (token === 100 && last >= 116) return { least: 16, most: 16, separate: true };
    const end = token < 40 && last >= 60 ? 40 : token < 100 && last >= 116 ? 100 : known;
    return { least: 1, most: end - token, separate: false };
  };
/** Where a sequence with such media can stand. */
const standing = (known: number, token: number): number =>
  known > 116 && token > 100 && token < 116 ? 100 : token;

/** Any state the engine can be in: running sequences fit the cells, each sequence alone fits the cache. */
const states = fc
  .record({
    cells: fc.integer({ min: 256, max: 2048 }),
    budget: fc.integer({ min: 16, max: 512 }),
    chunk: fc.integer({ min: 16, max: 512 }),
    slots: fc.integer({ min: 1, max: 16 }),
    lengths: fc.array(
      fc.tuple(fc.integer({ min: 1, max: 255 }), fc.double({ min: 0, max: 0.999, noNaN: true })),
      {
        maxLength: 16,
      },
    ),
    waiting: fc.array(
      fc.tuple(fc.integer({ min: 1, max: 255 }), fc.double({ min: 0, max: 0.999, noNaN: true })),
      {
        maxLength: 8,
      },
    ),
  })
  .map(({ cells, budget, chunk, slots, lengths, waiting }) => {
    const running: Fake[] = [];
    let used = 0;
    for (const [known, share] of lengths.slice(0, slots)) {
      const computed = standing(known, Math.min(Math.floor(known * share), known - 1));
      if (used + computed > cells) break;
      used += computed;
      running.push({
        known,
        computed,
        rowsFrom: known % 2 > 0 ? mixed(known) : any,
        isEligible: known % 3 > 0,
      });
    }
    const candidates = waiting.map(([known, share]) => {
      const shared = standing(known, Math.floor((known - 1) * share));
      const sharedPinned = Math.min(used, Math.floor(shared * share));
      return {
        sequence: { known, computed: 0, rowsFrom: known % 2 > 0 ? mixed(known) : any, isEligible: true },
        shared,
        sharedPinned,
      };
    });
    const freeCells = cells - used;
    return { freeCells, budget, chunk, running, candidates, freeSlots: slots - running.length, isEligible };
  });

const exclusiveCells = ({ computed }: Fake): number => computed;

describe("plan", () => {
  test("never exceeds budget, cells or slots, and always makes progress", () => {
    fc.assert(
      fc.property(states, (state) => {
        const { rows: together, separate, admitted, preempted } = plan({ ...state, exclusiveCells });
        const rows = [...together, ...separate];
        const total = rows.reduce((sum, { count }) => sum + count, 0);
        const lost = new Set(preempted);
        const kept = state.running.filter((sequence) => !lost.has(sequence));
        const freed = preempted.reduce((sum, { computed }) => sum + computed, 0);
        const taken = admitted.reduce((sum, { shared, sharedPinned }) => sum + shared - sharedPinned, 0);
        expect(together.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(state.budget);
        expect(separate.every(({ count }) => count <= state.budget)).toBe(true);
        expect(total + taken).toBeLessThanOrEqual(state.freeCells + freed);
        expect(admitted.length).toBeLessThanOrEqual(state.freeSlots);
        expect(admitted).toEqual(state.candidates.slice(0, admitted.length));
        for (const { sequence, count } of rows) {
          const candidate = admitted.find((entry) => entry.sequence === sequence);
          const limits = sequence.rowsFrom(candidate?.shared ?? sequence.computed);
          expect(count).toBeGreaterThanOrEqual(limits.least);
          expect(count).toBeLessThanOrEqual(limits.most);
          expect(separate.some((entry) => entry.sequence === sequence)).toBe(limits.separate);
          expect(count).toBeLessThanOrEqual(sequence.known - (candidate?.shared ?? sequence.computed));
          expect(new Set(kept).has(sequence) || candidate !== undefined).toBe(true);
        }
        expect(new Set(rows.map(({ sequence }) => sequence)).size).toBe(rows.length);
        expect(rows.every(({ sequence }) => isEligible(sequence))).toBe(true);
        if (kept.some(isEligible)) expect(total).toBeGreaterThan(0);
        if (state.running.length > 0) {
          expect(preempted.some((sequence) => sequence === state.running[0])).toBe(false);
        } else if (state.candidates.length > 0 && state.freeSlots > 0) {
          expect(total).toBeGreaterThan(0);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("is a function of its input", () => {
    fc.assert(
      fc.property(states, (state) =>
        expect(plan({ ...state, exclusiveCells })).toEqual(plan({ ...state, exclusiveCells })),
      ),
    );
  });

  test("decode rows come first and prefill beside them keeps to the chunk", () => {
    const decode = { known: 10, computed: 9, rowsFrom: any };
    const prompt = { known: 400, computed: 100, rowsFrom: any };
    const { rows } = plan({
      running: [prompt, decode],
      candidates: [],
      freeSlots: 0,
      freeCells: 4096,
      exclusiveCells,
      isEligible,
      budget: 512,
      chunk: 64,
    });
    expect(rows).toEqual([
      { sequence: decode, count: 1 },
      { sequence: prompt, count: 64 },
    ]);
  });

  test("alone, a prompt gets the whole budget", () => {
    const sequence = { known: 4000, computed: 0, rowsFrom: any };
    const candidates = [{ sequence, shared: 0, sharedPinned: 0 }];
    const { rows } = plan({
      running: [],
      candidates,
      freeSlots: 1,
      freeCells: 4096,
      exclusiveCells,
      isEligible,
      budget: 512,
      chunk: 16,
    });
    expect(rows).toEqual([{ sequence, count: 512 }]);
  });

  test("when cells run out the youngest gives way", () => {
    const old = { known: 100, computed: 99, rowsFrom: any };
    const young = { known: 51, computed: 50, rowsFrom: any };
    const { rows, preempted } = plan({
      running: [old, young],
      candidates: [],
      freeSlots: 0,
      freeCells: 1,
      exclusiveCells,
      isEligible,
      budget: 64,
      chunk: 16,
    });
    expect(preempted).toEqual([young]);
    expect(rows).toEqual([{ sequence: old, count: 1 }]);
  });
});

describe("prefillChunk", () => {
  const load = (decoding: number, prefilling: number, prefillShare = PREFILL_SHARE) => ({
    decoding,
    prefilling,
    prefillShare,
  });

  test("takes the set share of a step, and all of it at 1", () => {
    const cost = { ...UNKNOWN_COST, decodeMs: 40, decodeRows: 8, prefillTokenMs: 1 };
    expect([0.1, 0.2, 0.8].map((share) => prefillChunk(cost, 512, load(8, 1, share)))).toEqual([4, 10, 160]);
    expect(prefillChunk(cost, 512, load(2, 6, 0.8))).toBe(480);
    for (const known of [cost, UNKNOWN_COST]) expect(prefillChunk(known, 512, load(8, 1, 1))).toBe(512);
  });

  test("spends about as long on prefill as the decode rows take, within its bounds", () => {
    let cost = UNKNOWN_COST;
    cost = measured(cost, 40, 8, 0); // 8 rows decode in 40 ms
    cost = measured(cost, 40 + 64, 8, 64); // 64 prompt tokens take another 64 ms
    expect(cost).toEqual({ ...UNKNOWN_COST, decodeMs: 40, decodeRows: 8, prefillTokenMs: 1 });
    expect(prefillChunk(cost, 512, load(8, 1))).toBe(40);
    expect(prefillChunk(cost, 512, load(2, 6))).toBe(120); // three wait for a prompt for each that waits for a token
    expect(prefillChunk({ ...UNKNOWN_COST, decodeMs: 1, prefillTokenMs: 10 }, 512, load(1, 1))).toBe(2);
    expect(prefillChunk({ ...UNKNOWN_COST, decodeMs: 1, prefillTokenMs: 0.001 }, 512, load(1, 1))).toBe(512);
    expect(prefillChunk(UNKNOWN_COST, 512, load(1, 1))).toBe(64);
  });
});

test("decode rows go alone now and then, and soon when there are many more of them, whose cost is taken as it is", () => {
  let cost = measured(UNKNOWN_COST, 10, 4, 0);
  const alone = (decoding: number): number[] =>
    Array.from({ length: 40 }, (_, step) => step).filter((step) => shouldDecodeAlone(cost, decoding, step));
  expect(alone(4)).toEqual([15, 31]);
  expect(alone(5)).toEqual([15, 31]);
  expect(alone(6)).toEqual([3, 7, 11, 15, 19, 23, 27, 31, 35, 39]);
  expect(alone(0)).toEqual([]);
  cost = measured(cost, 20, 4, 0);
  expect(cost.decodeMs).toBeCloseTo(12); // one dear step of the same kind may be chance
  cost = measured(cost, 50, 32, 0);
  expect(cost.decodeMs).toBe(50);
  expect(alone(32)).toEqual([15, 31]);
});

test("a guess costs its share of a step, for each sequence that waits for the step", () => {
  let cost = measured(UNKNOWN_COST, 10, 4, 0);
  expect(draftCostRatio(cost, 4)).toBe(0.5); // not measured yet
  cost = measuredDraft(cost, 10 + 3, 6);
  expect(cost).toEqual({ ...UNKNOWN_COST, decodeMs: 10, decodeRows: 4, draftTokenMs: 0.5 });
  expect(draftCostRatio(cost, 1)).toBe(0.05);
  expect(draftCostRatio(cost, 4)).toBe(0.2);
});

test("a sequence whose every row needs logits gets few rows", () => {
  const sequence = { known: 400, computed: 0, rowsFrom: () => ({ ...FREE_ROWS, most: 32 }) };
  const candidates = [{ sequence, shared: 0, sharedPinned: 0 }];
  const state = {
    running: [],
    candidates,
    freeSlots: 1,
    freeCells: 4096,
    exclusiveCells,
    isEligible,
    budget: 512,
    chunk: 16,
  };
  expect(plan(state).rows).toEqual([{ sequence, count: 32 }]);
});

test("media go into a pass of their own, as a whole where they must, beside rows that decode", () => {
  const decode = { known: 10, computed: 9, rowsFrom: any };
  const whole = { known: 300, computed: 0, rowsFrom: () => ({ least: 128, most: 128, separate: true }) };
  const pieces = { known: 300, computed: 0, rowsFrom: () => ({ least: 1, most: 200, separate: true }) };
  const state = {
    candidates: [],
    freeSlots: 0,
    freeCells: 4096,
    exclusiveCells,
    isEligible,
    budget: 128,
    chunk: 32,
  };
  expect(plan({ ...state, running: [whole, decode] })).toMatchObject({
    rows: [{ sequence: decode, count: 1 }],
    separate: [{ sequence: whole, count: 128 }],
  });
  expect(plan({ ...state, running: [pieces, decode] }).separate).toEqual([{ sequence: pieces, count: 32 }]);
  expect(plan({ ...state, running: [pieces] }).separate).toEqual([{ sequence: pieces, count: 128 }]);
});
