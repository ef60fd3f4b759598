// Which upstream a request goes to. Pure.

import { describe, expect, test } from "bun:test";
import type { Prompt } from "../../src/core/run.ts";
import { Affinity } from "../../src/upstream/affinity.ts";
import { blocksOf } from "../../src/upstream/blocks.ts";
import { BLOCK_CHARS, LOAD_FACTOR, REMEMBERED_BLOCKS_MAX } from "../../src/upstream/limits.ts";
import { type Candidate, choose, type RoutingContext } from "../../src/upstream/routing.ts";

const upstream = (name: string, fields: Partial<Candidate> = {}): Candidate => ({
  name,
  inFlight: 0,
  weight: 1,
  hasRoom: true,
  depth: 0,
  ...fields,
});
const by = (policy: RoutingContext["policy"], key = 0, turn = 0): RoutingContext => ({ policy, key, turn });

describe("prefix", () => {
  test("the same beginning has the same home, whatever the order of the upstreams", () => {
    const pool = ["a", "b", "c"].map((name) => upstream(name));
    for (let key = 0; key < 50; key++)
      expect(choose(pool.toReversed(), by("prefix", key))).toBe(choose(pool, by("prefix", key)));
  });

  test("a lost upstream moves its own conversations alone; weights are shares", () => {
    const pool = [upstream("a"), upstream("b", { weight: 2 }), upstream("c")];
    const homes = Array.from({ length: 4000 }, (_, key) => choose(pool, by("prefix", key * 7919))?.name);
    const share = (name: string): number => homes.filter((home) => home === name).length / homes.length;
    // Loads are equal, so the bound of the heavy one is twice as high and the others' are not in the way.
    expect(share("b")).toBeGreaterThan(0.45);
    expect(share("a")).toBeGreaterThan(0.2);
    const left = pool.slice(0, 2);
    homes.forEach((home, key) => {
      if (home !== "c") expect(choose(left, by("prefix", key * 7919))?.name ?? "").toBe(home ?? "");
    });
  });

  test("the longest computed beginning wins within the load bound, and no upstream exceeds it", () => {
    const pool = [upstream("a", { depth: 3 }), upstream("b", { depth: 1 })];
    expect(choose(pool, by("prefix"))?.name).toBe("a");
    const inFlight = new Map([
      ["a", 0],
      ["b", 0],
    ]);
    for (let i = 1; i <= 100; i++) {
      const now = pool.map((one) => ({ ...one, inFlight: inFlight.get(one.name) ?? 0 }));
      const { name } = choose(now, by("prefix")) ?? upstream("?");
      inFlight.set(name, (inFlight.get(name) ?? 0) + 1);
      for (const load of inFlight.values())
        expect(load).toBeLessThanOrEqual(Math.ceil((LOAD_FACTOR * i) / 2));
    }
    expect(inFlight.get("a")).toBeGreaterThan(inFlight.get("b") ?? 0);
  });

  test("one that is full is passed over; all full is none", () => {
    const full = upstream("a", { depth: 9, hasRoom: false });
    expect(choose([full, upstream("b")], by("prefix"))?.name).toBe("b");
    expect(choose([full], by("prefix"))).toBeUndefined();
  });
});

test("least_busy counts by weight; round_robin takes turns, heavier ones more often", () => {
  const pool = [upstream("a", { inFlight: 2 }), upstream("b", { inFlight: 3, weight: 2 })];
  expect(choose(pool, by("least_busy"))?.name).toBe("b");
  const equal = [upstream("a"), upstream("b"), upstream("c")];
  expect([0, 1, 2, 3].map((turn) => choose(equal, by("round_robin", 0, turn))?.name)).toEqual([
    "a",
    "b",
    "c",
    "a",
  ]);
  const turns = Array.from({ length: 300 }, (_, turn) => choose(pool, by("round_robin", 0, turn))?.name);
  expect(turns.filter((name) => name === "b").length).toBeCloseTo(200, -1);
});

describe("blocks", () => {
  const chat = (texts: readonly string[]): Prompt => ({
    type: "chat",
    messages: texts.map((text) => ({ role: "user", content: [{ type: "text", text }] })),
    tools: [],
    toolChoice: { type: "auto" },
    thinking: { enabled: true },
  });

  test("a conversation that goes on keeps those of its beginning; another one shares what is equal", () => {
    const system = "You are an assistant. ".repeat(100);
    const first = blocksOf(chat([system, "one"]));
    const second = blocksOf(chat([system, "one", "x".repeat(BLOCK_CHARS * 3)]));
    expect(second.slice(0, first.length)).toEqual([...first]);
    const other = blocksOf(chat([system, "two ".repeat(200)]));
    expect(other.slice(0, 4)).toEqual(first.slice(0, 4));
    expect(other.at(-1)).not.toBe(second.at(-1));
    expect(blocksOf(chat(["short"]))).toEqual([]);
  });

  test("are remembered up to a bound, the oldest are forgotten first", () => {
    const affinity = new Affinity();
    affinity.add([1, 2, 3]);
    expect([affinity.depth([1, 2, 9]), affinity.depth([2, 1])]).toEqual([2, 2]);
    for (let i = 0; i < REMEMBERED_BLOCKS_MAX; i++) affinity.add([1000 + i]);
    expect(affinity.depth([1, 2, 3])).toBe(0);
  });
});
