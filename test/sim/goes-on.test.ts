// A pass that goes on after its call, as on a device: what is drawn is passed on while the next pass is computed, and answers are the same.

import { expect, test } from "bun:test";
import type { DecodeOutcome } from "../../src/worker/text/backend.ts";
import type { FakeOptions } from "../helpers/fake-backend.ts";
import { expectedText, OPTIONS, random, request, World } from "../helpers/world.ts";

const ENDLESS = { ...OPTIONS, eogOneIn: 1e9, goesOn: true };

/** Answers of random requests with stop strings and choices, some of them aborted, and where each ended. */
function traffic(seed: number, options: Partial<FakeOptions>, outcome?: (step: number) => DecodeOutcome) {
  const chance = random(seed);
  const world = new World({ ...OPTIONS, ...options, ...(outcome === undefined ? {} : { outcome }) });
  for (let id = 0; id < 300;) {
    if (chance() < 0.3) {
      const prompt = Array.from({ length: 1 + Math.floor(chance() * 80) }, () => Math.floor(chance() * 256));
      const stop = Array.from({ length: Math.floor(chance() * 3) }, () =>
        String.fromCharCode(97 + chance() * 26, 97 + chance() * 26).slice(0, 1 + Math.floor(chance() * 2)),
      );
      const maxTokens = Math.floor(chance() * 40);
      const choices = id % 2 === 0 ? 1 : 1 + Math.floor(chance() * 3);
      world.add(id++, request(prompt, { maxTokens, stop, choices }));
    }
    const victim = Math.floor(chance() * id);
    if (id > 0 && chance() < 0.03 && world.witness(victim).ended === undefined) world.abort(victim);
    world.engine.step(0);
    expect(world.backend.usedCells).toBeLessThanOrEqual(world.backend.cells);
  }
  world.drain();
  world.expectEmpty();
  return world;
}

test.each([1, 2, 3, 4, 5, 6])("seed %i: the same answers, ends and counts as without", (seed) => {
  const reuse = (["prefix", "own", "whole"] as const)[seed % 3] ?? "prefix";
  const options = { reuse, cells: seed % 2 === 0 ? 400 : 1024 };
  const [there, here] = [traffic(seed, { ...options, goesOn: true }), traffic(seed, options)];
  for (const [id, { text, stop, ended, aborted }] of here.witnesses) {
    const other = there.witness(id);
    if (aborted || other.aborted) continue;
    const told = (one: string): string => (id % 2 === 0 ? one : Array.from(one).toSorted().join("")); // choices come mixed
    expect([told(other.text), other.ended?.type]).toEqual([told(text), "finish"]);
    if (id % 2 === 0) expect(other.stop).toBe(stop);
    const [usage, expected] = [other.ended, ended].map((one) => one?.type === "finish" && one.usage);
    const { completionTokens, promptTokens } = expected || { completionTokens: -1, promptTokens: -1 };
    expect(usage).toMatchObject({ completionTokens, promptTokens });
  }
});

test("a failing or full pass leaves nothing behind", () => {
  const chance = random(5);
  const outcome = (): DecodeOutcome => (chance() < 0.1 ? "full" : chance() < 0.02 ? "failed" : "done");
  const ends = [...traffic(5, { goesOn: true }, outcome).witnesses.values()].map(({ ended }) => ended?.type);
  expect(ends).toContain("error");
  expect(ends).toContain("finish");
});

test("the engine returns while a pass goes on, and has passed on all that was drawn before", () => {
  const world = new World(ENDLESS);
  world.add(1, request([1, 2, 3], { maxTokens: 40 }));
  world.add(2, request([4, 5, 6], { maxTokens: 40 }));
  for (let step = 1; step <= 30; step++) {
    world.engine.step(0);
    expect([world.backend.steps, world.backend.sampled]).toEqual([step, step - 1]);
    expect([1, 2].map((id) => world.witness(id).text.length)).toEqual([step - 1, step - 1]);
  }
});

test("text is passed on after the next pass has begun, and the last one at once", () => {
  const begun: number[] = [];
  const world: World = new World({
    ...ENDLESS,
    outcome: () => {
      begun.push(world.witness(1).text.length);
      return "done";
    },
  });
  world.add(1, request([1, 2, 3], { maxTokens: 5 }));
  world.drain();
  expect(begun).toEqual([0, 0, 1, 2, 3]);
  expect(world.witness(1)).toMatchObject(expectedPart(world, [1, 2, 3], 5));
});

function expectedPart(world: World, prompt: readonly number[], cap: number) {
  return { text: expectedText(world.backend, prompt, cap).text, ended: { type: "finish" } };
}

test("a stop string that the last token completes ends an answer whose next token is being computed", () => {
  const { text } = expectedText(new World(ENDLESS).backend, [9, 9], 30);
  const world = new World(ENDLESS);
  const stop = [text.slice(6, 8)];
  world.add(1, request([9, 9], { maxTokens: 30, stop }));
  world.drain();
  const { stop: met, text: answer, ended } = world.witness(1);
  expect([answer, met]).toEqual([text.slice(0, text.indexOf(stop[0] ?? "")), stop[0]]);
  expect(ended).toMatchObject({ type: "finish", usage: { completionTokens: answer.length + 2 } });
  world.expectEmpty();
});

test("an abort while a pass goes on ends it for that run alone", () => {
  const world = new World(ENDLESS);
  world.add(1, request([1, 2, 3], { maxTokens: 20 }));
  world.add(2, request([4, 5, 6], { maxTokens: 20 }));
  for (let step = 0; step < 6; step++) world.engine.step(0);
  world.abort(1);
  world.drain();
  expect(world.witness(1).ended?.type).toBe("finish");
  expect(world.witness(2)).toMatchObject(expectedPart(world, [4, 5, 6], 20));
  world.expectEmpty();
});
