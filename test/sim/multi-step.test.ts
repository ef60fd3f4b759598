// Multi-step decode: answers are the same as with single steps, and other work waits for one call at most.

import { describe, expect, test } from "bun:test";
import { countOf } from "../../src/core/histogram.ts";
import type { RunRequest } from "../../src/core/run.ts";
import type { DecodeOutcome } from "../../src/worker/text/backend.ts";
import type { FakeOptions } from "../helpers/fake-backend.ts";
import { expectedText, OPTIONS, random, request, World } from "../helpers/world.ts";

/** A call takes half a millisecond of a world's time, however many steps it does. */
const MULTI_STEP = { multiStepMs: 4 };
const STEPS = 8;

function world(options: Partial<FakeOptions> = {}): World {
  return new World({ ...OPTIONS, eogOneIn: 1e9, ...options }, MULTI_STEP);
}

/** Starts runs and steps until all of them decode. */
function decoding(options: Partial<FakeOptions>, ...requests: readonly RunRequest[]): World {
  const made = world(options);
  requests.forEach((one, id) => made.add(id, one));
  for (let i = 0; i < 10; i++) made.engine.step(0);
  return made;
}

function lettersIn(made: World, id: number): number {
  return made.witness(id).text.length;
}

describe("multi-step decode", () => {
  for (const reuse of ["prefix", "own"] as const) {
    for (const seed of [1, 2, 3, 4]) {
      test(`seeded traffic ${seed}, reuse ${reuse}: every answer is the one without batching`, () => {
        const chance = random(seed);
        const made = world({ reuse, eogOneIn: 40, cells: seed % 2 === 0 ? 200 : 1024 });
        const adapters = seed > 2 ? 2 : 1;
        const asked = new Map<number, { prompt: number[]; maxTokens: number; adapter: number }>();
        for (let id = 0; id < 300;) {
          if (chance() < (adapters > 1 ? 0.03 : 0.15)) {
            const prompt = Array.from({ length: 1 + Math.floor(chance() * 60) }, () =>
              Math.floor(chance() * 256),
            );
            const maxTokens = 1 + Math.floor(chance() * 60);
            const adapter = Math.floor(chance() * adapters);
            asked.set(id, { prompt, maxTokens, adapter });
            made.add(id++, request(prompt, { maxTokens }), adapter);
          }
          const victim = Math.floor(chance() * id);
          if (id > 0 && chance() < 0.02 && made.witness(victim).ended === undefined) made.abort(victim);
          made.engine.step(0);
          expect(made.backend.usedCells).toBeLessThanOrEqual(made.backend.cells);
        }
        made.drain();
        made.expectEmpty();
        expect(made.backend.multiStepCalls).toBeGreaterThan(50);
        for (const [id, { prompt, maxTokens, adapter }] of asked) {
          const { aborted, ended, text } = made.witness(id);
          if (aborted) continue;
          expect(ended?.type).toBe("finish");
          expect(text).toBe(expectedText(made.backend, prompt, maxTokens, adapter).text);
        }
      });
    }
  }

  test("failed and full steps leave nothing behind", () => {
    const chance = random(11);
    const outcome = (): DecodeOutcome => (chance() < 0.1 ? "full" : chance() < 0.01 ? "failed" : "done");
    const made = world({ eogOneIn: 40, outcome });
    for (let id = 0; id < 200; id++) {
      made.add(id, request([65, id % 256], { maxTokens: 60 }));
      for (let i = 0; i < 12; i++) made.engine.step(0);
    }
    made.drain();
    made.expectEmpty();
    expect(made.backend.multiStepCalls).toBeGreaterThan(50);
    const ends = [...made.witnesses.values()].map(({ ended }) => ended?.type);
    expect(new Set(ends)).toEqual(new Set(["finish", "error"]));
  });

  test("needs an engine without other work", () => {
    const made = decoding({}, request([1, 2, 3]), request([4, 5, 6]));
    const [before, calls] = [lettersIn(made, 0), made.backend.multiStepCalls];
    made.engine.step(0);
    expect(lettersIn(made, 0) - before).toBe(STEPS);
    expect(made.backend.multiStepCalls).toBe(calls + 1);
    const { decodeTokens, steps } = made.engine.stats();
    expect(countOf(steps)).toBe(made.backend.steps);
    made.add(2, request([7, 8, 9]));
    made.engine.step(0);
    expect(lettersIn(made, 0) - before).toBe(STEPS + 1);
    expect(lettersIn(made, 2)).toBe(1);
    expect(made.engine.stats().decodeTokens).toBe(decodeTokens + 3);
    expect(countOf(made.engine.stats().steps)).toBe(made.backend.steps);
  });

  test("a stop string or the token cap within a call ends one answer there; the other continues", () => {
    const { text } = expectedText(world().backend, [1, 2, 3], 100);
    for (let at = 60; at < 70; at++) {
      const stop = [text.slice(at, at + 4)];
      const made = decoding({}, request([1, 2, 3], { stop }), request([4, 5, 6], { maxTokens: at }));
      made.drain();
      made.expectEmpty();
      expect(made.witness(0).text).toBe(text.slice(0, at));
      expect(made.witness(1).text).toBe(expectedText(made.backend, [4, 5, 6], at).text);
    }
  });

  test("alternates with speculative steps", () => {
    const prompt = Array.from({ length: 40 }, (_, i) => 97 + (i % 20));
    const made = new World({ ...OPTIONS, eogOneIn: 1e9, period: 20 }, { ...MULTI_STEP, drafts: "ngram" });
    made.add(0, request(prompt, { maxTokens: 150 }));
    made.drain();
    made.expectEmpty();
    expect(made.backend.multiStepCalls).toBeGreaterThan(0);
    expect(made.engine.stats().draftHits).toBeGreaterThan(0);
    expect(made.witness(0).text).toBe(expectedText(made.backend, prompt, 150).text);
  });

  const excluded: readonly (readonly [string, Partial<FakeOptions>, Partial<RunRequest>])[] = [
    ["log probabilities are requested", {}, { logprobs: { top: 1 } }],
    ["the cache cannot be truncated", { reuse: "whole" }, {}],
  ];
  for (const [what, options, extra] of excluded) {
    test(`never where ${what}`, () => {
      const made = decoding(options, request([1, 2, 3], { maxTokens: 60, ...extra }));
      made.drain();
      expect(made.backend.multiStepCalls).toBe(0);
      expect(made.witness(0).text).toBe(expectedText(made.backend, [1, 2, 3], 60).text);
    });
  }
});
