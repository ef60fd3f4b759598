import { describe, expect, test } from "bun:test";
import {
  commonDraftLengths,
  DraftCredit,
  DraftLength,
  learnDraft,
  newDraftLengths,
} from "../../../../src/worker/text/decode/draft-length.ts";
import { bestLevel } from "../../../../src/worker/text/decode/draft-level.ts";
import { DraftBalance } from "../../../../src/worker/text/decode/draft-balance.ts";
import { GrammarHabits } from "../../../../src/worker/text/decode/grammar-habits.ts";
import { LookGain } from "../../../../src/worker/text/decode/look-gain.ts";
import { firstOf, GrammarDrafts } from "../../../../src/worker/text/decode/grammar-draft.ts";
import {
  affordable,
  leastRowShare,
  RowCosts,
  worthwhile,
} from "../../../../src/worker/text/decode/row-costs.ts";
import { AnswerGuard, NO_ESCAPES } from "../../../../src/worker/text/answer-guard.ts";
import type { SamplerHandle } from "../../../../src/worker/text/backend.ts";
import type { Choice } from "../../../../src/worker/text/choice.ts";
import type { ConstraintBackend, Mask, Matcher } from "../../../../src/worker/text/constraint-backend.ts";
import { Sequence } from "../../../../src/worker/text/sequence.ts";
import { NgramIndex } from "../../../../src/worker/text/decode/ngram-index.ts";

const tokens = (...list: number[]): Int32Array => Int32Array.from(list);

/** Allows, one place after the other, these tokens of 64. */
function fakeMatcher(places: readonly (readonly number[])[], at = 0): Matcher {
  let place = at;
  const mask = newMask();
  const computeMask = ({ words } = mask): void => {
    words.fill(0);
    for (const token of places[place] ?? [])
      words[token >> 5] = (words[token >> 5] ?? 0) | (1 << (token & 31));
  };
  return {
    mask,
    openMaskAddress: 0n,
    unenforced: [],
    feed: () => "rejected",
    accept: () => (++place < places.length ? "ok" : "rejected"),
    mayEnd: () => false,
    computeMask,
    closing: () => undefined,
    clone: () => fakeMatcher(places, place),
    free: () => undefined,
  };
}

function newMask(): Mask {
  return { words: new Uint32Array(2), address: 0n };
}

describe("drafts under a grammar", () => {
  test.each([
    ["cut where the grammar refuses a token", [1, 2, 9], 8, [1, 2], true],
    ["that it allows are whole", [1, 2, 3], 8, [1, 2, 3], false],
    ["cut for want of room are not refused", [1, 2, 9], 2, [1, 2], false],
    ["of which nothing is allowed are empty", [9], 8, [], false],
  ] as const)("proposals %s", (_name, proposal, all, wanted, isRefused) => {
    const constraints = { newMask } as unknown as ConstraintBackend;
    const places = [1, 2, 3, 4].map((token) => [token, 40]);
    const guard = new AnswerGuard(fakeMatcher(places), NO_ESCAPES, "matching");
    const sequence = new Sequence({} as Choice, tokens(7), 0n as SamplerHandle);
    const drafts = new GrammarDrafts({ tokenBytes: (token) => Uint8Array.of(token) }, () => constraints);
    const draft = drafts.draft(sequence, guard, tokens(...proposal), { dictated: 0, all });
    expect([draft.tokens, draft.isRefused]).toEqual([tokens(...wanted), isRefused]);
    expect(firstOf(draft, wanted.length).isRefused).toBe(isRefused);
    expect(firstOf(draft, 0).isRefused).toBe(false);
  });
});

test("no mask is computed for drafts where looks do not pay, and the masks of a step are reused", () => {
  const constraints = { newMask } as unknown as ConstraintBackend;
  const drafts = new GrammarDrafts({ tokenBytes: (token) => Uint8Array.of(token) }, () => constraints);
  const draft = (mayLook: boolean) => {
    const guard = new AnswerGuard(fakeMatcher([[1], [2], [3]]), NO_ESCAPES, "matching");
    const sequence = new Sequence({} as Choice, tokens(7), 0n as SamplerHandle);
    drafts.begin(mayLook);
    return drafts.draft(sequence, guard, tokens(), { dictated: 4, all: 4 });
  };
  const first = draft(true);
  expect([first.tokens.length, drafts.looked]).toEqual([2, true]);
  expect([draft(false).tokens.length, drafts.looked]).toEqual([0, false]);
  expect(draft(true).masks[0]).toBe(first.masks[0] as Mask);
});

test("what making drafts took is no part of the estimate of a pass", () => {
  const balance = new DraftBalance(undefined);
  balance.made(3);
  expect([balance.stepped(10), balance.stepped(10)]).toEqual([7, 10]);
});

describe("looks for drafts", () => {
  interface Costs {
    /** Of a pass of `rows` rows and of a look, milliseconds. */
    readonly passMs: (rows: number) => number;
    readonly lookMs: number;
    /** Right draft tokens of a step that looks. */
    readonly found: number;
  }

  /** Share of `steps` steps that look, and the time of all tokens as a share of that without looks. */
  function steps(gain: LookGain, sequences: number, { passMs, lookMs, found }: Costs, count = 4000) {
    const plainMs = passMs(sequences);
    let [looks, ms, made] = [0, 0, 0];
    for (let step = 0; step < count; step++) {
      const isLooking = gain.begin(sequences, plainMs);
      const accepted = isLooking ? found : 0;
      if (isLooking) gain.looked();
      const took = isLooking ? passMs(sequences + found) + lookMs : plainMs;
      gain.stepped(took, { drafted: accepted, accepted });
      looks += isLooking ? 1 : 0;
      ms += took;
      made += sequences + accepted;
    }
    return { looks: looks / count, time: ms / (made * (plainMs / sequences)) };
  }

  test.each([
    ["that cost nothing", { passMs: () => 10, lookMs: 0, found: 1 }, 1, 0.51],
    ["that gain a little", { passMs: () => 10, lookMs: 0.5, found: 1 }, 8, 0.95],
    ["that gain much for one sequence", { passMs: (rows) => 9 + rows, lookMs: 1, found: 3 }, 1, 0.36],
  ] as readonly (readonly [string, Costs, number, number])[])(
    "%s are made",
    (_name, costs, sequences, most) => {
      const { looks, time } = steps(new LookGain(), sequences, costs);
      expect(looks).toBeGreaterThan(0.9);
      expect(time).toBeLessThan(most);
    },
  );

  test.each([
    ["find nothing", { passMs: () => 10, lookMs: 0.5, found: 0 }],
    ["cost what they save", { passMs: (rows) => 10 + (rows - 8), lookMs: 0.5, found: 1 }],
    ["cost twice what they save", { passMs: () => 10, lookMs: 3, found: 1 }],
  ] as readonly (readonly [string, Costs])[])(
    "that %s are tried now and then, for a hundredth of the time",
    (_name, costs) => {
      const { looks, time } = steps(new LookGain(), 8, costs, 20_000);
      expect(looks).toBeGreaterThan(0);
      expect(looks).toBeLessThan(0.1);
      expect(time).toBeLessThan(1.012);
    },
  );

  test("follow what they gain, and one that was held up says little", () => {
    const gain = new LookGain();
    const worthless: Costs = { passMs: () => 10, lookMs: 1, found: 0 };
    const worthwhile: Costs = { passMs: () => 10, lookMs: 1, found: 4 };
    expect(steps(gain, 8, worthless).looks).toBeLessThan(0.1);
    expect(steps(gain, 6, worthwhile, 2000).looks).toBeGreaterThan(0.5); // about as many sequences
    gain.begin(8, 10);
    gain.looked();
    gain.stepped(10_000);
    expect(steps(gain, 8, worthwhile, 100).looks).toBeGreaterThan(0.9);
    expect(steps(gain, 1, worthless, 100).looks).toBeGreaterThan(0); // of another number nothing is known
  });
});

describe("n-gram index", () => {
  const follow = (index: NgramIndex, ...[sequence, max, text]: Parameters<NgramIndex["continuation"]>) =>
    index.continuation(sequence, max, text).tokens;

  test("returns what followed at the place before which most tokens agree, of equal ones the latest", () => {
    const index = new NgramIndex();
    const text = tokens(0, 1, 2, 3, 4, 5, 8, 1, 2, 3, 6, 7, 9, 0, 1, 2, 3);
    expect(index.continuation(text, 3)).toEqual({ tokens: tokens(4, 5, 8), agreeing: 4 });
    expect(follow(index, text, 1)).toEqual(tokens(4));
    expect(follow(new NgramIndex(), text.subarray(1), 3)).toEqual(tokens(6, 7, 9));
  });

  test("drafts nothing for a new n-gram, or for too few tokens", () => {
    const index = new NgramIndex();
    for (const text of [tokens(), tokens(1, 2), tokens(1, 2, 3), tokens(1, 2, 3, 4)])
      expect(follow(index, text, 4)).toEqual(tokens());
  });

  test("repeats a repetition", () => {
    expect(follow(new NgramIndex(), tokens(8, 8, 8, 8), 4)).toEqual(tokens(8, 8, 8, 8));
    expect(follow(new NgramIndex(), tokens(1, 2, 1, 2, 1), 5)).toEqual(tokens(2, 1, 2, 1, 2));
  });

  test("takes what another text says, which ends there", () => {
    const index = new NgramIndex();
    const text = Int32Array.from({ length: 100 }, (_, i) => i);
    const end = tokens(500, ...text.slice(20, 28));
    expect(index.continuation(end, 3, text)).toEqual({ tokens: tokens(28, 29, 30), agreeing: 8 });
    expect(follow(index, text.slice(90, 98), 5, text)).toEqual(tokens(98, 99));
    expect(follow(index, tokens(1, 7, 9), 3, text)).toEqual(tokens());
  });

  test("never drafts placeholders of an image", () => {
    const index = new NgramIndex();
    expect(follow(index, tokens(1, 2, 3, 4, -7, -7, 5, 1, 2, 3), 6)).toEqual(tokens(4));
  });

  test("stays correct while its sequence grows", () => {
    const index = new NgramIndex();
    const text = Int32Array.from({ length: 5000 }, (_, i) => (i * i) % 4093);
    let drafts = 0;
    for (let length = 1; length <= text.length; length += 7) {
      const known = text.subarray(0, length);
      const { tokens: draft, agreeing } = index.continuation(known, 5);
      const agreements = Array.from({ length: Math.max(0, length - 3) }, (_, i) => {
        let count = 0;
        while (count < i + 3 && known[i + 2 - count] === known[length - 1 - count]) count++;
        return { at: i + 3, count };
      });
      const most = agreements.reduce((best, { count }) => Math.max(best, count), 0);
      expect(agreeing).toBe(most < 3 ? 0 : Math.min(64, most));
      if (agreeing === 0) continue;
      drafts++;
      const at = agreements.findLast(({ count }) => Math.min(64, count) === agreeing)?.at ?? 0;
      expect(draft).toEqual(known.slice(at, at + 5));
    }
    expect(drafts).toBeGreaterThan(100);
    const twice = Int32Array.from([...text.subarray(0, 3000), ...text.subarray(0, 200)]);
    expect(follow(new NgramIndex(), twice, 8)).toEqual(text.slice(200, 208));
  });
});

describe("draft length", () => {
  test("grows with the acceptance rate", () => {
    const draftLength = new DraftLength();
    const first = draftLength.worth(0.3);
    for (let i = 0; i < 30; i++) draftLength.learn(1, true);
    expect(first).toBe(1);
    expect(draftLength.worth(0.3)).toBeGreaterThan(12);
    expect(draftLength.worth(0)).toBe(Number.POSITIVE_INFINITY);
  });

  test("is 0 where drafts are rejected, with a probe now and then", () => {
    const draftLength = new DraftLength();
    let drafted = 0;
    for (let known = 200; known < 400; known++) {
      const wanted = draftLength.wanted(known, 0.3, true);
      if (wanted === 0) continue;
      drafted += wanted;
      draftLength.drafted(known);
      draftLength.learn(0, false);
    }
    expect(drafted).toBeGreaterThan(3);
    expect(drafted).toBeLessThan(12);
  });

  test("of a new sequence begins with what others have seen, unless that is less than usual", () => {
    const common = commonDraftLengths().proposed;
    const [fresh, old] = [new DraftLength(), new DraftLength()];
    old.learn(0, false);
    for (let i = 0; i < 50; i++) common.learn(4, true);
    for (const one of [fresh, old]) one.expect(common);
    expect(fresh.rate).toBe(common.rate);
    expect(old.rate).toBeLessThan(0.5);
    for (let i = 0; i < 200; i++) common.learn(0, false);
    fresh.expect(common);
    expect(fresh.rate).toBe(0.5);
  });

  test("learns a proposed token that the grammar refused as a miss, where all before it were right", () => {
    const rateAfter = (accepted: number, isRefused: boolean, kinds: readonly boolean[] = []): number => {
      const lengths = newDraftLengths();
      const verdict = { length: 2, dictated: kinds, accepted, isRefused };
      for (let i = 0; i < 40; i++) learnDraft(lengths, commonDraftLengths(), verdict);
      return lengths.proposed.rate;
    };
    expect(rateAfter(2, false)).toBeGreaterThan(0.95);
    expect(rateAfter(2, true)).toBeLessThan(0.8); // two of three
    expect(rateAfter(1, true)).toBe(rateAfter(1, false));
    expect(rateAfter(0, true, [true, false])).toBe(0.5); // a dictated one was wrong: it says nothing
  });

  test("of dictated tokens begins with what others have seen, too", () => {
    const common = commonDraftLengths();
    const first = newDraftLengths().dictated.rate;
    const verdict = { length: 2, dictated: [true, true], accepted: 0, isRefused: false };
    for (let i = 0; i < 20; i++) learnDraft(newDraftLengths(), common, verdict);
    const { dictated, proposed } = newDraftLengths();
    dictated.expect(common.dictated);
    expect(dictated.rate).toBeLessThan(0.7);
    expect(dictated.rate).toBeLessThan(first);
    proposed.expect(common.proposed);
    expect(proposed.rate).toBe(0.5);
  });

  test("an answer's drafts cost no more than they saved, and a little", () => {
    const credit = new DraftCredit();
    const first = credit.left(0);
    expect(credit.left(200) - first).toBeCloseTo(2);
    credit.settled(0, 3);
    expect(credit.left(0)).toBeCloseTo(first - 3);
    credit.settled(20, 4);
    expect(credit.left(0)).toBeCloseTo(first + 13);
  });

  test("is 0 where a draft token costs as much as it saves", () => {
    const draftLength = new DraftLength();
    expect(draftLength.wanted(100, 1, true)).toBe(1); // the first try
    expect(draftLength.wanted(100, 1, false)).toBe(0);
    draftLength.drafted(100);
    expect(draftLength.wanted(101, 1, true)).toBe(0);
    expect(draftLength.worth(Number.POSITIVE_INFINITY)).toBe(0);
  });
});

describe("costs of passes by their rows", () => {
  const base = { rows: 8, ms: 10, wideRowMs: 1 };
  const of = (costs: RowCosts, more = 4): number[] => Array.from(costs.of(base, more));

  test("are estimated from below, until they are measured", () => {
    const costs = new RowCosts();
    expect(of(costs)).toEqual([10, 11, 12, 13, 14]);
    expect(Array.from(costs.of({ ...base, wideRowMs: 0 }, 2))).toEqual([10, 10.625, 11.25]);
    costs.measured(9, 18);
    expect(of(costs)).toEqual([10, 18, 19, 20, 21]);
    costs.measured(11, 18.5);
    expect(of(costs)).toEqual([10, 18, 18.5, 18.5, 19.5]);
    costs.measured(12, 17); // a wider pass was faster: the others were held up
    expect(of(costs)).toEqual([10, 17, 17, 17, 17]);
    costs.measured(9, 8);
    expect(of(costs)[1]).toBe(13); // half of the way down, and slowly up
    costs.measured(9, 23);
    expect(of(costs)[1]).toBe(15);
  });

  test("are forgotten, and very wide passes are not remembered", () => {
    const costs = new RowCosts();
    costs.measured(9, 30);
    for (let i = 0; i < 4096; i++) costs.measured(300, 99);
    expect(of(costs, 1)).toEqual([10, 30]);
    costs.measured(300, 99);
    expect(of(costs, 1)).toEqual([10, 11]);
  });

  test("are computed again for another base and after a measured pass", () => {
    const costs = new RowCosts();
    const first = costs.of(base, 4);
    expect(costs.of({ ...base, ms: 10.2 }, 4)).toBe(first);
    expect(costs.of({ ...base, ms: 10.4 }, 4)[0]).toBe(10.4);
    expect(costs.of({ ...base, rows: 7 }, 4)).not.toBe(first);
    costs.measured(9, 12);
    expect(costs.of(base, 4)[1]).toBe(12);
  });

  test("are cut to what may be lost", () => {
    const costs = Float64Array.of(10, 15, 15, 20);
    expect(affordable(costs, 2, 1)).toEqual(costs.subarray(0, 3)); // half of a step, which has two tokens
    expect(affordable(costs, 2, 2)).toEqual(costs);
    expect(affordable(costs, 2, -1)).toEqual(costs.subarray(0, 1));
  });

  test("decide which draft tokens are computed", () => {
    const blocks = Float64Array.of(10, 15, 15, 15, 15);
    expect(leastRowShare(blocks, 2)).toBe(0.25);
    const sure = [0.99, 0.98];
    expect(worthwhile([sure, sure], blocks, 2)).toEqual([2, 2]);
    expect(worthwhile([[0.99], []], blocks, 2)).toEqual([0, 0]); // one row costs as much as four
    expect(worthwhile([[0.5, 0.25], sure], Float64Array.of(10, 11, 12, 13, 14), 2)).toEqual([1, 2]);
    expect(worthwhile([[0.2], [0.1]], Float64Array.of(10, 11, 12), 2)).toEqual([0, 0]);
    expect(worthwhile([[], [0.9, 0.8, 0.7]], Float64Array.of(10, 10, 10), 2)).toEqual([0, 2]); // all the room there is
  });
});

describe("habits at the places of a grammar", () => {
  test("a token that came twice is sure, and is given up after two misses", () => {
    const habits = new GrammarHabits();
    expect(habits.expected(1)).toBeUndefined();
    habits.learn(1, 7);
    expect(habits.expected(1)).toEqual({ token: 7, isSure: false });
    for (let i = 0; i < 5; i++) habits.learn(1, 7);
    habits.learn(1, 8);
    expect(habits.expected(1)).toEqual({ token: 7, isSure: true });
    habits.learn(1, 8);
    expect(habits.expected(1)).toEqual({ token: 8, isSure: false });
  });

  test("the oldest places are forgotten", () => {
    const habits = new GrammarHabits();
    for (let place = 0; place < 10_000; place++) habits.learn(place, place);
    expect(habits.expected(0)).toBeUndefined();
    expect(habits.expected(9999)?.token).toBe(9999);
  });

  test("after a token without drafts, one is looked for now and then", () => {
    const habits = new GrammarHabits();
    for (let i = 0; i < 4; i++) {
      expect(habits.isBarren(5)).toBe(false);
      habits.looked(5, false);
    }
    const looks = Array.from({ length: 200 }, () => habits.isBarren(5)).filter((isBarren) => !isBarren);
    expect(looks.length).toBeGreaterThan(1);
    habits.looked(5, true);
    expect(habits.isBarren(5)).toBe(false);
  });
});

describe("drafts of one length", () => {
  const dear = { rows: 64, sequences: 8, filledRows: 64, partMs: 1, rowMs: 0.5 };
  const at = (rate: number, length: number): number[] => Array.from({ length }, (_, i) => rate ** (i + 1));
  const lengthsOf = (chances: number[][], costs = dear): readonly number[] =>
    bestLevel(chances, { ...costs, filledRows: 0 }).lengths;

  test("are as long as yields most: shorter ones are left out", () => {
    expect(lengthsOf([at(0.9, 3), at(0.9, 1), at(0.9, 3), []])).toEqual([3, 0, 3, 0]);
    expect(lengthsOf([at(0.9, 1), at(0.9, 1), at(0.2, 3)])).toEqual([1, 1, 1]);
    expect(lengthsOf([[], []])).toEqual([0, 0]);
  });

  test("keep to rows and sequences, the likeliest first", () => {
    const three = [at(0.5, 3), at(0.9, 3), at(0.6, 3)];
    expect(lengthsOf(three, { ...dear, sequences: 1 })).toEqual([0, 3, 0]);
    expect(lengthsOf(three, { ...dear, rows: 8 })).toEqual([1, 1, 1]);
    expect(lengthsOf(three, { ...dear, rows: 5 })).toEqual([0, 3, 0]);
  });

  test("are filled up where that costs less than another part", () => {
    const mixed = [at(0.9, 3), at(0.9, 1), []];
    const cheap = { ...dear, rowMs: 0.01 };
    expect(bestLevel(mixed, cheap)).toEqual({ lengths: [3, 1, 0], filled: 3 });
    expect(bestLevel(mixed, { ...cheap, filledRows: 11 })).toEqual({ lengths: [2, 1, 0], filled: 2 });
    expect(bestLevel(mixed, { ...cheap, sequences: 2 }).filled).toBe(0);
    expect(bestLevel(mixed, { ...dear, rowMs: 5 }).filled).toBe(0);
  });
});
